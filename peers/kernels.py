"""The suite's kernels as Python launches them: the same PTX, grids and sizes of arrays.

In: a benchmark's name and its number of elements; out: a launch on a stream. Needs cupy and a GPU.
"""

import math
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PTX = ROOT / "gpubench-kernels/ptx"
# The file of each kernel, its threads a block, and its threads a multiprocessor at most: as `geometry.rs` has them.
KERNELS = {
    "sum": ("reduction", 512, 2048),
    "copy": ("elementwise", 256, 1024),
    "fill": ("elementwise", 256, 1024),
    "rmw": ("elementwise", 256, 1024),
}
# What a thread loads or stores at once, in bytes.
VECTOR = 16

_modules = {}


def module(path):
    """The module of a PTX file, loaded once."""
    import cupy

    if path not in _modules:
        _modules[path] = cupy.RawModule(path=str(path))
    return _modules[path]


class Launch:
    """A kernel with inputs of its own, to be launched on cupy's current stream."""

    def __init__(self, name, n):
        import cupy

        source, threads, resident = KERNELS[name]
        multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        most = multiprocessors * (resident // threads)
        blocks = max(1, min(most, math.ceil(math.ceil(4 * n / VECTOR) / threads)))
        x = cupy.random.random(n, dtype=cupy.float32)
        size, a = cupy.uint64(n), cupy.float32(0.75)
        if name == "sum":
            partials, arrived = cupy.zeros(most, cupy.float64), cupy.zeros(1, cupy.uint32)
            self.arguments = (x, size, partials, arrived, cupy.zeros(1, cupy.float64))
        elif name == "copy":
            self.arguments = (x, cupy.empty_like(x), size)
        else:
            self.arguments = (a, x, size)
        self.kernel = module(PTX / f"{source}.ptx").get_function(name)
        self.grid = ((blocks,), (threads,))
        cupy.cuda.Device().synchronize()

    def __call__(self):
        self.kernel(*self.grid, self.arguments)
