// c ← a · b for square matrices of bf16, on tensor cores, with sums and results in f32: each launch reads 4 n² bytes,
// writes 4 n² and does 2 n³ operations. In: row-major matrices, aligned to 16 bytes, n a multiple of the tile's sides. Out:
// every element of c. `mma.sync` and asynchronous copies are of compute capability 8.0.
//
// Hopper's own `wgmma` was tried with the same copies and tiles: for n = 4096 it takes 5 % less (265 µs for 279), since tiles
// of 128 × 256 wait for what they read through the L2. More would take copies to several blocks at once (TMA).

typedef unsigned long long u64;
typedef unsigned short bf16; // its bits

// So many rows of tiles are walked column by column, so that what runs at once shares its operands in the L2.
const unsigned GROUP = 8;

static __device__ void copy_async(unsigned to, const bf16* from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// A kernel's sizes: a block makes a tile of ROWS × COLUMNS elements of c, a warp of it WARP_ROWS × WARP_COLUMNS; a step takes DEPTH
// of k, and STAGES steps are under way.
template <int ROWS, int COLUMNS, int DEPTH, int STAGES, int WARP_ROWS, int WARP_COLUMNS>
struct Tile {
    static const int WARPS_ACROSS = COLUMNS / WARP_COLUMNS, THREADS = ROWS / WARP_ROWS * WARPS_ACROSS * 32;
    // Bytes of a step's operands.
    static const int A_BYTES = ROWS * DEPTH * 2, STAGE_BYTES = A_BYTES + DEPTH * COLUMNS * 2;
    // Vectors of 16 bytes in a row of a and of b, the rows that all threads bring in at once, and how often they do.
    static const int A_ROW = DEPTH / 8, B_ROW = COLUMNS / 8, A_AT_ONCE = THREADS / A_ROW, B_AT_ONCE = THREADS / B_ROW;
    static const int OF_A = ROWS / A_AT_ONCE, OF_B = DEPTH / B_AT_ONCE;
    // Steps of 16 in k, and what a warp multiplies in one: 16 rows of a, and 8 columns of b.
    static const int PARTS = DEPTH / 16, HEIGHT = WARP_ROWS / 16, WIDTH = WARP_COLUMNS / 8;

    // The vectors that a thread brings in for each step.
    struct Incoming {
        const bf16 *a, *b;
        unsigned to_a, to_b; // where a thread's first vectors go in a stage
        unsigned width;
    };

    // Begins to bring in the next step's operands.
    static __device__ void bring(unsigned stage, Incoming& next)
    {
#pragma unroll
        for (int i = 0; i < OF_A; i++) {
            copy_async(stage + next.to_a + i * A_AT_ONCE * DEPTH * 2, next.a + (u64)(i * A_AT_ONCE) * next.width);
        }
#pragma unroll
        for (int i = 0; i < OF_B; i++) {
            // The place within a row depends on the row's number among eight.
            const unsigned turned = i * B_AT_ONCE % 8 << 4;
            copy_async(stage + (next.to_b ^ turned) + i * B_AT_ONCE * COLUMNS * 2, next.b + (u64)(i * B_AT_ONCE) * next.width);
        }
        next.a += DEPTH;
        next.b += (u64)DEPTH * next.width;
    }

    struct Operands {
        unsigned x[HEIGHT][4], y[WIDTH][2];
    };

    // Loads what is multiplied in one part, from shared memory: each lane names rows of 16 bytes.
    static __device__ void load(Operands& operands, unsigned a, unsigned b, const unsigned (&columns)[WIDTH / 2])
    {
#pragma unroll
        for (int i = 0; i < HEIGHT; i++) {
            unsigned* x = operands.x[i];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(a + i * 16 * DEPTH * 2)
                         : "memory");
        }
#pragma unroll
        for (int j = 0; j < WIDTH / 2; j++) {
            unsigned *left = operands.y[2 * j], *right = operands.y[2 * j + 1];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(left[0]), "=r"(left[1]), "=r"(right[0]), "=r"(right[1])
                         : "r"(b + columns[j])
                         : "memory");
        }
    }

    static __device__ void multiply(float (&sums)[HEIGHT][WIDTH][4], const Operands& operands)
    {
#pragma unroll
        for (int i = 0; i < HEIGHT; i++) {
#pragma unroll
            for (int j = 0; j < WIDTH; j++) {
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

    static __device__ void product(const bf16* __restrict__ a, const bf16* __restrict__ b, float* __restrict__ c, u64 n)
    {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned shared = (unsigned)__cvta_generic_to_shared(memory), width = (unsigned)n;
        const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
        const unsigned warp_row = warp / WARPS_ACROSS * WARP_ROWS, warp_column = warp % WARPS_ACROSS * WARP_COLUMNS;

        const unsigned tile_rows = width / ROWS, tile_columns = width / COLUMNS;
        const unsigned group = blockIdx.x / (GROUP * tile_columns), left = tile_rows - group * GROUP;
        const unsigned height = left < GROUP ? left : GROUP, within = blockIdx.x % (GROUP * tile_columns);
        const u64 row = (u64)(group * GROUP + within % height) * ROWS, column = (u64)(within / height) * COLUMNS;

        // In shared memory 16 bytes are moved within their row, so that the eight rows that `ldmatrix` reads at once fall into
        // different banks: in rows of 64 bytes by half their number, in longer ones by their number.
        const unsigned a_row = thread / A_ROW, b_row = thread / B_ROW;
        Incoming next;
        next.a = a + (row + a_row) * n + thread % A_ROW * 8;
        next.b = b + b_row * n + column + thread % B_ROW * 8;
        const unsigned a_turn = DEPTH == 32 ? a_row / 2 % 4 : a_row % 8;
        next.to_a = a_row * DEPTH * 2 + (((thread % A_ROW) ^ a_turn) << 4);
        next.to_b = A_BYTES + b_row * COLUMNS * 2 + (((thread % B_ROW) ^ (b_row % 8)) << 4);
        next.width = width;
        // Where a warp's operands begin: each of its lanes names a row of 16 bytes.
        const unsigned turn = DEPTH == 32 ? lane % 16 / 2 % 4 : lane % 8;
        unsigned from_a[PARTS], from_b[WIDTH / 2];
#pragma unroll
        for (unsigned k = 0; k < PARTS; k++) {
            from_a[k] = (warp_row + lane % 16) * DEPTH * 2 + (((k * 2 + lane / 16) ^ turn) << 4);
        }
#pragma unroll
        for (unsigned j = 0; j < WIDTH / 2; j++) {
            from_b[j] = A_BYTES + lane % 16 * COLUMNS * 2 + (((warp_column / 8 + j * 2 + lane / 16) ^ (lane % 8)) << 4);
        }

        const unsigned steps = width / DEPTH;
#pragma unroll
        for (unsigned step = 0; step < STAGES - 1; step++) {
            if (step < steps) bring(shared + step * STAGE_BYTES, next);
            asm volatile("cp.async.commit_group;" ::: "memory");
        }

        float sums[HEIGHT][WIDTH][4] = {};
        Operands operands[2];
        next_step();
        load(operands[0], shared + from_a[0], shared, from_b);
        for (unsigned step = 0; step < steps; step++) {
            const unsigned stage = shared + step % STAGES * STAGE_BYTES, later = step + STAGES - 1;
            const unsigned after = shared + (step + 1) % STAGES * STAGE_BYTES;
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                // What is multiplied next is loaded meanwhile. After the last step nobody uses it.
                Operands& coming = operands[(part + 1) % 2];
                if (part + 1 < PARTS) {
                    load(coming, stage + from_a[part + 1], stage + (part + 1) * 16 * COLUMNS * 2, from_b);
                } else {
                    next_step();
                    load(coming, after + from_a[0], after, from_b);
                }
                if (part == 0) {
                    if (later < steps) bring(shared + later % STAGES * STAGE_BYTES, next);
                    asm volatile("cp.async.commit_group;" ::: "memory");
                }
                multiply(sums, operands[part % 2]);
            }
        }

        c += (row + warp_row + lane / 4) * n + column + warp_column + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < HEIGHT; i++) {
#pragma unroll
            for (int j = 0; j < WIDTH; j++) {
                float* to = c + (u64)(i * 16) * n + j * 8;
                *(float2*)to = make_float2(sums[i][j][0], sums[i][j][1]);
                *(float2*)(to + 8 * n) = make_float2(sums[i][j][2], sums[i][j][3]);
            }
        }
    }
};

// A kernel of this name with these sizes.
#define KERNEL(name, ...)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(Tile<__VA_ARGS__>::THREADS, 1)                                             \
    name(const bf16* __restrict__ a, const bf16* __restrict__ b, float* __restrict__ c, u64 n)                              \
    {                                                                                                                        \
        Tile<__VA_ARGS__>::product(a, b, c, n);                                                                              \
    }

// The best of 138 variants on an H200: where the large tiles fill the multiprocessors, where medium ones do, and for the rest.
KERNEL(matmul_tensor, 128, 256, 32, 4, 64, 64)
KERNEL(matmul_tensor_medium, 128, 128, 64, 3, 64, 64)
KERNEL(matmul_tensor_small, 64, 64, 64, 4, 64, 32)
