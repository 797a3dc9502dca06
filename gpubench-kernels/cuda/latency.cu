// How long a load takes that the next one waits for.
// In: x, a table in which each line of 128 bytes begins with where the next one does, as a number of words, all of them in
// one cycle; where to begin; how many loads. Out: where it came to, so that the next launch goes on from there and in time
// touches every line. One thread: what a load takes is the launch's time over their number, a shift and an addition
// included.

typedef unsigned long long u64;

extern "C" __global__ void __launch_bounds__(32) chase(const u64* x, u64* at, u64 loads)
{
    u64 here = *at;
#pragma unroll 8
    for (u64 load = 0; load < loads; load++) here = x[here];
    *at = here;
}
