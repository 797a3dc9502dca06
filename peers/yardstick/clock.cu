// The yardstick's own kernels: what stamps, waits, flushes and fills. None of them is timed.

typedef unsigned int u32;
typedef unsigned long long u64;

#include "now.cuh"

static __device__ u64 thread() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }
static __device__ u64 threads() { return gridDim.x * (u64)blockDim.x; }

// *at ← the time.
extern "C" __global__ void stamp(u64* at) { *at = now(); }

// Does nothing. Reads its parameter, as nearly every kernel does.
extern "C" __global__ void nothing(u64 never)
{
    if (never != 0) __trap();
}

// Waits for this many nanoseconds, 10 ms at most.
extern "C" __global__ void wait(u64 nanoseconds)
{
    const u64 began = now(), longest = 10000000;
    while (now() - began < (nanoseconds < longest ? nanoseconds : longest)) {}
}

// counted ← the cycles of this multiprocessor in 32 µs, and the nanoseconds that they took.
extern "C" __global__ void cycles(u64* counted)
{
    u64 last = now(), began = last;
    while (began == last) began = now();
    const long long first = clock64();
    u64 ended = began;
    while (ended - began < 32000) ended = now();
    counted[0] = clock64() - first;
    counted[1] = ended - began;
}

// steps[i] ← the difference of two successive readings that are not the same.
extern "C" __global__ void timer_steps(u64* steps, u32 count)
{
    u64 last = now();
    for (u32 i = 0; i < count;) {
        const u64 next = now();
        if (next != last) steps[i++] = next - last;
        last = next;
    }
}

// Drops the lines of a buffer from the L2 without writing them back.
extern "C" __global__ void __launch_bounds__(1024) drop(u64 buffer, u64 lines)
{
    for (u64 line = thread(); line < lines; line += threads()) {
        asm volatile("discard.global.L2 [%0], 128;" ::"l"(buffer + 128 * line) : "memory");
    }
}

// ends[2 l] ← the earliest entry of launch l, and ends[2 l + 1] its latest exit, of `blocks` stamps each. A block for each launch.
extern "C" __global__ void __launch_bounds__(1024) span(const ulonglong2* stamps, u64 blocks, u64* ends)
{
    __shared__ u64 earliest, latest;
    if (threadIdx.x == 0) {
        earliest = ~0ull;
        latest = 0;
    }
    __syncthreads();
    u64 low = ~0ull, high = 0;
    for (u64 block = threadIdx.x; block < blocks; block += blockDim.x) {
        const ulonglong2 stamp = stamps[blockIdx.x * blocks + block];
        low = min(low, stamp.x);
        high = max(high, stamp.y);
    }
    atomicMin(&earliest, low);
    atomicMax(&latest, high);
    __syncthreads();
    if (threadIdx.x == 0) {
        ends[2 * blockIdx.x] = earliest;
        ends[2 * blockIdx.x + 1] = latest;
    }
}

static __device__ u32 mixed(u64 i)
{
    u32 bits = (u32)i * 0x9e3779b9u ^ 0x5bd1e995u;
    bits = (bits ^ (bits >> 15)) * 0x85ebca6bu;
    return bits ^ (bits >> 13);
}

// Inputs of the kinds that the benchmarks have, each a function of the index.
extern "C" __global__ void numbers(float* x, u64 n)
{
    for (u64 i = thread(); i < n; i += threads()) x[i] = (float)(mixed(i) >> 8) / (1 << 24);
}
extern "C" __global__ void doubles(double* x, u64 n)
{
    for (u64 i = thread(); i < n; i += threads()) x[i] = (double)(mixed(i) >> 8) / (1 << 24);
}
extern "C" __global__ void small_numbers(float* x, u64 n)
{
    for (u64 i = thread(); i < n; i += threads()) x[i] = (float)(mixed(i) >> 29);
}
extern "C" __global__ void small_integers(u32* x, u64 n)
{
    for (u64 i = thread(); i < n; i += threads()) x[i] = mixed(i) >> 24;
}
// A permutation of the indices below n, a power of two, modulo `bound`.
extern "C" __global__ void places(u32* x, u64 n, u64 bound)
{
    for (u64 i = thread(); i < n; i += threads()) x[i] = (u32)(((i * 0x9e3779b1ull + 12345) & (n - 1)) % bound);
}

// Slots of `reduction.cu` that hold no partial sum.
extern "C" __global__ void no_sums(u64* slots, u64 n)
{
    for (u64 i = thread(); i < n; i += threads()) slots[i] = 0x7ff4000000000000ull;
}
