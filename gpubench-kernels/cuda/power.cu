// Arithmetic that keeps every multiprocessor busy for as long as it is told, and draws what the GPU can draw.
// In: a grid of any size; out: a value a thread, the same in every block, so that a CPU can say what each must be.

typedef unsigned long long u64;

// How many pairs a thread turns: enough that each scheduler has an instruction whenever it can issue one.
static const int PAIRS = 8;

// Each thread turns 8 pairs of values `steps` times by a small angle, in two fused multiply-adds a step: x <- x - a y,
// y <- y + a x. Such pairs stay on an ellipse and never come to rest, so that all their bits change with every step. They
// begin with the inputs 16 t to 16 t + 15 of thread t of its block; `sums` gets the sum of them all at the end, in their
// order. Blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256) turn(float a, const float* __restrict__ inputs, u64 steps, float* sums)
{
    float x[PAIRS], y[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; k++) {
        x[k] = __ldg(inputs + 2 * PAIRS * threadIdx.x + 2 * k);
        y[k] = __ldg(inputs + 2 * PAIRS * threadIdx.x + 2 * k + 1);
    }
#pragma unroll 8
    for (u64 step = 0; step < steps; step++) {
#pragma unroll
        for (int k = 0; k < PAIRS; k++) x[k] = __fmaf_rn(-a, y[k], x[k]);
#pragma unroll
        for (int k = 0; k < PAIRS; k++) y[k] = __fmaf_rn(a, x[k], y[k]);
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < PAIRS; k++) sum = __fadd_rn(__fadd_rn(sum, x[k]), y[k]);
    sums[(u64)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
