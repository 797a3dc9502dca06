// Kernels of other shapes than those of the suite. In: arrays as each says; out: what each says. Every loop ends with its counts.

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ u64 thread() { return blockIdx.x * (u64)blockDim.x + threadIdx.x; }

// y[i] ← x[at[i]].
extern "C" __global__ void __launch_bounds__(256) gather(const float* x, const u32* at, float* y, u64 n)
{
    const u64 i = thread();
    if (i < n) y[i] = x[at[i]];
}

// y[at[i]] ← x[i].
extern "C" __global__ void __launch_bounds__(256) scatter(const float* x, const u32* at, float* y, u64 n)
{
    const u64 i = thread();
    if (i < n) y[at[i]] = x[i];
}

// y[i] ← x[8 i]: one number of each sector.
extern "C" __global__ void __launch_bounds__(256) strided(const float* x, float* y, u64 n)
{
    const u64 i = thread();
    if (i < n) y[i] = x[8 * i];
}

// The sum of the six neighbours less six times the point, inside a cube; points of its faces stay.
extern "C" __global__ void __launch_bounds__(256) laplace(const float* x, float* y, u32 side)
{
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, k = blockIdx.z;
    if (i < 1 || j < 1 || k < 1 || i + 1 >= side || j + 1 >= side || k + 1 >= side) return;
    const u64 row = side, plane = (u64)side * side, at = k * plane + j * row + i;
    y[at] = x[at - 1] + x[at + 1] + x[at - row] + x[at + row] + x[at - plane] + x[at + plane] - 6.0f * x[at];
}

// counts[b] ← counts[b] + how often the byte b is among n.
extern "C" __global__ void __launch_bounds__(256) histogram(const unsigned char* x, u32* counts, u64 n)
{
    __shared__ u32 own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = thread(); i < n; i += step) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

