// What a GPU reaches where one of its limits alone stands in the way: bytes of its memory or of its L2, and multiply-adds
// on registers. In and out: see each. On any GPU; what needs compute capability 8.0 is in ceilings_80.cu.

#include "ceilings.cuh"

// A block moves its threads times a batch of 16 bytes at once, in a row. These were the best of those tried on an H200.
#define READERS 256
#define READ_BATCH 4
#define WRITERS 1024
#define WRITE_BATCH 2

// Past the L1, whose bandwidth is another.
static __device__ uint4 load(const uint4* place)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(place));
    return v;
}

// Reads `vectors` times 16 bytes, `sweeps` times over. `vectors` is a multiple of what a block moves at once; any grid of
// blocks of READERS. `sink` is one word, written only by a thread that happens on one bit pattern of 2^32.
extern "C" __global__ void __launch_bounds__(READERS)
gpubench_ceiling_read(const uint4* buffer, u64 vectors, u64 sweeps, unsigned* sink)
{
    const u64 chunk = READERS * READ_BATCH;
    unsigned seen = 0;
    for (u64 sweep = 0; sweep < sweeps; sweep++) {
        for (u64 first = blockIdx.x * chunk; first < vectors; first += gridDim.x * chunk) {
            uint4 v[READ_BATCH];
#pragma unroll
            for (int k = 0; k < READ_BATCH; k++) v[k] = load(buffer + first + k * READERS + threadIdx.x);
#pragma unroll
            for (int k = 0; k < READ_BATCH; k++) seen += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }
    }
    if (seen == 0x9e3779b9) *sink = seen;
}

// Writes `vectors` times 16 bytes, `sweeps` times over: the low half of `word` in each four bytes. Sizes likewise, with
// WRITERS.
extern "C" __global__ void __launch_bounds__(WRITERS)
gpubench_ceiling_write(uint4* buffer, u64 vectors, u64 sweeps, u64 word)
{
    const u64 chunk = WRITERS * WRITE_BATCH;
    for (u64 sweep = 0; sweep < sweeps; sweep++) {
        for (u64 first = blockIdx.x * chunk; first < vectors; first += gridDim.x * chunk) {
#pragma unroll
            for (int k = 0; k < WRITE_BATCH; k++)
                asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(buffer + first + k * WRITERS + threadIdx.x),
                             "r"((unsigned)word)
                             : "memory");
        }
    }
}

// Copies `vectors` times 16 bytes. Sizes as for writes.
extern "C" __global__ void __launch_bounds__(WRITERS)
gpubench_ceiling_copy(const uint4* from, uint4* to, u64 vectors)
{
    const u64 chunk = WRITERS * WRITE_BATCH;
    for (u64 first = blockIdx.x * chunk; first < vectors; first += gridDim.x * chunk) {
        uint4 v[WRITE_BATCH];
#pragma unroll
        for (int k = 0; k < WRITE_BATCH; k++) v[k] = load(from + first + k * WRITERS + threadIdx.x);
#pragma unroll
        for (int k = 0; k < WRITE_BATCH; k++) to[first + k * WRITERS + threadIdx.x] = v[k];
    }
}

FUSED_MULTIPLY_ADD(f64, double, "d", "fma.rn.f64", as_f64)
FUSED_MULTIPLY_ADD(f32, float, "f", "fma.rn.f32", as_f32)
// Two in an instruction.
FUSED_MULTIPLY_ADD(f16, unsigned, "r", "fma.rn.f16x2", as_f16x2)
