// What a measurement launches beside the kernels it measures, on any GPU. In and out: see each.
// The entry names have a prefix of their own, so that a profiler's list tells them from the user's.

typedef unsigned long long u64;

static __device__ u64 nanoseconds()
{
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// Reads a whole buffer of `vectors` times 16 bytes, aligned to as many. Any grid of blocks of at most 512 threads.
// `sink` is one word, written only by a thread that happens on one bit pattern of 2^32: else all the reads would be
// removed as useless.
extern "C" __global__ void __launch_bounds__(512)
gpubench_read_sweep(const uint4* __restrict__ buffer, u64 vectors, unsigned* sink)
{
    const int batch = 4;
    const u64 stride = (u64)gridDim.x * blockDim.x;
    unsigned seen = 0;
    for (u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x; first < vectors; first += batch * stride) {
        uint4 v[batch];
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const u64 i = first + k * stride;
            v[k] = i < vectors ? __ldg(buffer + i) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int k = 0; k < batch; k++) seen ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    }
    if (seen == 0x9e3779b9) *sink = seen;
}

// Keeps the stream busy for `nanoseconds`, so that what is queued behind it is there when it starts. One thread.
// Never for more than 2 ms, whatever is asked and whatever the timer says: reads of the timer are counted, and
// so are the cycles, of which no GPU does 4 in a nanosecond.
extern "C" __global__ void __launch_bounds__(32) gpubench_delay(u64 duration)
{
    const u64 longest = 2000000;
    if (duration > longest) duration = longest;
    const u64 start = nanoseconds();
    const long long cycles = clock64();
    for (int reads = 0; reads < 1000000; reads++) {
        if (nanoseconds() - start >= duration || clock64() - cycles >= (long long)(4 * longest)) break;
    }
}

// *at ← the time. One thread.
extern "C" __global__ void __launch_bounds__(32) gpubench_stamp(u64* at) { *at = nanoseconds(); }

// *step ← the smallest of eight successive steps of the timer, or 0 if it does not advance. One thread.
extern "C" __global__ void __launch_bounds__(32) gpubench_timer_step(u64* step)
{
    u64 last = nanoseconds(), smallest = ~0ull;
    int steps = 0;
    for (int reads = 0; reads < 1000000 && steps < 8; reads++) {
        const u64 now = nanoseconds();
        if (now == last) continue;
        if (now - last < smallest) smallest = now - last;
        last = now;
        steps++;
    }
    *step = steps < 8 ? 0 : smallest;
}

// How fast this multiprocessor's clock runs: its cycles and the timer's nanoseconds from one tick of the timer to the first
// that comes `duration` or more later, into `read`. From tick to tick, so that the timer's step, which is 1 us on some GPUs,
// is no error. One thread. Where that takes too long it ends as `gpubench_delay` does, and `read` has 0 nanoseconds.
extern "C" __global__ void __launch_bounds__(32) gpubench_clock(u64 duration, u64* read)
{
    const u64 longest = 2000000;
    if (duration > longest) duration = longest;
    const u64 before = nanoseconds();
    const long long first = clock64();
    u64 start = before, elapsed = 0;
    long long begin = first, end = first;
    for (int reads = 0; reads < 1000000 && end - first < (long long)(4 * longest); reads++) {
        const u64 now = nanoseconds();
        end = clock64();
        if (start == before) {
            start = now;
            begin = end;
        } else if (now - start >= duration) {
            elapsed = now - start;
            break;
        }
    }
    read[0] = end - begin;
    read[1] = elapsed;
}
