// Drops a buffer's lines from the L2 without writing them back. In: a buffer aligned to 128 bytes, of `lines` times 128
// bytes, whose contents are of no use any more. Out: its contents are undefined, and no line of it in the L2 is dirty.
// Needs sm_80 and PTX 7.4, hence a file of its own. Any grid of blocks of at most 1024 threads.

typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(1024) gpubench_discard(void* buffer, u64 lines)
{
    const u64 stride = (u64)gridDim.x * blockDim.x;
    const u64 base = (u64)__cvta_generic_to_global(buffer);
    for (u64 line = (u64)blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += stride) {
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(base + 128 * line) : "memory");
    }
}
