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

// y <- x/2 + 1 in every element. x and y may be the same array. The values approach 2, and stop changing there.
extern "C" __global__ void halve(const float* x, float* y, u64 n)
{
    if (thread() < n) y[thread()] = x[thread()] / 2 + 1;
}

// A step of Jacobi's method on a ring of n elements, each with a source of 1: y <- the mean of both neighbours in x, plus 1.
extern "C" __global__ void jacobi(const float* x, float* y, u64 n)
{
    const u64 i = thread();
    if (i < n) y[i] = (x[i == 0 ? n - 1 : i - 1] + x[i == n - 1 ? 0 : i + 1]) / 2 + 1;
}

// counts[key] += 1 for each key. There are 256 counts.
extern "C" __global__ void histogram(const unsigned* keys, u64 n, unsigned* counts)
{
    if (thread() < n) atomicAdd(counts + keys[thread()] % 256, 1u);
}

// x <- 255, 254, ..., 0, over and over.
extern "C" __global__ void descending(float* x, u64 n)
{
    if (thread() < n) x[thread()] = (float)(255 - thread() % 256);
}

// Sorts each 256 elements of x in place by exchanging neighbours, in at most `phases` phases, which is even. A block whose elements
// are in order already is done after two. n is a multiple of 256.
extern "C" __global__ void __launch_bounds__(256) sort_blocks(float* x, u64 n, unsigned phases)
{
    __shared__ float block[256];
    const unsigned i = threadIdx.x;
    if (thread() >= n) return;
    block[i] = x[thread()];
    __syncthreads();
    for (unsigned phase = 0; phase < phases && phase < 256; phase += 2) {
        bool swapped = false;
        for (unsigned odd = 0; odd < 2; odd++) {
            if (i % 2 == odd && i < 255 && block[i] > block[i + 1]) {
                const float larger = block[i];
                block[i] = block[i + 1];
                block[i + 1] = larger;
                swapped = true;
            }
            __syncthreads();
        }
        if (!__syncthreads_or(swapped)) break;
    }
    x[thread()] = block[i];
}
