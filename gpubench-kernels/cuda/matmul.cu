// c ← a · b for square matrices of f32, three ways: each launch reads 8 n² bytes, writes 4 n² and does 2 n³ operations.
// In: row-major matrices of n rows and n columns, aligned to 16 bytes. Out: every element of c, its n products added in
// the order of their index, each with one rounding.

typedef unsigned long long u64;

// One thread an element, any n: every operand comes through the caches each time it is used.
extern "C" __global__ void __launch_bounds__(1024)
matmul_naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, u64 n)
{
    const u64 row = (u64)blockIdx.y * blockDim.y + threadIdx.y, column = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (u64 k = 0; k < n; k++) sum = fmaf(a[row * n + k], b[k * n + column], sum);
    c[row * n + column] = sum;
}

// Blocks of 32 × 32 threads, any n: a block's operands pass through shared memory, where each is used 32 times.
extern "C" __global__ void __launch_bounds__(1024)
matmul_shared(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, u64 n)
{
    const int side = 32;
    __shared__ float as[side][side], bs[side][side];
    const int x = threadIdx.x, y = threadIdx.y;
    const u64 row = (u64)blockIdx.y * side + y, column = (u64)blockIdx.x * side + x;
    float sum = 0;
    for (u64 first = 0; first < n; first += side) {
        as[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
        bs[y][x] = first + y < n && column < n ? b[(first + y) * n + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < side; k++) sum = fmaf(as[y][k], bs[k][x], sum);
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// The tile of c that a block of 256 threads makes, and how much of k it takes at once. A thread makes 8 × 8 elements:
// four groups of 4 × 4, half a warp's tile apart, so that the threads of a warp load neighbouring vectors.
const int TILE = 128, DEPTH = 16, THREADS = 256;
// A row more than the tile, so that the transposed stores of a warp fall into different banks.
const int PITCH = TILE + 4;
// The vectors of each operand that a thread brings in for every step.
const int VECTORS = TILE * DEPTH / 4 / THREADS;

// Blocks of 256 threads, n a multiple of 128: operands are used from registers, eight times each, while the next come in.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_registers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, u64 n)
{
    __shared__ __align__(16) float as[2][DEPTH][PITCH], bs[2][DEPTH][TILE];
    const unsigned width = (unsigned)n; // offsets of 32 bits: of 64 there are not registers enough
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    // Warps tile the block's tile 4 × 2 with 32 × 64 elements each, their threads that 4 × 8.
    const int row = warp / 2 * 32 + lane / 8 * 4, column = warp % 2 * 64 + lane % 8 * 4;
    // Of a: four elements of a row, transposed on their way; of b: four elements of a row, as they are.
    const int a_row = thread / (DEPTH / 4), a_k = thread % (DEPTH / 4) * 4;
    const int b_k = thread / (TILE / 4), b_column = thread % (TILE / 4) * 4;
    const int a_rows = THREADS / (DEPTH / 4), b_ks = THREADS / (TILE / 4);
    a += (u64)blockIdx.y * TILE * n + a_row * n + a_k;
    b += (u64)blockIdx.x * TILE + b_k * n + b_column;

    float4 next_a[VECTORS], next_b[VECTORS];
    float sums[8][8] = {};
#pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        next_a[v] = *(const float4*)(a + v * a_rows * width);
        next_b[v] = *(const float4*)(b + v * b_ks * width);
    }
    int stage = 0;
    for (unsigned left = width / DEPTH; left > 0; left--, stage ^= 1) {
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            as[stage][a_k + 0][a_row + v * a_rows] = next_a[v].x;
            as[stage][a_k + 1][a_row + v * a_rows] = next_a[v].y;
            as[stage][a_k + 2][a_row + v * a_rows] = next_a[v].z;
            as[stage][a_k + 3][a_row + v * a_rows] = next_a[v].w;
            *(float4*)&bs[stage][b_k + v * b_ks][b_column] = next_b[v];
        }
        // With two stages one barrier a step is enough: who writes this one again has passed the next barrier.
        __syncthreads();
        if (left > 1) {
            a += DEPTH;
            b += DEPTH * width;
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                next_a[v] = *(const float4*)(a + v * a_rows * width);
                next_b[v] = *(const float4*)(b + v * b_ks * width);
            }
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float x[8], y[8];
            *(float4*)(x + 0) = *(const float4*)&as[stage][k][row];
            *(float4*)(x + 4) = *(const float4*)&as[stage][k][row + 16];
            *(float4*)(y + 0) = *(const float4*)&bs[stage][k][column];
            *(float4*)(y + 4) = *(const float4*)&bs[stage][k][column + 32];
#pragma unroll
            for (int i = 0; i < 8; i++) {
#pragma unroll
                for (int j = 0; j < 8; j++) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
            }
        }
    }
    c += ((u64)blockIdx.y * TILE + row) * n + (u64)blockIdx.x * TILE + column;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float* to = c + (u64)(i % 4 + i / 4 * 16) * n;
        *(float4*)(to + 0) = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
        *(float4*)(to + 32) = make_float4(sums[i][4], sums[i][5], sums[i][6], sums[i][7]);
    }
}
