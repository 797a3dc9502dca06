// Reads and writes in other balances than a copy's: each thread reads R vectors of 16 bytes and writes W.
// In: x with R vectors a thread, and how many threads there are to be, any number. Out: y with W vectors a thread: the sum s
// of what was read, word by word and modulo 2³², plus k in its k-th vector; where nothing is read, s is the thread's number.
// Where nothing is to be written, a thread writes only if the low 12 bits of its sum's first word are 0, at its own place.
//
// A block's vectors lie together, all R or W of its threads, so that reads and writes stay as close as those of `copy`.

typedef unsigned long long u64;
typedef unsigned u32;

static __device__ uint4 plus(uint4 a, uint4 b) { return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
static __device__ uint4 splat(u32 word) { return make_uint4(word, word, word, word); }

template <int R, int W>
static __device__ void mix(const uint4* x, uint4* y, u64 threads)
{
    const u64 first = (u64)blockIdx.x * blockDim.x, thread = first + threadIdx.x;
    if (thread >= threads) return;
    // The last block may have fewer.
    const u64 stride = threads - first < blockDim.x ? threads - first : blockDim.x;
    uint4 sum = splat(R > 0 ? 0 : (u32)thread);
#pragma unroll
    for (int k = 0; k < R; k++) sum = plus(sum, x[first * R + k * stride + threadIdx.x]);
#pragma unroll
    for (int k = 0; k < W; k++) y[first * W + k * stride + threadIdx.x] = plus(sum, splat(k));
    if (W == 0 && sum.x % 4096 == 0) y[thread] = sum;
}

#define MIX(R, W) \
    extern "C" __global__ void __launch_bounds__(256) mix_##R##_##W(const uint4* x, uint4* y, u64 threads) \
    { \
        mix<R, W>(x, y, threads); \
    }

MIX(1, 0)
MIX(7, 1)
MIX(5, 1)
MIX(3, 1)
MIX(2, 1)
MIX(3, 2)
MIX(1, 1)
MIX(2, 3)
MIX(1, 2)
MIX(1, 3)
MIX(1, 5)
MIX(1, 7)
MIX(0, 1)
