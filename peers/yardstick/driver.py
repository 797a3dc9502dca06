"""The functions of the CUDA driver that the yardstick calls, through ctypes. No other package is needed."""

import ctypes

_driver = ctypes.CDLL("libcuda.so.1")
u32, u64 = ctypes.c_uint32, ctypes.c_uint64
# Attributes of a device and a flag of an event record, as cuda.h numbers them.
CLOCK_KHZ, MULTIPROCESSORS, L2_BYTES = 13, 16, 38
EXTERNAL = 1


def call(name, *arguments):
    code = getattr(_driver, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        _driver.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: error {code}, {(text.value or b'unknown').decode()}")


def _made(name, *arguments):
    handle = ctypes.c_void_p()
    call(name, ctypes.byref(handle), *arguments)
    return handle


class Device:
    """The first GPU: its context, and one stream."""

    def __init__(self):
        call("cuInit", 0)
        self.device = ctypes.c_int()
        call("cuDeviceGet", ctypes.byref(self.device), 0)
        context = _made("cuDevicePrimaryCtxRetain", self.device)
        call("cuCtxSetCurrent", context)
        # Independent of the legacy default stream.
        self.stream = _made("cuStreamCreate", 1)
        self.modules = {}

    def name(self):
        text = ctypes.create_string_buffer(256)
        call("cuDeviceGetName", text, 256, self.device)
        return text.value.decode()

    def attribute(self, number):
        value = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def driver(self):
        value = ctypes.c_int()
        call("cuDriverGetVersion", ctypes.byref(value))
        return value.value

    def function(self, path, name):
        if path not in self.modules:
            self.modules[path] = _made("cuModuleLoadData", path.read_bytes() + b"\0")
        return _made("cuModuleGetFunction", self.modules[path], name.encode())

    def memory(self, size):
        """The address of this many bytes."""
        address = u64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        call("cuMemFree_v2", u64(address))

    def fill(self, address, size, byte=0):
        call("cuMemsetD8Async", u64(address), ctypes.c_ubyte(byte), ctypes.c_size_t(size), self.stream)

    def read(self, address, count):
        """This many u64 as a list."""
        values = (u64 * count)()
        call("cuMemcpyDtoH_v2", values, u64(address), ctypes.c_size_t(8 * count))
        return list(values)

    def synchronize(self):
        call("cuStreamSynchronize", self.stream)


class Launch:
    """A kernel with its grid, its block and its arguments, which are ctypes values; `last` changes the last of them."""

    def __init__(self, device, function, grid, block, arguments):
        self.device, self.function = device, function
        self.shape = [ctypes.c_uint(of) for of in (*grid, *block)]
        self.arguments = list(arguments)
        places = [ctypes.cast(ctypes.pointer(of), ctypes.c_void_p) for of in self.arguments]
        self.pointers = (ctypes.c_void_p * max(1, len(places)))(*places)

    def __call__(self, last=None):
        if last is not None:
            self.arguments[-1].value = last
        call("cuLaunchKernel", self.function, *self.shape, ctypes.c_uint(0), self.device.stream, self.pointers, None)


class Events:
    """A pair of events, which have a resolution of their own."""

    def __init__(self, device):
        self.device = device
        self.pair = [_made("cuEventCreate", 0), _made("cuEventCreate", 0)]

    def begin(self):
        call("cuEventRecord", self.pair[0], self.device.stream)

    def end(self):
        call("cuEventRecord", self.pair[1], self.device.stream)

    def begin_in_graph(self):
        call("cuEventRecordWithFlags", self.pair[0], self.device.stream, EXTERNAL)

    def end_in_graph(self):
        call("cuEventRecordWithFlags", self.pair[1], self.device.stream, EXTERNAL)

    def nanoseconds(self):
        call("cuEventSynchronize", self.pair[1])
        milliseconds = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(milliseconds), *self.pair)
        return milliseconds.value * 1e6


class Graph:
    """Work of the stream, captured once and launched as a graph."""

    def __init__(self, device, work):
        self.device = device
        # Thread-local.
        call("cuStreamBeginCapture_v2", device.stream, 1)
        work()
        graph = ctypes.c_void_p()
        call("cuStreamEndCapture", device.stream, ctypes.byref(graph))
        executable = ctypes.c_void_p()
        call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, u64(0))
        call("cuGraphDestroy", graph)
        self.executable = executable

    def __call__(self):
        call("cuGraphLaunch", self.executable, self.device.stream)

    def destroy(self):
        call("cuGraphExecDestroy", self.executable)
