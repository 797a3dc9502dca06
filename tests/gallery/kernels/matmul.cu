typedef unsigned long long u64;

// c ← a · b, one thread an element. Each operand is read from global memory each time.
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, u64 n)
{
    u64 row = (u64)blockIdx.y * blockDim.y + threadIdx.y, column = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (u64 k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

// c ← a · b, by blocks of 32 × 32 threads. Operands pass through shared memory.
extern "C" __global__ void matmul_shared(const float* a, const float* b, float* c, u64 n)
{
    __shared__ float as[32][32], bs[32][32];
    int x = threadIdx.x, y = threadIdx.y;
    u64 row = (u64)blockIdx.y * 32 + y, column = (u64)blockIdx.x * 32 + x;
    float sum = 0;
    for (u64 first = 0; first < n; first += 32) {
        as[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0;
        bs[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0;
        __syncthreads();
        for (int k = 0; k < 32; k++) sum += as[y][k] * bs[k][x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
