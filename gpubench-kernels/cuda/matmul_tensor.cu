// c ← a · b for square matrices of bf16, on tensor cores, with sums and results in f32: each launch reads 4 n² bytes,
// writes 4 n² and does 2 n³ operations. In: row-major matrices, aligned to 16 bytes, n a multiple of 256. Out: every
// element of c. `mma.sync` and asynchronous copies are of compute capability 8.0; Hopper's own `wgmma` is faster.

typedef unsigned long long u64;
typedef unsigned short bf16; // its bits

// The tile of c that a block of eight warps makes, how much of k it takes at once (two halves of 16), and how many such
// steps are under way. A warp makes 64 × 64 elements.
const int ROWS = 128, COLUMNS = 256, DEPTH = 32, STAGES = 4, THREADS = 256;
// Bytes of a step's operands.
const int A_BYTES = ROWS * DEPTH * 2, B_BYTES = DEPTH * COLUMNS * 2, STAGE_BYTES = A_BYTES + B_BYTES;
// So many rows of tiles are walked column by column, so that what runs at once shares its operands in the L2.
const unsigned GROUP = 8;

static __device__ void copy_async(unsigned to, const bf16* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// What a thread brings in for each step: of a two vectors of 16 bytes, 64 rows apart, of b four, 8 rows apart.
struct Incoming {
    const bf16 *a, *b;
    unsigned to_a, to_b; // where they go in a stage
    unsigned width;
};

// Begins to bring in the next step's operands.
static __device__ void bring(unsigned stage, Incoming& next)
{
#pragma unroll
    for (unsigned i = 0; i < 2; i++) copy_async(stage + next.to_a + i * 64 * DEPTH * 2, next.a + i * 64 * next.width);
#pragma unroll
    for (unsigned i = 0; i < 4; i++) copy_async(stage + next.to_b + i * 8 * COLUMNS * 2, next.b + i * 8 * next.width);
    next.a += DEPTH;
    next.b += DEPTH * next.width;
}

// What a warp multiplies at once: 64 rows of a and 64 columns of b, 16 deep.
struct Operands {
    unsigned x[4][4], y[8][2];
};

// Loads them from shared memory: each lane names rows of 16 bytes.
static __device__ void load(Operands& operands, unsigned a, unsigned b, const unsigned (&columns)[4])
{
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        unsigned* x = operands.x[i];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(a + i * 16 * DEPTH * 2)
                     : "memory");
    }
#pragma unroll
    for (unsigned j = 0; j < 4; j++) {
        unsigned *left = operands.y[2 * j], *right = operands.y[2 * j + 1];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(left[0]), "=r"(left[1]), "=r"(right[0]), "=r"(right[1])
                     : "r"(b + columns[j])
                     : "memory");
    }
}

static __device__ void multiply(float (&sums)[4][8][4], const Operands& operands)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float* sum = sums[i][j];
            const unsigned *x = operands.x[i], *y = operands.y[j];
            asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        }
    }
}

// Waits until the next step's operands are there, and until all threads are done with those of the step before.
static __device__ void next_step()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
matmul_tensor(const bf16* __restrict__ a, const bf16* __restrict__ b, float* __restrict__ c, u64 n)
{
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned shared = (unsigned)__cvta_generic_to_shared(memory), width = (unsigned)n;
    const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const unsigned warp_row = warp / 4 * 64, warp_column = warp % 4 * 64;

    const unsigned tile_rows = width / ROWS, tile_columns = width / COLUMNS;
    const unsigned group = blockIdx.x / (GROUP * tile_columns), left = tile_rows - group * GROUP;
    const unsigned height = left < GROUP ? left : GROUP, within = blockIdx.x % (GROUP * tile_columns);
    const u64 row = (u64)(group * GROUP + within % height) * ROWS, column = (u64)(within / height) * COLUMNS;

    // In shared memory 16 bytes are moved within their row, so that the eight rows that `ldmatrix` reads at once fall into
    // different banks: those of a, of 64 bytes, by half their number, those of b, of 512, by their number.
    const unsigned a_row = thread / 4, b_row = thread / 32;
    Incoming next;
    next.a = a + (row + a_row) * n + thread % 4 * 8;
    next.b = b + b_row * n + column + lane * 8;
    next.to_a = a_row * DEPTH * 2 + (((thread % 4) ^ (a_row / 2 % 4)) << 4);
    next.to_b = A_BYTES + b_row * COLUMNS * 2 + ((lane ^ b_row) << 4);
    next.width = width;
    // Where a warp's operands begin: each of its lanes names a row of 16 bytes.
    unsigned from_a[2], from_b[4];
#pragma unroll
    for (unsigned k = 0; k < 2; k++) {
        from_a[k] = (warp_row + lane % 16) * DEPTH * 2 + (((k * 2 + lane / 16) ^ (lane % 16 / 2 % 4)) << 4);
    }
#pragma unroll
    for (unsigned j = 0; j < 4; j++) {
        from_b[j] = A_BYTES + lane % 16 * COLUMNS * 2 + ((warp_column / 8 + ((j * 2 + lane / 16) ^ (lane % 8))) << 4);
    }

    const unsigned steps = width / DEPTH;
#pragma unroll
    for (unsigned step = 0; step < STAGES - 1; step++) {
        if (step < steps) bring(shared + step * STAGE_BYTES, next);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }

    float sums[4][8][4] = {};
    Operands first, second;
    next_step();
    load(first, shared + from_a[0], shared, from_b);
    // What is multiplied next is loaded meanwhile: the two halves of a step take turns.
    for (unsigned step = 0; step < steps; step++) {
        const unsigned stage = shared + step % STAGES * STAGE_BYTES, later = step + STAGES - 1;
        load(second, stage + from_a[1], stage + 16 * COLUMNS * 2, from_b);
        if (later < steps) bring(shared + later % STAGES * STAGE_BYTES, next);
        asm volatile("cp.async.commit_group;" ::: "memory");
        multiply(sums, first);

        next_step();
        const unsigned after = shared + (step + 1) % STAGES * STAGE_BYTES;
        load(first, after + from_a[0], after, from_b); // after the last step nobody uses it
        multiply(sums, second);
    }

    c += (row + warp_row + lane / 4) * n + column + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            float* to = c + (u64)(i * 16) * n + j * 8;
            *(float2*)to = make_float2(sums[i][j][0], sums[i][j][1]);
            *(float2*)(to + 8 * n) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
    }
}
