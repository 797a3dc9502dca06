// Matrix products on tensor cores, over and over, from registers alone.
// In: matrices of whole numbers; out: what their products add up to, which is exact. From compute capability 8.0.

typedef unsigned long long u64;
typedef unsigned u32;

// How many sums of products a warp has under way, and how many products take turns in them.
static const int TILES = 8;
static const int TURNS = 4;

// Each warp adds `steps` products of a 16 x 16 and a 16 x 8 matrix of bf16 to each of 8 matrices of f32 that begin at 0. The
// products are two, and those two negated, in turns, so that no sum grows: L0 R0, L1 R1, -L0 R0, -L1 R1; matrix t begins with
// number t modulo 4. `left` and `right` have the part of each of 32 threads of L0 and L1, 4 words each, and of R0 and R1, 2
// words each. `sums` gets 4 values a thread: its part of 1 times the first matrix and so on to 8 times the last. Blocks of
// whole warps.
extern "C" __global__ void __launch_bounds__(256)
products(const u32* __restrict__ left, const u32* __restrict__ right, u64 steps, float* sums)
{
    const int lane = threadIdx.x % 32;
    u32 a[2][4], b[TURNS][2];
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
#pragma unroll
        for (int k = 0; k < 4; k++) a[pair][k] = __ldg(left + (32 * pair + lane) * 4 + k);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            b[pair][k] = __ldg(right + (32 * pair + lane) * 2 + k);
            b[pair + 2][k] = b[pair][k] ^ 0x80008000;
        }
    }
    float c[TILES][4] = {};
    for (u64 step = 0; step < steps; step += TURNS) {
#pragma unroll
        for (int k = 0; k < TURNS; k++) {
            if (step + k >= steps) break;
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                const int turn = (tile + k) % TURNS, pair = turn % 2;
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                    : "+f"(c[tile][0]), "+f"(c[tile][1]), "+f"(c[tile][2]), "+f"(c[tile][3])
                    : "r"(a[pair][0]), "r"(a[pair][1]), "r"(a[pair][2]), "r"(a[pair][3]), "r"(b[turn][0]), "r"(b[turn][1]));
            }
        }
    }
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float sum = 0;
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) sum = __fmaf_rn(tile + 1, c[tile][k], sum);
        sums[4 * thread + k] = sum;
    }
}
