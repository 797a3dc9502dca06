// One step of Jacobi's method on a square: every point becomes the mean of its four neighbours, those on the edge stay.
// In: an n × n matrix of f32, row by row, any n. Out: y. Blocks of 64 × 4 threads; each thread goes down its column for 8
// rows and keeps what it has read in registers, so that a point comes from memory once, and its neighbours to the left and
// right from the cache. The grid has a block for each 64 columns and each 32 rows.

typedef unsigned long long u64;

static __device__ const int ROWS = 8;

extern "C" __global__ void __launch_bounds__(256) stencil(const float* x, float* y, u64 n)
{
    const u64 column = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u64 first = ((u64)blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    if (column >= n || first >= n) return;
    const float* at = x + first * n + column;
    float up = first > 0 ? __ldg(at - n) : 0.0f, mine = __ldg(at);
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        const u64 row = first + k;
        if (row >= n) return;
        const float down = row + 1 < n ? __ldg(at + n) : 0.0f;
        const bool edge = row == 0 || row + 1 == n || column == 0 || column + 1 == n;
        y[row * n + column] = edge ? mine : 0.25f * ((up + down) + (__ldg(at - 1) + __ldg(at + 1)));
        up = mine;
        mine = down;
        at += n;
    }
}
