// Inputs, made where they are needed.
// Random ones: in, a seed and a number of elements; out, element i of the array is `inputs::element(seed, i)` of the crate,
// to the last bit: SplitMix64 in integers, and 24 bits of it as a fraction. As u32, these 24 bits are all of it.
// A cycle: in, a number of lines of 128 bytes, a power of two; out, each begins with 16 times `inputs::next_line` of its
// number, which is where that line begins, in words.

typedef unsigned long long u64;

// The random bits of element `index`, of which 24 are left.
static __device__ unsigned bits(u64 seed, u64 index)
{
    u64 z = (seed + index + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return (unsigned)(z >> 40);
}

template <typename T>
static __device__ void random(T* y, u64 n, u64 seed)
{
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = (T)bits(seed, i) / (T)(1u << 24); // exact
    }
}

extern "C" __global__ void __launch_bounds__(256) random_f32(float* y, u64 n, u64 seed) { random(y, n, seed); }
extern "C" __global__ void __launch_bounds__(256) random_f64(double* y, u64 n, u64 seed) { random(y, n, seed); }
extern "C" __global__ void __launch_bounds__(256) random_u32(unsigned* y, u64 n, u64 seed)
{
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = bits(seed, i);
}

// A linear congruential generator of full period (Hull & Dobell 1962), with the multiplier of Knuth's MMIX.
extern "C" __global__ void __launch_bounds__(256) cycle(u64* y, u64 lines)
{
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += stride) {
        y[16 * i] = 16 * ((6364136223846793005ull * i + 1442695040888963407ull) & (lines - 1));
    }
}

// The same in bf16, as its bits: the upper half of an f32.
extern "C" __global__ void __launch_bounds__(256) random_bf16(unsigned short* y, u64 n, u64 seed)
{
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = (unsigned short)(__float_as_uint((float)bits(seed, i) / (1u << 24)) >> 16);
    }
}
