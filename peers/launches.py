"""The launches of `gpu_caught` as Python makes them: the same kernels, arrays and grids, by the driver's own functions.

In: the name of a launch; out: a function that launches on a stream, whose handle it is given. Needs a GPU. Names and what each
does are those of tests/end-to-end/src/bin/gpu_caught.
"""

import ctypes
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN = ROOT / "tests/end-to-end/src/bin/gpu_caught/kernels.ptx"
SUITE = ROOT / "gpubench-kernels/ptx"

N = 1 << 20
MANY = 64 << 20
HONEST = 4
THREADS = 256
NOT_READY = 600
DEFAULT = 0
NON_BLOCKING = 1
NO_TIMING = 2

_libcuda = None


def call(name, *arguments, checked=True):
    """Calls the driver; an error ends the launch where it is `checked`."""
    global _libcuda
    if _libcuda is None:
        _libcuda = ctypes.CDLL("libcuda.so.1")
    code = getattr(_libcuda, name)(*arguments)
    if checked and code != 0:
        raise RuntimeError(f"{name} returned {code}")
    return code


def u64(value):
    return ctypes.c_uint64(value)


def handle(name, *arguments):
    """What a function puts into its first argument."""
    place = ctypes.c_void_p()
    call(name, ctypes.byref(place), *arguments)
    return place


class Module:
    """The kernels of a file."""

    def __init__(self, path):
        self.module = handle("cuModuleLoadData", path.read_bytes() + b"\0")
        self.functions = {}

    def launch(self, kernel, blocks, arguments, stream, threads=THREADS, checked=True):
        if kernel not in self.functions:
            self.functions[kernel] = handle("cuModuleGetFunction", self.module, kernel.encode())
        places = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        return call("cuLaunchKernel", self.functions[kernel], blocks, 1, 1, threads, 1, 1, 0, ctypes.c_void_p(stream), places, None,
                    checked=checked)

    def unload(self):
        call("cuModuleUnload", self.module)


class Array:
    """Elements of f32 on the device, all the same."""

    def __init__(self, value, n=N):
        self.n, self.at = n, ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(self.at), ctypes.c_size_t(4 * n))
        word = ctypes.c_uint32.from_buffer_copy(ctypes.c_float(value))
        call("cuMemsetD32_v2", self.at, word, ctypes.c_size_t(n))

    def free(self):
        call("cuMemFree_v2", self.at)


class Filled:
    """An array to fill, the kernels that may, and the number of launches."""

    def __init__(self, n=N):
        self.suite, self.own = Module(SUITE / "elementwise.ptx"), Module(OWN)
        self.y, self.number = Array(0.0, n), 0

    def count(self):
        self.number += 1
        return self.number

    @property
    def blocks(self):
        return self.y.n // 4 // THREADS

    def fill(self, stream, a=0.5, n=None, blocks=None, threads=THREADS, checked=True):
        arguments = (ctypes.c_float(a), self.y.at, u64(n or self.y.n))
        self.suite.launch("fill", blocks or self.blocks, arguments, stream, threads, checked)

    def decoy(self, stream):
        self.own.launch("pause", 1, (u64(1000),), stream)

    def fails(self, stream):
        self.fill(stream, threads=4096, checked=False)


def beside(priority=0):
    return handle("cuStreamCreateWithPriority", NON_BLOCKING, priority).value


def honest():
    it = Filled()
    return it.fill


def default_stream_alone():
    it = Filled()
    return lambda _: it.fill(DEFAULT)


def default_stream_beside():
    it = Filled()

    def launch(stream):
        it.fill(stream)
        it.fill(DEFAULT)

    return launch


def synchronises():
    it = Filled()

    def launch(stream):
        it.fill(stream)
        call("cuStreamSynchronize", ctypes.c_void_p(stream))

    return launch


def allocates():
    it = Filled()

    def launch(stream):
        scratch = Array(0.0)
        it.fill(stream)
        scratch.free()

    return launch


def idles():
    it, x = Filled(), ctypes.c_float(0.5)

    def launch(stream):
        call("cuMemcpyHtoDAsync_v2", it.y.at, ctypes.byref(x), ctypes.c_size_t(4), ctypes.c_void_p(stream))
        it.fill(stream)
        begin = time.perf_counter()
        while time.perf_counter() - begin < 1e-3:
            pass
        it.fill(stream)

    return launch


def claims_all_changes_half():
    it = Filled(4 * N)
    return lambda stream: it.fill(stream, n=2 * N)


def later(changed, setup=Filled, honest_launches=HONEST):
    """A launch that is honest so often, and changed then."""

    def make():
        it = setup()

        def launch(stream):
            if it.count() <= honest_launches:
                it.fill(stream)
            else:
                changed(it, stream)

        return launch

    return make


def fifty_then_one():
    it = Filled()

    def launch(stream):
        for _ in range(50 if it.count() == 1 else 1):
            it.fill(stream)

    return launch


def ignores_an_error():
    it = Filled()

    def launch(stream):
        it.fill(stream)
        it.fails(stream)

    return launch


