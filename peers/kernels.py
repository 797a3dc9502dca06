"""The suite's kernels as Python launches them: the same PTX and sizes of arrays, in the grids that the suite was seen to launch.

In: a launch as `compare` writes it (`NAME:ELEMENTS:BLOCKS:THREADS`); out: a launch on a stream. Needs cupy and a GPU.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PTX = ROOT / "gpubench-kernels/ptx"
# The file of each kernel.
KERNELS = {"sum": "reduction", "copy": "elementwise", "fill": "elementwise", "rmw": "elementwise", "saxpy": "elementwise"}
# The launch of a kernel that does nothing, and the name under which its result is found.
EMPTY, EMPTY_CASE = "empty:1:1:32", "empty_1"
# What a slot for a partial sum holds while there is none in it: as `reduction.cu` has it.
NO_SUM = 0x7FF4000000000000

_modules = {}


def module(path):
    """The module of a PTX file, loaded once."""
    import cupy

    if path not in _modules:
        _modules[path] = cupy.RawModule(path=str(path))
    return _modules[path]


class Launch:
    """A kernel with inputs of its own, to be launched on cupy's current stream."""

    def __init__(self, written):
        import cupy

        self.name, n, blocks, threads = written.split(":")
        n, blocks, threads = int(n), int(blocks), int(threads)
        x = cupy.random.random(n, dtype=cupy.float32)
        size, a = cupy.uint64(n), cupy.float32(0.75)
        if self.name == "sum":
            self.arguments = (x, size, cupy.full(blocks, NO_SUM, cupy.uint64), cupy.zeros(1, cupy.float64))
        elif self.name == "copy":
            self.arguments = (x, cupy.empty_like(x), size)
        elif self.name == "saxpy":
            self.arguments = (a, x, cupy.random.random(n, dtype=cupy.float32), size)
        elif self.name == "empty":
            self.arguments = ()
        else:
            self.arguments = (a, x, size)
        # What its results are found under.
        self.case = f"{self.name}_{n}"
        self.kernel = module(PTX / f"{KERNELS.get(self.name, 'elementwise')}.ptx").get_function(self.name)
        self.grid = ((blocks,), (threads,))
        cupy.cuda.Device().synchronize()

    def __call__(self):
        self.kernel(*self.grid, self.arguments)
