// Kernels of launches that deceive, and of some that only look so. In: arrays and their number of elements n; out: the array
// that is named last, or nothing. Grids have a thread for each element, where nothing else is said.

typedef unsigned long long u64;

static __device__ u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }

// The longest that `pause` takes, whatever it is told, in nanoseconds.
#define LONGEST 20000000ull

// y <- a in every element, the first time: then `flag` is set, and nothing is done any more. The last block to begin sets it, so
// that all blocks of a launch agree; `flag[1]` counts them.
extern "C" __global__ void once(unsigned* flag, float a, float* y, u64 n)
{
    __shared__ unsigned done;
    if (threadIdx.x == 0) done = *(volatile unsigned*)flag;
    __syncthreads();
    if (done) return;
    if (thread() < n) y[thread()] = a;
    if (threadIdx.x == 0 && atomicAdd(flag + 1, 1) == gridDim.x - 1) *(volatile unsigned*)flag = 1;
}

// y <- a in every element, unless the first element of a block's is that already. A grid of any size.
extern "C" __global__ void unless_done(float a, float* y, u64 n)
{
    __shared__ bool done;
    if (threadIdx.x == 0) done = *(volatile float*)(y + (u64)blockIdx.x * blockDim.x) == a;
    __syncthreads();
    if (done) return;
    for (u64 i = thread(); i < n; i += (u64)gridDim.x * blockDim.x) y[i] = a;
}

// Reads x, of 8 vectors of 16 bytes a thread at most. y <- the sum of what the first thread has read.
extern "C" __global__ void __launch_bounds__(256) read_all(const float4* x, u64 n, float* y)
{
    const u64 threads = (u64)gridDim.x * blockDim.x;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const u64 i = thread() + k * threads;
        if (i < n / 4) {
            const float4 v = x[i];
            sum += v.x + v.y + v.z + v.w;
        }
    }
    if (thread() == 0 || isnan(sum)) y[0] = sum;
}

// total += the sum of x, in the order in which threads come to it.
extern "C" __global__ void atomic_sum(const float* x, u64 n, float* total)
{
    if (thread() < n) atomicAdd(total, x[thread()]);
}

// y <- the larger of x and 0
extern "C" __global__ void relu(const float* x, float* y, u64 n)
{
    if (thread() < n) y[thread()] = fmaxf(x[thread()], 0.0f);
}

// Takes so many nanoseconds.
extern "C" __global__ void pause(u64 nanoseconds)
{
    u64 begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < nanoseconds && now - begin < LONGEST);
}
