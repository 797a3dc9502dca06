// Fused multiply-adds on registers, for the ceilings of arithmetic.

typedef unsigned long long u64;

// What operands are made of: bits that differ from thread to thread, since arithmetic on zeros draws less power.
static __device__ unsigned bits(unsigned x)
{
    x = (x ^ x >> 16) * 0x7feb352d;
    x = (x ^ x >> 15) * 0x846ca68b;
    return x ^ x >> 16;
}

// Numbers between 1/2 and 1 of either sign.
static __device__ float as_f32(unsigned b) { return __uint_as_float(0x3f000000 | (b & 0x807fffff)); }
static __device__ double as_f64(unsigned b) { return __hiloint2double(0x3fe00000 | (b & 0x800fffff), bits(b)); }
static __device__ unsigned as_f16x2(unsigned b) { return 0x38003800 | (b & 0x83ff83ff); }
static __device__ unsigned as_bf16x2(unsigned b) { return 0x3f003f00 | (b & 0x807f807f); }
static __device__ unsigned as_tf32(unsigned b) { return 0x3f000000 | (b & 0x807fe000); }

// Instructions of a thread in a step. With 8 that do not wait for one another and the other warps of a multiprocessor,
// none waits for its operands. Counting the steps takes issue slots too: the more a step has, the fewer.
#define CHAINS 8
#define ROUNDS 16

// gpubench_ceiling_NAME(TYPE* out, u64 steps), less than 2^32 of them: each thread does CHAINS * ROUNDS times INSTRUCTION a
// step, x = x a + a, and writes the sum of what came out into its place of `out`. (With a third operand, f64 is held up by
// its registers: 30.7 TFLOP/s on an H200 where this does 33.4.) Any grid of blocks of 256 threads.
#define FUSED_MULTIPLY_ADD(NAME, TYPE, REGISTER, INSTRUCTION, NUMBER)                                                   \
    extern "C" __global__ void __launch_bounds__(256) gpubench_ceiling_##NAME(TYPE* out, u64 steps)                     \
    {                                                                                                                  \
        const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;                                                     \
        const TYPE a = NUMBER(bits(id));                                                                               \
        TYPE x[CHAINS];                                                                                                \
        _Pragma("unroll") for (int c = 0; c < CHAINS; c++) x[c] = NUMBER(bits(CHAINS * id + c));                       \
        _Pragma("unroll 1") for (unsigned step = 0; step < (unsigned)steps; step++) {                                  \
            _Pragma("unroll") for (int round = 0; round < ROUNDS; round++) {                                           \
                _Pragma("unroll") for (int c = 0; c < CHAINS; c++)                                                     \
                    asm volatile(INSTRUCTION " %0, %0, %1, %1;" : "+" REGISTER(x[c]) : REGISTER(a));                   \
            }                                                                                                          \
        }                                                                                                              \
        TYPE sum = x[0];                                                                                               \
        _Pragma("unroll") for (int c = 1; c < CHAINS; c++) sum += x[c];                                                \
        out[id] = sum;                                                                                                 \
    }
