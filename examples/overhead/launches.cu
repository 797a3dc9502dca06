// Launches that do no work, each kernel with something that a launch must bring along. In: nothing that is read.
// Out: nothing.

typedef unsigned long long u64;

// Only its grid: so many blocks, or blocks of so many threads.
extern "C" __global__ void __launch_bounds__(1024) blocks() {}
extern "C" __global__ void __launch_bounds__(1024) threads() {}

// Only its shared memory, which the launch asks for.
extern "C" __global__ void __launch_bounds__(1024) shared() {}

// 4 KiB of arguments, of which it uses none.
struct Arguments {
    u64 words[508];
};
extern "C" __global__ void __launch_bounds__(1024) arguments(Arguments) {}

// Over a hundred registers a thread, for values that are all needed at once where n is not 0.
extern "C" __global__ void __launch_bounds__(256) registers(float* x, unsigned n)
{
    if (n == 0) return;
    float v[128];
#pragma unroll
    for (int i = 0; i < 128; i++) v[i] = x[i * n];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 128; i++) x[(i + 1) * n] = v[i] * v[127 - i];
}

// Waits for so many nanoseconds by the clock that events are stamped with: 1 ms at most, and a million looks at most.
extern "C" __global__ void __launch_bounds__(1024) waits(u64 nanoseconds)
{
    const u64 longest = 1000000;
    u64 begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    if (nanoseconds > longest) nanoseconds = longest;
    for (int looks = 0; looks < 1000000; looks++) {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        if (now - begin >= nanoseconds) break;
    }
}
