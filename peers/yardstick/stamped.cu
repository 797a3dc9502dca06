// Instrumented copies of kernels that gpubench times. The first thread of each block reads `%globaltimer` when it enters the kernel and
// when all threads of its block are done, and stores both.
// The body of each copy is the original source: it is included with `__global__` redefined.

#undef __global__
#undef __launch_bounds__
#define __global__ __device__ __forceinline__
#define __launch_bounds__(...)
namespace elementwise {
#include "../../gpubench-kernels/cuda/elementwise.cu"
}
namespace reduction {
#include "../../gpubench-kernels/cuda/reduction.cu"
}
namespace transposes {
#include "../../gpubench-kernels/cuda/transpose.cu"
}
namespace bodies {
#include "../../gpubench-kernels/cuda/nbody.cu"
}
namespace unseen {
#include "../../examples/unseen/kernels.cu"
}
#undef __global__
#undef __launch_bounds__
#define __global__ __attribute__((global))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef unsigned int u32;
typedef unsigned long long u64;

#include "now.cuh"

static __device__ bool first() { return threadIdx.x + threadIdx.y == 0; }

static __device__ void store(ulonglong2* stamps, u64 entered)
{
    __syncthreads();
    const u64 block = (blockIdx.z * (u64)gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (first()) stamps[block] = make_ulonglong2(entered, now());
}

#define STAMPED(kernel, bounds, parameters, arguments)                                  \
    extern "C" __global__ void __launch_bounds__ bounds stamped_##kernel parameters     \
    {                                                                                   \
        const u64 entered = first() ? now() : 0;                                        \
        kernel arguments;                                                               \
        store(stamps, entered);                                                         \
    }

using elementwise::copy;
using elementwise::empty;
using elementwise::fill;
using elementwise::rmw;
using elementwise::saxpy;
using reduction::dot;
using reduction::sum;
using namespace unseen;

STAMPED(empty, (1024), (ulonglong2* stamps), ())
STAMPED(copy, (256), (const float* x, float* y, u64 n, ulonglong2* stamps), (x, y, n))
STAMPED(fill, (256), (float a, float* y, u64 n, ulonglong2* stamps), (a, y, n))
STAMPED(rmw, (256), (float a, float* x, u64 n, ulonglong2* stamps), (a, x, n))
STAMPED(saxpy, (256), (float a, const float* x, float* y, u64 n, ulonglong2* stamps), (a, x, y, n))
STAMPED(sum, (512, 2), (const float* x, u64 n, u64* slots, double* total, ulonglong2* stamps), (x, n, slots, total))
STAMPED(dot, (512, 2), (const float* x, const float* y, u64 n, u64* slots, double* total, ulonglong2* stamps), (x, y, n, slots, total))
STAMPED(gather, (256), (const float* x, const u32* at, float* y, u64 n, ulonglong2* stamps), (x, at, y, n))
STAMPED(scatter, (256), (const float* x, const u32* at, float* y, u64 n, ulonglong2* stamps), (x, at, y, n))
STAMPED(strided, (256), (const float* x, float* y, u64 n, ulonglong2* stamps), (x, y, n))
STAMPED(laplace, (256), (const float* x, float* y, u32 side, ulonglong2* stamps), (x, y, side))
STAMPED(scan, (1024), (const u32* x, u32* y, ulonglong2* stamps), (x, y))
STAMPED(sort, (1024), (const u32* x, u32* y, ulonglong2* stamps), (x, y))
STAMPED(mandelbrot, (256), (u32* steps, u32 side, ulonglong2* stamps), (steps, side))
STAMPED(sparse, (256), (const float* a, const u32* columns, const float* x, float* y, u64 rows, ulonglong2* stamps), (a, columns, x, y, rows))
STAMPED(dense, (256), (const float* a, const float* x, float* y, u32 n, ulonglong2* stamps), (a, x, y, n))
STAMPED(softmax_rows, (1024), (const float* x, float* y, ulonglong2* stamps), (x, y))
STAMPED(horner, (128), (const double* x, double* y, u64 n, ulonglong2* stamps), (x, y, n))
STAMPED(count, (256), (const u32* at, u32* counts, u64 n, u32 bins, ulonglong2* stamps), (at, counts, n, bins))
STAMPED(walk, (32), (const u32* next, u32* last, u32 steps, u32 n, ulonglong2* stamps), (next, last, steps, n))

namespace transposes_stamped {
using transposes::transpose_tiled;
STAMPED(transpose_tiled, (256), (const float* x, float* y, u64 n, ulonglong2* stamps), (x, y, n))
}
namespace bodies_stamped {
using bodies::nbody;
STAMPED(nbody, (256), (const float4* bodies, float4* accelerations, u64 n, float softening, ulonglong2* stamps), (bodies, accelerations, n, softening))
}
