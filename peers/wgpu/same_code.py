#!/usr/bin/env python3
"""Times the machine code that NVIDIA's Vulkan made of the suite's `fill`, launched by CUDA, beside CUDA's own. In: nvcc; out: medians of 100
launches by events, from which nothing is taken off.

    peers/wgpu/same_code.py                  # on an H100 or H200
    peers/wgpu/same_code.py --only-patch     # without a GPU: prints the code that would be launched

The code is of driver 580.159.04, read off the pipeline cache that `memory_of_vulkan --dump` keeps. It takes the place of a kernel's code in a cubin.
Four of its instructions read constants, which Vulkan keeps at other places than CUDA, and get CUDA's places; nothing else is changed.
"""

import argparse
import ctypes
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

# 22 instructions of 16 bytes, and the jump to itself that ends each kernel. `nvdisasm -b SM90` prints them.
CODE = """
    19790000000000000025000000220e00 b97a0400001200000008000000e40f00
    8c72003f040000007012f00b00e20f00 19790100000000000026000000260e00
    8772043f040000000000000c00e20f00 19790300000000000021000000660e00
    9978043f040000000416010800e20f00 247a00010000000000028e0700c81f00
    247800000001000003028e0700ca2f00 0c7c0000040000007060f00b00da0f00
    4d090000000000000000800300ea0f00 2478000010000000ff008e0700ca0f00
    1078010010000000ffe0f10700c80f00 0c7a0001001200007030700400da0f00
    4d890000000000000000800300ea0f00 357404ff0000c03fff01000000e20f00
    247405ff0000c03fff008e0700e20f00 027806000000c03f000f000000e20f00
    247407ff0000c03fff008e0700e20f00 b97a040000100000000a000000c80f00
    867900000400000004ad100800e20f00 4d790000000000000000800300ea0f00
    4779fc00fcffffffffff830300c00f00
"""

# R0 to R7, and the attribute of a function that counts registers, CU_FUNC_ATTRIBUTE_NUM_REGS.
USED_REGISTERS, REGISTERS = 8, 4

# The place of a constant is in byte 5 of an instruction, in words: what Vulkan has there, and CUDA.
PLACES = {
    0x010: (0x12, 0x86),  # the bytes of the array: the second argument of a kernel
    0x070: (0x00, 0x03),  # workgroups, or blocks, in a row
    0x0D0: (0x12, 0x86),
    0x130: (0x10, 0x84),  # the address of the array: the first argument
}

# `vulkan` needs enough code to be replaced, and as many registers; its own instructions never run.
KERNELS = r"""
extern "C" __global__ void __launch_bounds__(256) vulkan(float4* y, unsigned bytes) {
    unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.x;
    float a = 1.5f;
    #pragma unroll
    for (int k = 0; k < 24; k++) a = a * y[i & 255].x + k;
    if (i < bytes / 16) y[i] = make_float4(a, a, a, a);
}
extern "C" __global__ void __launch_bounds__(256) cuda(float4* y, unsigned bytes) {
    unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * 256 + threadIdx.x;
    if (i < bytes / 16) y[i] = make_float4(1.5f, 1.5f, 1.5f, 1.5f);
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only-patch", action="store_true", help="print the code, and launch nothing")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--cuobjdump", default="cuobjdump")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "kernels.cu", Path(folder) / "kernels.cubin"
        source.write_text(KERNELS)
        subprocess.run([wanted.nvcc, "-cubin", "-arch=sm_90a", "-o", cubin, source], check=True)
        cubin.write_bytes(patched(cubin.read_bytes()))
        if wanted.only_patch:
            return subprocess.run([wanted.cuobjdump, "-sass", "-fun", "vulkan", cubin], check=True)
        time_all(Cuda(cubin))


def patched(elf):
    """The cubin with Vulkan's code in place of that of `vulkan`."""
    code = bytearray(bytes.fromhex(CODE))
    for at, (vulkan, cuda) in PLACES.items():
        assert code[at + 5] == vulkan, f"at {at:#x}"
        code[at + 5] = cuda
    begin, size = section(elf, ".text.vulkan")
    assert len(code) <= size, f"{len(code)} bytes do not fit {size}"
    return elf[:begin] + code + elf[begin + len(code):]


def section(elf, wanted):
    """Where a section of this name begins in a 64-bit ELF file, and its size."""
    at, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + number * size) for number in range(count)]
    for header in headers:
        name = headers[names][4] + header[0]
        if elf[name:elf.index(b"\0", name)] == wanted.encode():
            return header[4], header[5]
    sys.exit(f"no section {wanted}")


def time_all(cuda):
    print(f"{cuda.name()}\nfill, in µs; what is launched in turn\n")
    print(f"{'':10}{'CUDA code':>12}{'Vulkan code':>13}{'CUDA code':>12}{'Vulkan code':>13}")
    for mib in (256, 1024):
        times = [f"{cuda.fill(kernel, mib << 20):.2f}" for kernel in ("cuda", "vulkan") * 2]
        print(f"{mib:5} MiB {times[0]:>12}{times[1]:>13}{times[2]:>12}{times[3]:>13}")


class Cuda:
    """The first GPU, with a module."""

    def __init__(self, cubin):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.device, context, self.module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoad", ctypes.byref(self.module), str(cubin).encode())
        self.events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        if error := getattr(self.driver, name)(*arguments):
            sys.exit(f"{name}: error {error}")

    def name(self):
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, self.device)
        return name.value.decode()

    def fill(self, kernel, size):
        """The median time of a fill of so many bytes by this kernel, in µs, if it fills them."""
        array, function = ctypes.c_uint64(), ctypes.c_void_p()
        self.call("cuMemAlloc_v2", ctypes.byref(array), ctypes.c_size_t(size))
        self.call("cuMemsetD32_v2", array, 0, ctypes.c_size_t(size // 4))
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, kernel.encode())
        registers = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(registers), REGISTERS, function)
        assert registers.value >= USED_REGISTERS, f"{registers.value} registers"
        blocks, row = size // 4096, 32768
        length = ctypes.c_uint(size)
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(array), ctypes.addressof(length))
        times = []
        for _ in range(105):
            self.call("cuEventRecord", self.events[0], None)
            self.call("cuLaunchKernel", function, row, blocks // row, 1, 256, 1, 1, 0, None, arguments, None)
            self.call("cuEventRecord", self.events[1], None)
            self.call("cuEventSynchronize", self.events[1])
            milliseconds = ctypes.c_float()
            self.call("cuEventElapsedTime", ctypes.byref(milliseconds), *self.events)
            times.append(1e3 * milliseconds.value)
        filled = (ctypes.c_uint32 * (size // 4))()
        self.call("cuMemcpyDtoH_v2", filled, array, ctypes.c_size_t(size))
        self.call("cuMemFree_v2", array)
        if bytes(filled) != struct.pack("<f", 1.5) * (size // 4):
            sys.exit(f"{kernel} does not fill {size} bytes")
        return statistics.median(times[5:])


if __name__ == "__main__":
    main()
