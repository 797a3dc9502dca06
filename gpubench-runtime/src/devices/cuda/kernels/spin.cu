// A delay by the multiprocessor's own clock, for GPUs whose timer is coarse. `gpubench_delay` polls that timer and so ends on one of
// its ticks. A file of its own, so that only such GPUs load it.

typedef unsigned long long u64;

// Keeps the stream busy for this number of cycles, 8,000,000 at most. One thread.
extern "C" __global__ void __launch_bounds__(32) gpubench_spin(u64 cycles)
{
    const u64 longest = 8000000;
    if (cycles > longest) cycles = longest;
    const long long start = clock64();
    for (int reads = 0; reads < 1000000; reads++) {
        if (clock64() - start >= (long long)cycles) break;
    }
}