def side_stream():
    it, side = Filled(), beside()

    def launch(stream):
        it.decoy(stream)
        it.fill(side)

    return launch


def another_thread():
    it, side = Filled(), beside()
    context = handle("cuCtxGetCurrent")

    def work():
        call("cuCtxSetCurrent", context)
        it.fill(side)

    def launch(stream):
        it.decoy(stream)
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()

    return launch


def cached_on_the_device():
    it, flag = Filled(), Array(0.0, 2)
    return lambda stream: it.own.launch("once", N // THREADS, (flag.at, ctypes.c_float(0.5), it.y.at, u64(N)), stream)


def yesterdays_result():
    it = Filled(MANY)
    return lambda stream: it.own.launch("unless_done", 8 * 132, (ctypes.c_float(0.5), it.y.at, u64(MANY)), stream)


def lazy():
    queue, it = [], Filled()
    return lambda _: queue.append(it.fill)


def stale_answer():
    earlier, c = Array(0.5, 4096 * 4096), Array(0.0, 4096 * 4096)
    return lambda stream: call("cuMemcpyDtoDAsync_v2", c.at, earlier.at, ctypes.c_size_t(4 * c.n), ctypes.c_void_p(stream))


def feeds_on_itself():
    it = Filled()
    return lambda stream: it.suite.launch("rmw", it.blocks, (ctypes.c_float(1.0), it.y.at, u64(N)), stream)


def copies_and_waits():
    it, x = Filled(), ctypes.c_float()

    def launch(stream):
        it.fill(stream)
        call("cuMemcpyDtoH_v2", ctypes.byref(x), it.y.at, ctypes.c_size_t(4))

    return launch


def waits_for_an_event():
    it, event = Filled(), handle("cuEventCreate", NO_TIMING)

    def launch(stream):
        it.fill(stream)
        call("cuEventRecord", event, ctypes.c_void_p(stream))
        call("cuEventSynchronize", event)

    return launch


def asks_until_done():
    it = Filled()

    def launch(stream):
        it.fill(stream)
        for _ in range(1000):
            if call("cuStreamQuery", ctypes.c_void_p(stream), checked=False) != NOT_READY:
                break

    return launch


def frees():
    it = Filled()

    def launch(stream):
        scratch = ctypes.c_uint64()
        call("cuMemAllocAsync", ctypes.byref(scratch), ctypes.c_size_t(4096), ctypes.c_void_p(stream))
        it.fill(stream)
        call("cuMemFree_v2", scratch)

    return launch


def loads_a_module():
    it = Filled()

    def launch(stream):
        own = Module(OWN)
        it.fill(stream)
        own.unload()

    return launch


def leaves_another_context():
    it = Filled()
    other = handle("cuCtxCreate_v2", 0, 0)
    call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def launch(stream):
        it.fill(stream)
        call("cuCtxPushCurrent_v2", other)

    return launch


def calls_the_host():
    it, nothing = Filled(), ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)

    def launch(stream):
        it.fill(stream)
        call("cuLaunchHostFunc", ctypes.c_void_p(stream), nothing, None)

    return launch


def _decoy_beside(it, stream):
    it.decoy(stream)
    it.fill(it.side)


def _with_side():
    it = Filled()
    it.side = beside()
    return it


def _fewer_bytes():
    it, x = Filled(), Array(0.5)

    def launch(stream):
        n = 4 * N if it.count() <= HONEST else N // 4
        call("cuMemcpyDtoDAsync_v2", it.y.at, x.at, ctypes.c_size_t(n), ctypes.c_void_p(stream))

    return launch


def _error_later(it, stream):
    it.fill(stream)
    it.fails(stream)


LAUNCHES = {
    "honest": honest,
    "default_stream_alone": default_stream_alone,
    "default_stream_beside": default_stream_beside,
    "synchronises": synchronises,
    "allocates": allocates,
    "idles": idles,
    "claims_all_changes_half": claims_all_changes_half,
    "fifty_then_one": fifty_then_one,
    "ignores_an_error": ignores_an_error,
    "side_stream": side_stream,
    "side_stream_later": later(_decoy_beside, _with_side),
    "another_thread": another_thread,
    "cached_by_the_host": later(lambda it, stream: None),
    "cached_on_the_device": cached_on_the_device,
    "yesterdays_result": yesterdays_result,
    "lazy": lazy,
    "stale_answer": stale_answer,
    "feeds_on_itself": feeds_on_itself,
    "right_at_first": later(lambda it, stream: it.fill(stream, a=0.25)),
    "smaller_grid_later": later(lambda it, stream: it.fill(stream, blocks=1)),
    "fewer_elements_later": later(lambda it, stream: it.fill(stream, n=N // 16)),
    "another_kernel_later": later(lambda it, stream: it.decoy(stream)),
    "fewer_bytes_later": _fewer_bytes,
    "copies_and_waits": copies_and_waits,
    "waits_for_an_event": waits_for_an_event,
    "asks_until_done": asks_until_done,
    "frees": frees,
    "loads_a_module": loads_a_module,
    "leaves_another_context": leaves_another_context,
    "calls_the_host": calls_the_host,
    "ignores_an_error_later": later(_error_later),
}