// The sum over a block's 256 threads, in all of them.
static __device__ float block_sum(float value)
{
    __shared__ float warps[8];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = warps[threadIdx.x % 8];
    for (int step = 4; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

// sums[row] ← the sum of e^x over a row of 1024.
extern "C" __global__ void __launch_bounds__(256) row_sums(const float* x, float* sums)
{
    const float* row = x + 1024ull * blockIdx.x;
    float sum = 0.0f;
    for (int part = 0; part < 4; part++) sum += __expf(row[256 * part + threadIdx.x]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// y ← e^x over the sum of its row.
extern "C" __global__ void __launch_bounds__(256) divide(const float* x, const float* sums, float* y)
{
    const u64 first = 1024ull * blockIdx.x;
    const float factor = 1.0f / sums[blockIdx.x];
    for (int part = 0; part < 4; part++) {
        const u64 i = first + 256 * part + threadIdx.x;
        y[i] = factor * __expf(x[i]);
    }
}

// y ← the running sums of each 1024 numbers.
extern "C" __global__ void __launch_bounds__(1024) scan(const u32* x, u32* y)
{
    __shared__ u32 warps[32];
    const u64 i = thread();
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 value = x[i];
    for (int step = 1; step < 32; step *= 2) {
        const u32 before = __shfl_up_sync(0xffffffff, value, step);
        if (lane >= step) value += before;
    }
    if (lane == 31) warps[warp] = value;
    __syncthreads();
    if (warp == 0) {
        u32 sum = warps[lane];
        for (int step = 1; step < 32; step *= 2) {
            const u32 before = __shfl_up_sync(0xffffffff, sum, step);
            if (lane >= step) sum += before;
        }
        warps[lane] = sum;
    }
    __syncthreads();
    y[i] = value + (warp > 0 ? warps[warp - 1] : 0);
}

// y ← each 1024 numbers, sorted: a bitonic network in shared memory.
extern "C" __global__ void __launch_bounds__(1024) sort(const u32* x, u32* y)
{
    __shared__ u32 numbers[1024];
    const u64 i = thread();
    numbers[threadIdx.x] = x[i];
    for (u32 run = 2; run <= 1024; run *= 2) {
        for (u32 apart = run / 2; apart > 0; apart /= 2) {
            __syncthreads();
            const u32 other = threadIdx.x ^ apart;
            if (other > threadIdx.x) {
                const bool rising = (threadIdx.x & run) == 0;
                const u32 a = numbers[threadIdx.x], b = numbers[other];
                if ((a > b) == rising) {
                    numbers[threadIdx.x] = b;
                    numbers[other] = a;
                }
            }
        }
    }
    __syncthreads();
    y[i] = numbers[threadIdx.x];
}

// The steps, 256 at most, until a point of the plane leaves the circle of radius 2: threads of a warp end at different times.
extern "C" __global__ void __launch_bounds__(256) mandelbrot(u32* steps, u32 side)
{
    const u64 i = thread();
    if (i >= (u64)side * side) return;
    const float a = 3.0f * (float)(i % side) / side - 2.25f, b = 3.0f * (float)(i / side) / side - 1.5f;
    float x = 0.0f, y = 0.0f;
    u32 step = 0;
    for (; step < 256 && x * x + y * y <= 4.0f; step++) {
        const float next = x * x - y * y + a;
        y = 2.0f * x * y + b;
        x = next;
    }
    steps[i] = step;
}

// y ← A x, with 16 numbers in each row of A and their columns beside them, a thread for a row.
extern "C" __global__ void __launch_bounds__(256) sparse(const float* a, const u32* columns, const float* x, float* y, u64 rows)
{
    const u64 row = thread();
    if (row >= rows) return;
    float sum = 0.0f;
    for (u64 at = 16 * row; at < 16 * row + 16; at++) sum += a[at] * x[columns[at]];
    y[row] = sum;
}

// y ← A x, with a block for each row of n numbers.
extern "C" __global__ void __launch_bounds__(256) dense(const float* a, const float* x, float* y, u32 n)
{
    const float* row = a + (u64)n * blockIdx.x;
    float sum = 0.0f;
    for (u32 j = threadIdx.x; j < n; j += 256) sum += row[j] * x[j];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// The maximum or the sum over a block's 1024 threads, in all of them.
template <bool MAXIMUM>
static __device__ float over_block(float value)
{
    __shared__ float warps[32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int pass = 0; pass < 2; pass++) {
        for (int step = 16; step > 0; step /= 2) {
            const float other = __shfl_xor_sync(0xffffffff, value, step);
            value = MAXIMUM ? fmaxf(value, other) : value + other;
        }
        if (pass == 0) {
            if (lane == 0) warps[warp] = value;
            __syncthreads();
            value = warps[lane];
        }
    }
    return value;
}

// y ← the softmax of each row of 1024 numbers, a block of 1024 threads for a row.
extern "C" __global__ void __launch_bounds__(1024) softmax_rows(const float* x, float* y)
{
    const u64 i = thread();
    const float value = x[i];
    const float power = __expf(value - over_block<true>(value));
    y[i] = power / over_block<false>(power);
}

// y[i] ← 1 + x (1 + x (…)) with 64 terms, in f64.
extern "C" __global__ void __launch_bounds__(128) horner(const double* x, double* y, u64 n)
{
    const u64 i = thread();
    if (i >= n) return;
    const double at = x[i];
    double sum = 1.0;
#pragma unroll 8
    for (int term = 1; term < 64; term++) sum = fma(sum, at, 1.0);
    y[i] = sum;
}

// counts[at[i] mod bins] grows by 1; bins is a power of two.
extern "C" __global__ void __launch_bounds__(256) count(const u32* at, u32* counts, u64 n, u32 bins)
{
    const u64 i = thread();
    if (i < n) atomicAdd(&counts[at[i] & (bins - 1)], 1);
}

// last[i] ← where a walk through `next` ends that begins at 97 i: each load waits for the one before it.
extern "C" __global__ void __launch_bounds__(32) walk(const u32* next, u32* last, u32 steps, u32 n)
{
    u32 at = (u32)(97 * thread()) & (n - 1);
    for (u32 step = 0; step < steps; step++) at = next[at];
    last[thread()] = at;
}
