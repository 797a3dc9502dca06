// c ← a · b for square matrices of bf16, on tensor cores: `matmul_tensor` of gpubench-kernels, of which each size is an axis.

// In the kernels' source these are the names of parameters.
enum Sizes {
    TILE_ROWS = ROWS, TILE_COLUMNS = COLUMNS, STEP = DEPTH, UNDER_WAY = STAGES, OF_WARP_ROWS = WARP_ROWS, OF_WARP_COLUMNS = WARP_COLUMNS
};
#undef ROWS
#undef COLUMNS
#undef DEPTH
#undef STAGES
#undef WARP_ROWS
#undef WARP_COLUMNS
#include "../../gpubench-kernels/cuda/matmul_tensor.cu"

KERNEL(variant, TILE_ROWS, TILE_COLUMNS, STEP, UNDER_WAY, OF_WARP_ROWS, OF_WARP_COLUMNS)
