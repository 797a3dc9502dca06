// y ← the transpose of x: `transpose_tiled` of gpubench-kernels, of which each size is an axis.

// In the kernels' source these are the names of parameters.
enum Sizes { TILE_ROWS = ROWS, TILE_COLUMNS = COLUMNS, ELEMENTS = VECTOR, OF_BLOCK = THREADS };
#undef ROWS
#undef COLUMNS
#undef VECTOR
#undef THREADS
#include "../../gpubench-kernels/cuda/transpose.cu"

extern "C" __global__ void __launch_bounds__(OF_BLOCK) variant(const float* x, float* y, u64 n)
{
    __shared__ float tile[TILE_ROWS][TILE_COLUMNS + 1];
    transpose<TILE_ROWS, TILE_COLUMNS, ELEMENTS, OF_BLOCK>(x, y, n, tile);
}
