// total ← Σ x, as `sum` of gpubench-kernels, with THREADS threads a block that each have BATCH vectors under way.

// In the kernels' source `BATCH` is the name of a parameter.
const int UNDER_WAY = BATCH;
#undef BATCH
#include "../../gpubench-kernels/cuda/reduction.cu"

extern "C" __global__ void __launch_bounds__(THREADS) variant(const float* x, u64 n, u64* slots, double* total)
{
    const u64 vectors = n / 4, rest = 4 * vectors + (u64)blockIdx.x * blockDim.x + threadIdx.x;
    double mine = thread_sum<UNDER_WAY>(One{(const float4*)x}, vectors);
    if (rest < n) mine += __ldg(x + rest);
    grid_sum(mine, slots, total);
}
