// As ceilings.cu, for what needs compute capability 8.0: bf16, and tensor cores by `mma.sync`. Later architectures have
// faster ways to their tensor cores (wgmma from 9.0, tcgen05 from 10.0), which no code for 8.0 can name.

#include "ceilings.cuh"

// Two in an instruction.
FUSED_MULTIPLY_ADD(bf16, unsigned, "r", "fma.rn.bf16x2", as_bf16x2)

// Tiles of a warp, as a matrix product has them: each of ROWS operands meets each of COLUMNS. ROWS * COLUMNS * REPEATS
// instructions a step.
#define ROWS 4
#define COLUMNS 4
#define REPEATS 2

// gpubench_ceiling_NAME_tensor(float* out, u64 steps): each warp multiplies tiles and adds them up in f32; each thread
// writes the sum of what came out into its place of `out`. Any grid of blocks of 256 threads.
#define MULTIPLY_TILES(NAME, SHAPE, NUMBER)                                                                            \
    extern "C" __global__ void __launch_bounds__(256) gpubench_ceiling_##NAME##_tensor(float* out, u64 steps)           \
    {                                                                                                                  \
        const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;                                                     \
        unsigned a[ROWS][4], b[COLUMNS][2];                                                                            \
        float sums[ROWS][COLUMNS][4] = {};                                                                             \
        _Pragma("unroll") for (int i = 0; i < 4 * ROWS; i++) a[i / 4][i % 4] = NUMBER(bits(32 * id + i));              \
        _Pragma("unroll") for (int i = 0; i < 2 * COLUMNS; i++) b[i / 2][i % 2] = NUMBER(bits(32 * id + 16 + i));      \
        _Pragma("unroll 1") for (unsigned step = 0; step < (unsigned)steps; step++) {                                  \
            _Pragma("unroll") for (int i = 0; i < REPEATS * ROWS * COLUMNS; i++) {                                     \
                float* d = sums[i / COLUMNS % ROWS][i % COLUMNS];                                                      \
                const unsigned *x = a[i / COLUMNS % ROWS], *y = b[i % COLUMNS];                                        \
                asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"        \
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                          \
                             : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));                      \
            }                                                                                                          \
        }                                                                                                              \
        float sum = 0;                                                                                                 \
        _Pragma("unroll") for (int i = 0; i < 4 * ROWS * COLUMNS; i++)                                                 \
            sum += sums[i / 4 / COLUMNS][i / 4 % COLUMNS][i % 4];                                                      \
        out[id] = sum;                                                                                                 \
    }

MULTIPLY_TILES(bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", as_bf16x2)
MULTIPLY_TILES(f16, "m16n8k16.row.col.f32.f16.f16.f32", as_f16x2)
MULTIPLY_TILES(tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", as_tf32)

// The same in f64 throughout.
extern "C" __global__ void __launch_bounds__(256) gpubench_ceiling_f64_tensor(double* out, u64 steps)
{
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    double a[ROWS], b[COLUMNS], sums[ROWS][COLUMNS][2] = {};
#pragma unroll
    for (int i = 0; i < ROWS; i++) a[i] = as_f64(bits(32 * id + i));
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) b[i] = as_f64(bits(32 * id + 16 + i));
#pragma unroll 1
    for (unsigned step = 0; step < (unsigned)steps; step++) {
#pragma unroll
        for (int i = 0; i < REPEATS * ROWS * COLUMNS; i++) {
            double* d = sums[i / COLUMNS % ROWS][i % COLUMNS];
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                         : "+d"(d[0]), "+d"(d[1])
                         : "d"(a[i / COLUMNS % ROWS]), "d"(b[i % COLUMNS]));
        }
    }
    double sum = 0;
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS; i++) sum += sums[i / COLUMNS][i % COLUMNS][0] + sums[i / COLUMNS][i % COLUMNS][1];
    out[id] = sum;
}
