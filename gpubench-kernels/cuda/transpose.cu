// A transpose twice: as one writes it first, and through shared memory.
// In: an n × n matrix of f32, row by row, any n. Out: y[c][r] = x[r][c]. Blocks of 32 × 8 threads take tiles of 32 × 32; the
// grid has as many in each direction as it takes.

typedef unsigned long long u64;

static __device__ const unsigned TILE = 32;

// Neighbouring threads write far apart: each write is a sector of its own.
extern "C" __global__ void __launch_bounds__(256) transpose_naive(const float* x, float* y, u64 n)
{
    const u64 column = (u64)blockIdx.x * TILE + threadIdx.x;
    const u64 last = (blockIdx.y + 1ull) * TILE;
    for (u64 row = (u64)blockIdx.y * TILE + threadIdx.y; row < last; row += blockDim.y) {
        if (row < n && column < n) y[column * n + row] = x[row * n + column];
    }
}

// A tile is read by rows and written by rows. Its rows are one element longer, so that a column lies in all 32 banks.
extern "C" __global__ void __launch_bounds__(256) transpose_tiled(const float* x, float* y, u64 n)
{
    __shared__ float tile[TILE][TILE + 1];
    const u64 left = (u64)blockIdx.x * TILE, top = (u64)blockIdx.y * TILE;
#pragma unroll
    for (unsigned k = 0; k < TILE; k += 8) {
        const u64 row = top + threadIdx.y + k, column = left + threadIdx.x;
        if (row < n && column < n) tile[threadIdx.y + k][threadIdx.x] = x[row * n + column];
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < TILE; k += 8) {
        const u64 row = left + threadIdx.y + k, column = top + threadIdx.x;
        if (row < n && column < n) y[row * n + column] = tile[threadIdx.x][threadIdx.y + k];
    }
}
