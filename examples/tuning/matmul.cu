// c ← a · b for square matrices of f32, row by row, n a multiple of 256. A block makes ROWS × COLUMNS elements of c and takes DEPTH of k
// at once, from two buffers in shared memory; a thread makes HEIGHT × WIDTH elements, in squares of 4 × 4 that lie apart, so that a warp
// reads without conflicts of banks.

typedef unsigned long long u64;

const int ACROSS = COLUMNS / WIDTH, THREADS = ROWS / HEIGHT * ACROSS;
// Vectors of four that a thread brings in for each step.
const int OF_A = (ROWS * DEPTH / 4 + THREADS - 1) / THREADS, OF_B = (DEPTH * COLUMNS / 4 + THREADS - 1) / THREADS;

// The step's operands: a is kept by columns.
struct Tile {
    float a[DEPTH][ROWS + 4], b[DEPTH][COLUMNS];
};

struct Incoming {
    float4 a[OF_A], b[OF_B];
};

static __device__ void fetch(Incoming& next, const float* a, const float* b, u64 n)
{
#pragma unroll
    for (int i = 0; i < OF_A; i++) {
        const int at = threadIdx.x + i * THREADS;
        if (at < ROWS * DEPTH / 4) next.a[i] = *(const float4*)(a + at / (DEPTH / 4) * n + at % (DEPTH / 4) * 4);
    }
#pragma unroll
    for (int i = 0; i < OF_B; i++) {
        const int at = threadIdx.x + i * THREADS;
        if (at < DEPTH * COLUMNS / 4) next.b[i] = *(const float4*)(b + at / (COLUMNS / 4) * n + at % (COLUMNS / 4) * 4);
    }
}

static __device__ void keep(Tile& tile, const Incoming& next)
{
#pragma unroll
    for (int i = 0; i < OF_A; i++) {
        const int at = threadIdx.x + i * THREADS, row = at / (DEPTH / 4), k = at % (DEPTH / 4) * 4;
        if (at < ROWS * DEPTH / 4) {
            tile.a[k][row] = next.a[i].x;
            tile.a[k + 1][row] = next.a[i].y;
            tile.a[k + 2][row] = next.a[i].z;
            tile.a[k + 3][row] = next.a[i].w;
        }
    }
#pragma unroll
    for (int i = 0; i < OF_B; i++) {
        const int at = threadIdx.x + i * THREADS;
        if (at < DEPTH * COLUMNS / 4) *(float4*)&tile.b[at / (COLUMNS / 4)][at % (COLUMNS / 4) * 4] = next.b[i];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
variant(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, u64 n)
{
    __shared__ __align__(16) Tile tiles[2];
    const int down = threadIdx.x / ACROSS * 4, across = threadIdx.x % ACROSS * 4;
    a += (u64)blockIdx.y * ROWS * n;
    b += (u64)blockIdx.x * COLUMNS;

    float sums[HEIGHT][WIDTH] = {};
    Incoming next;
    fetch(next, a, b, n);
    keep(tiles[0], next);
    __syncthreads();
    for (u64 k = 0, step = 0; k < n; k += DEPTH, step++) {
        const Tile& tile = tiles[step % 2];
        const bool more = k + DEPTH < n;
        a += DEPTH;
        b += DEPTH * n;
        if (more) fetch(next, a, b, n);
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            float x[HEIGHT], y[WIDTH];
#pragma unroll
            for (int i = 0; i < HEIGHT; i += 4) *(float4*)(x + i) = *(const float4*)&tile.a[d][i * (ROWS / HEIGHT) + down];
#pragma unroll
            for (int j = 0; j < WIDTH; j += 4) *(float4*)(y + j) = *(const float4*)&tile.b[d][j * ACROSS + across];
#pragma unroll
            for (int i = 0; i < HEIGHT; i++) {
#pragma unroll
                for (int j = 0; j < WIDTH; j++) sums[i][j] += x[i] * y[j];
            }
        }
        // The other tile was last read before the last barrier.
        if (more) keep(tiles[(step + 1) % 2], next);
        __syncthreads();
    }

    c += ((u64)blockIdx.y * ROWS + down) * n + (u64)blockIdx.x * COLUMNS + across;
#pragma unroll
    for (int i = 0; i < HEIGHT; i++) {
#pragma unroll
        for (int j = 0; j < WIDTH; j += 4) {
            float* to = c + (u64)(i / 4 * 4 * (ROWS / HEIGHT) + i % 4) * n + j * ACROSS;
            *(float4*)to = make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
        }
    }
}
