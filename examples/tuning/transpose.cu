// y[c][r] ← x[r][c] for an n × n matrix of f32, row by row, through tiles of ROWS × COLUMNS that a block of THREADS threads reads and
// writes in vectors of VECTOR elements. n is a multiple of both sides.

typedef unsigned long long u64;

struct __align__(4 * VECTOR) Vector {
    float of[VECTOR];
};

extern "C" __global__ void __launch_bounds__(THREADS) variant(const float* __restrict__ x, float* __restrict__ y, u64 n)
{
    // Rows are one element longer, so that a column lies in all banks.
    __shared__ float tile[ROWS][COLUMNS + 1];
    const int ACROSS = COLUMNS / VECTOR, DOWN = ROWS / VECTOR, ALL = ROWS * COLUMNS / VECTOR;
    const u64 left = (u64)blockIdx.x * COLUMNS, top = (u64)blockIdx.y * ROWS;
#pragma unroll
    for (int at = threadIdx.x; at < ALL; at += THREADS) {
        const int row = at / ACROSS, column = at % ACROSS * VECTOR;
        const Vector vector = *(const Vector*)(x + (top + row) * n + left + column);
#pragma unroll
        for (int i = 0; i < VECTOR; i++) tile[row][column + i] = vector.of[i];
    }
    __syncthreads();
#pragma unroll
    for (int at = threadIdx.x; at < ALL; at += THREADS) {
        const int column = at / DOWN, row = at % DOWN * VECTOR;
        Vector vector;
#pragma unroll
        for (int i = 0; i < VECTOR; i++) vector.of[i] = tile[row + i][column];
        *(Vector*)(y + (left + column) * n + top + row) = vector;
    }
}
