// Kernels as they stand in the texts that this suite was written after, to be compared with: one element at a time.
// In: arrays and their number of elements n, any n. Out: the last array named.

typedef unsigned long long u64;

// y ← x, by a grid of any size: theirs is of 32 blocks of 1024 threads, whatever the GPU.
extern "C" __global__ void __launch_bounds__(1024) copy(const float* x, float* y, u64 n)
{
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = x[i];
}

// y ← a·x + y, one thread an element
extern "C" __global__ void __launch_bounds__(1024) saxpy(float a, const float* x, float* y, u64 n)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

// c ← a + b, one block an element
extern "C" __global__ void __launch_bounds__(1024) vector_add(const double* a, const double* b, double* c, u64 n)
{
    const u64 i = blockIdx.x;
    if (i < n && threadIdx.x == 0) c[i] = a[i] + b[i];
}
