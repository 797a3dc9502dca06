// A sum over a whole array in one launch.
// In: an array aligned to 16 bytes, any n; room for one partial sum a block; a counter that is 0. Out: the total, and
// the counter at 0 again. The same grid adds in the same order, so that its total is the same to the last bit.

typedef unsigned long long u64;

// The block's sum of one value a thread, in thread 0. Every thread of a block of at most 1024 must call it.
static __device__ double block_sum(double value)
{
    __shared__ double warps[32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __syncthreads(); // an earlier call may still be reading
    if (lane == 0) warps[warp] = value;
    __syncthreads();
    value = threadIdx.x < (blockDim.x + 31) / 32 ? warps[threadIdx.x] : 0.0;
    if (warp == 0) {
        for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
    }
    return value;
}

// total ← Σ x. Blocks are of whole warps, at most 512 threads. A thread adds its few elements in f32, all else is in f64.
extern "C" __global__ void __launch_bounds__(512)
sum(const float* __restrict__ x, u64 n, double* partials, unsigned* arrived, double* total)
{
    const int batch = 4;
    const float4* xs = (const float4*)x;
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, stride = (u64)gridDim.x * blockDim.x;
    const u64 vectors = n / 4;

    float4 sums = make_float4(0, 0, 0, 0);
    for (u64 first = thread; first < vectors; first += batch * stride) {
        float4 v[batch];
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const u64 i = first + k * stride;
            v[k] = i < vectors ? __ldg(xs + i) : make_float4(0, 0, 0, 0);
        }
#pragma unroll
        for (int k = 0; k < batch; k++) {
            sums.x += v[k].x;
            sums.y += v[k].y;
            sums.z += v[k].z;
            sums.w += v[k].w;
        }
    }
    double mine = ((double)sums.x + sums.y) + ((double)sums.z + sums.w);
    // What is left after the last whole vector is less than a warp has threads.
    const u64 i = 4 * vectors + thread;
    if (i < n) mine += __ldg(x + i);
    mine = block_sum(mine);

    __shared__ bool last;
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = mine;
        __threadfence(); // the partial sum is seen wherever the count is
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1; // counts on from 0 after the last block
    }
    __syncthreads();
    if (!last) return;

    // This block arrived last: all the partial sums are there, in the L2.
    __threadfence();
    mine = 0.0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine += __ldcg(partials + block);
    mine = block_sum(mine);
    if (threadIdx.x == 0) *total = mine;
}
