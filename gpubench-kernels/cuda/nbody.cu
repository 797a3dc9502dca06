// Gravity between all pairs of n bodies, after Nyland, Harris & Prins, "Fast N-Body Simulation with CUDA" (GPU Gems 3,
// chapter 31, 2007), whose count of 20 operations an interaction is the usual one. Each launch reads 16 n bytes, writes
// 16 n and has n² interactions. In: bodies as x, y, z and mass. Out: the acceleration of each as x, y, z, and a 0.

typedef unsigned long long u64;

// Blocks of 256 threads, a body each, any n: the others come by in tiles, through shared memory.
extern "C" __global__ void __launch_bounds__(256)
nbody(const float4* __restrict__ bodies, float4* __restrict__ accelerations, u64 n, float softening)
{
    const int tile = 256;
    __shared__ float4 others[tile];
    const u64 i = (u64)blockIdx.x * tile + threadIdx.x;
    // Those past the end are far away and have no mass.
    const float4 none = make_float4(1e9f, 1e9f, 1e9f, 0);
    const float4 body = i < n ? bodies[i] : none;
    float x = 0, y = 0, z = 0;
    for (u64 first = 0; first < n; first += tile) {
        __syncthreads(); // the last tile has been read
        others[threadIdx.x] = first + threadIdx.x < n ? bodies[first + threadIdx.x] : none;
        __syncthreads();
#pragma unroll 32
        for (int j = 0; j < tile; j++) {
            const float4 other = others[j];
            const float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
            const float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
            const float inverse = rsqrtf(square);
            const float pull = other.w * (inverse * inverse * inverse);
            x = fmaf(dx, pull, x);
            y = fmaf(dy, pull, y);
            z = fmaf(dz, pull, z);
        }
    }
    if (i < n) accelerations[i] = make_float4(x, y, z, 0);
}
