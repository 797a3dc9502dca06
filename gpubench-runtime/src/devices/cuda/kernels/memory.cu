// Looks at memory of any kind that a device can read, to see what a launch changed, and changes it to see what a launch
// writes again. In and out: see each. Both take memory that begins and ends anywhere, and any grid of blocks of 256 threads.

typedef unsigned u32;
typedef unsigned long long u64;

// What a thread takes at once, and a warp.
static const u64 VECTOR = 16;
static const u64 ROW = 32 * VECTOR;

static __device__ u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ u64 threads() { return (u64)gridDim.x * blockDim.x; }

// The 16 bytes at `at`, a multiple of 16, with zeros for those before `start` and from `end` on, which are not touched.
static __device__ uint4 vector_at(u64 at, u64 start, u64 end)
{
    if (at >= start && at + VECTOR <= end) return *(const uint4*)at;
    u64 low = 0, high = 0;
#pragma unroll 1
    for (int byte = 0; byte < 16; byte++) {
        const u64 place = at + byte;
        if (place < start || place >= end) continue;
        const u64 value = (u64) * (const unsigned char*)place << (8 * (byte % 8));
        if (byte < 8) low |= value;
        else high |= value;
    }
    return make_uint4((u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32));
}

// A sum over all 16 bytes of a block in which each place counts otherwise: of two contents it differs, but for one chance
// in 2^32 (NH of Black, Halevi, Krawczyk, Krovetz & Rogaway 1999, with keys that follow from the place).
static __device__ u64 hashed(uint4 v, u32 place)
{
    const u32 key = place * 0x9e3779b9u + 0x7f4a7c15u;
    return (u64)(v.x + key) * (v.y + (key ^ 0x85ebca6bu)) + (u64)(v.z + (key ^ 0xc2b2ae35u)) * (v.w + ~key);
}

// Takes a fingerprint of each `block` bytes, a power of two from 512 on, of the `bytes` from `start`. Without `changed` it
// goes to `prints`, one word a block. With it, `*changed` grows by the bytes of each block whose fingerprint is not the one
// in `prints`.
extern "C" __global__ void __launch_bounds__(256)
gpubench_fingerprint(u64 start, u64 bytes, u64 block, u64* prints, u64* changed)
{
    const u64 end = start + bytes, base = start & ~(VECTOR - 1);
    const u64 blocks = (end - base + block - 1) / block;
    const u64 lane = threadIdx.x % 32;
    for (u64 b = thread() / 32; b < blocks; b += threads() / 32) {
        const u64 first = base + b * block, last = first + block < end ? first + block : end;
        u64 print = 0;
        u32 place = (u32)lane;
        for (u64 at = first + lane * VECTOR; at < last; at += ROW, place += 32) {
            print += hashed(vector_at(at, start, end), place);
        }
        for (int other = 16; other > 0; other /= 2) print += __shfl_xor_sync(0xffffffffu, print, other);
        if (lane > 0) continue;
        if (!changed) {
            prints[b] = print;
        } else if (prints[b] != print) {
            atomicAdd(changed, last - (first < start ? start : first));
        }
    }
}

// Turns every bit of the `bytes` from `start`. Twice is as before.
extern "C" __global__ void __launch_bounds__(256) gpubench_complement(u64 start, u64 bytes)
{
    const u64 end = start + bytes, base = start & ~(VECTOR - 1);
    for (u64 at = base + thread() * VECTOR; at < end; at += threads() * VECTOR) {
        if (at >= start && at + VECTOR <= end) {
            const uint4 v = *(const uint4*)at;
            *(uint4*)at = make_uint4(~v.x, ~v.y, ~v.z, ~v.w);
        } else {
            for (u64 place = at < start ? start : at; place < at + VECTOR && place < end; place++) {
                *(unsigned char*)place ^= 0xff;
            }
        }
    }
}
