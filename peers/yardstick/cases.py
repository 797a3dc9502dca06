"""The launches that the yardstick measures: the same PTX, grids and inputs as the benchmarks of the same names.

A case is the name of a gpubench result without its path: `copy[n=16384]`.
"""

import ctypes
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CLOCK = ROOT / "peers/yardstick/clock.ptx"
STAMPED = ROOT / "peers/yardstick/stamped.ptx"
ELEMENTWISE = ROOT / "gpubench-kernels/ptx/elementwise.ptx"
REDUCTION = ROOT / "gpubench-kernels/ptx/reduction.ptx"
UNSEEN = ROOT / "examples/unseen/kernels.ptx"

u32, u64, f32 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_float


@dataclass
class Case:
    """A kernel, its grid and block, and its arguments: ctypes values and buffers."""

    name: str
    path: Path
    kernel: str
    grid: tuple
    block: tuple
    arguments: tuple

    def blocks(self):
        return self.grid[0] * self.grid[1] * self.grid[2]


@dataclass
class Buffer:
    """An argument that is memory: its size, and the kernel of `clock.cu` that fills it, with further arguments."""

    size: int
    fill: str = ""
    of: tuple = ()


def numbers(n):
    return Buffer(4 * n, "numbers", (u64(n),))


def doubles(n):
    return Buffer(8 * n, "doubles", (u64(n),))


def small(n):
    return Buffer(4 * n, "small_numbers", (u64(n),))


def integers(n):
    return Buffer(4 * n, "small_integers", (u64(n),))


def places(n, bound=None):
    return Buffer(4 * n, "places", (u64(n), u64(bound or n)))


def output(n, width=4):
    return Buffer(width * n)


def slots(n):
    """Slots of partial sums, which hold none."""
    return Buffer(8 * n, "no_sums", (u64(n),))


def over(n, threads=256):
    """A grid of one thread for each of n."""
    return (max(1, -(-n // threads)), 1, 1), (threads, 1, 1)


def suite_cases(multiprocessors):
    """The suite's copy, fill, rmw, saxpy and sum."""
    found = []
    found.append(Case("empty", ELEMENTWISE, "empty", (1, 1, 1), (32, 1, 1), ()))
    for size in (64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 40 << 20, 256 << 20, 1 << 30):
        n = size // 4
        by_vector = over(n // 4)
        blocks = min(-(-n // 4 // 512), 2 * multiprocessors)
        for name, arguments in (
            ("copy", (numbers(n), output(n), u64(n))),
            ("fill", (f32(0.75), output(n), u64(n))),
            ("rmw", (f32(0.75), numbers(n), u64(n))),
            ("saxpy", (f32(2.5), numbers(n), numbers(n), u64(n))),
        ):
            found.append(Case(f"{name}[n={n}]", ELEMENTWISE, name, *by_vector, arguments))
        reduction = (numbers(n), u64(n), slots(blocks), output(1, 8))
        found.append(Case(f"sum[n={n}]", REDUCTION, "sum", (blocks, 1, 1), (512, 1, 1), reduction))
    return found


def unseen_cases():
    """The kernels of examples/unseen that are one kernel a launch."""
    found = []

    def add(name, shape, arguments):
        found.append(Case(name, UNSEEN, name.split("[")[0], *shape, arguments))

    for bits in (14, 16, 18, 20, 22):
        n = 1 << bits
        add(f"gather[n={n}]", over(n), (numbers(n), places(n), output(n), u64(n)))
        add(f"scatter[n={n}]", over(n), (numbers(n), places(n), output(n), u64(n)))
        add(f"strided[n={n}]", over(n), (numbers(8 * n), output(n), u64(n)))
        add(f"horner[n={n}]", over(n, 128), (doubles(n), output(n, 8), u64(n)))
    for bits in (16, 18, 20, 22, 24):
        n = 1 << bits
        add(f"scan[n={n}]", over(n, 1024), (integers(n), output(n)))
        add(f"count[n={n}]", over(n), (places(n), output(4096), u64(n), u32(4096)))
    for bits in (16, 18, 20, 22):
        n = 1 << bits
        add(f"sort[n={n}]", over(n, 1024), (places(n), output(n)))
    for rows in (64, 256, 1024, 4096, 16384):
        add(f"softmax_rows[rows={rows}]", over(1024 * rows, 1024), (numbers(1024 * rows), output(1024 * rows)))
    for side in (32, 64, 128, 256):
        grid = (-(-side // 256), side, side), (256, 1, 1)
        add(f"laplace[side={side}]", grid, (small(side**3), output(side**3), u32(side)))
    for side in (128, 256, 512, 1024, 2048):
        add(f"mandelbrot[side={side}]", over(side * side), (output(side * side), u32(side)))
    for bits in (12, 14, 16, 18):
        rows = 1 << bits
        arguments = (small(16 * rows), places(16 * rows, rows), small(rows), output(rows), u64(rows))
        add(f"sparse[rows={rows}]", over(rows), arguments)
    for n in (256, 512, 1024, 2048, 4096):
        add(f"dense[n={n}]", ((n, 1, 1), (256, 1, 1)), (small(n * n), small(n), output(n), u32(n)))
    for steps in (4, 16, 64, 256):
        n = 1 << 24
        add(f"walk[steps={steps}]", ((66, 1, 1), (32, 1, 1)), (places(n), output(66 * 32), u32(steps), u32(n)))
    return found


def all_cases(multiprocessors):
    return suite_cases(multiprocessors) + unseen_cases()
