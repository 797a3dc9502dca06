// CUDA's counterpart of src/bin/variants.rs: fill, read and copy of the suite's shape with one difference at a time, and on memory of
// several kinds. In: sizes in MiB; out: a table of medians in us, by events around each launch, with the GPU idle before it.
//
// nvcc -O3 -std=c++17 -arch=sm_90a variants.cu -l:libcuda.so.1 -o variants-cuda && ./variants-cuda [launches] [MiB ...]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

typedef unsigned long long u64;
enum Work { FILL, READ, COPY };

static const int SMS = 132;

static void check(int code, const char* what)
{
    if (code == 0) return;
    printf("%s: error %d\n", what, code);
    exit(1);
}

// The suite's own kernels, of gpubench-kernels/cuda/elementwise.cu.
extern "C" __global__ void __launch_bounds__(256) suite_fill(float a, float* y, u64 n)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, vectors = n / 4, rest = 4 * vectors + i;
    if (i < vectors) ((float4*)y)[i] = make_float4(a, a, a, a);
    if (rest < n) y[rest] = a;
}
extern "C" __global__ void __launch_bounds__(256) suite_copy(const float* x, float* y, u64 n)
{
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, vectors = n / 4, rest = 4 * vectors + i;
    if (i < vectors) ((float4*)y)[i] = ((const float4*)x)[i];
    if (rest < n) y[rest] = x[rest];
}

// One step of a thread, from vector i on. Loads stand before stores.
template <Work WORK, int VECTORS, bool DIFFER>
static __device__ void step(float4* y, const float4* x, unsigned i, float a, float4& sum)
{
    float4 v[VECTORS];
    if (WORK != FILL) {
#pragma unroll
        for (int k = 0; k < VECTORS; k++) v[k] = x[i + k * blockDim.x];
    }
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        const unsigned at = i + k * blockDim.x;
        const float other = __uint_as_float(at * 2654435761u);
        if (WORK == FILL) y[at] = DIFFER ? make_float4(other, other, other, other) : make_float4(a, a, a, a);
        if (WORK == COPY) y[at] = v[k];
        if (WORK == READ) sum.x += v[k].x, sum.y += v[k].y, sum.z += v[k].z, sum.w += v[k].w;
    }
}

// Blocks in rows of gridDim.x, as the suite launches them by wgpu, once over the array or striding.
template <Work WORK, int VECTORS, bool STRIDING, bool DIFFER>
__global__ void move(float4* y, const float4* x, float4* result, unsigned vectors, float a)
{
    float4 sum = make_float4(0, 0, 0, 0);
    const unsigned tile = VECTORS * blockDim.x, last = (VECTORS - 1) * blockDim.x;
    unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * tile + threadIdx.x;
    if (STRIDING) {
        for (; i + last < vectors; i += gridDim.x * tile) step<WORK, VECTORS, DIFFER>(y, x, i, a, sum);
    } else if (i + last < vectors) {
        step<WORK, VECTORS, DIFFER>(y, x, i, a, sum);
    }
    // Never true of what the fills write; the compiler does not know.
    if (WORK == READ && sum.x == 1 && sum.y == 2 && sum.z == 3 && sum.w == 5) *result = sum;
}

struct Memory {
    float4 *y, *x, *result;
    u64 size;
};

static int launches = 100;

// The median time of a launch, in us.
template <typename Launch> static double time_of(Launch launch)
{
    static cudaEvent_t events[2];
    if (!events[0]) for (auto& event : events) check(cudaEventCreate(&event), "an event");
    std::vector<float> times;
    for (int at = -2; at < launches; at++) {
        float ms = 0;
        cudaEventRecord(events[0]);
        launch();
        cudaEventRecord(events[1]);
        check(cudaEventSynchronize(events[1]), "a launch");
        check(cudaEventElapsedTime(&ms, events[0], events[1]), "a time");
        if (at >= 0) times.push_back(ms * 1e3f);
    }
    check(cudaGetLastError(), "a launch");
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

template <Work WORK, int VECTORS, bool STRIDING, bool DIFFER>
static double time_of_shape(const Memory& m, int width, unsigned groups, unsigned row)
{
    const u64 vectors = m.size / 16;
    const u64 needed = STRIDING ? groups : (vectors + (u64)VECTORS * width - 1) / ((u64)VECTORS * width);
    const unsigned x = (unsigned)std::min<u64>(needed, row);
    const dim3 grid(x, (unsigned)((needed + x - 1) / x));
    return time_of([&] { move<WORK, VECTORS, STRIDING, DIFFER><<<grid, width>>>(m.y, m.x, m.result, (unsigned)vectors, 1.5f); });
}

template <int VECTORS, bool STRIDING = false, bool DIFFER = false>
static void shape(const char* name, const Memory& m, int width = 256, unsigned groups = 0, unsigned row = 32768)
{
    const double fill = time_of_shape<FILL, VECTORS, STRIDING, DIFFER>(m, width, groups, row);
    const double read = time_of_shape<READ, VECTORS, STRIDING, DIFFER>(m, width, groups, row);
    const double copy = time_of_shape<COPY, VECTORS, STRIDING, DIFFER>(m, width, groups, row);
    printf("%-34s %9.2f %9.2f %9.2f\n", name, fill, read, copy);
}

static void suite(const Memory& m)
{
    const u64 n = m.size / 4;
    const unsigned blocks = (unsigned)((n / 4 + 255) / 256);
    const double fill = time_of([&] { suite_fill<<<blocks, 256>>>(1.5f, (float*)m.y, n); });
    const double copy = time_of([&] { suite_copy<<<blocks, 256>>>((const float*)m.x, (float*)m.y, n); });
    printf("%-34s %9.2f %9s %9.2f\n", "the suite's own kernels", fill, "", copy);
}

// Memory by cuMemCreate, compressible if wanted; null if the GPU has none such.
static float4* create(u64 size, bool compressible)
{
    CUmemAllocationProp kind;
    memset(&kind, 0, sizeof kind);
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (compressible) kind.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    size_t unit = 0;
    if (cuMemGetAllocationGranularity(&unit, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) return nullptr;
    size = (size + unit - 1) / unit * unit;
    CUmemGenericAllocationHandle handle;
    if (cuMemCreate(&handle, size, &kind, 0)) return nullptr;
    CUmemAllocationProp got;
    memset(&got, 0, sizeof got);
    cuMemGetAllocationPropertiesFromHandle(&got, handle);
    if (compressible && got.allocFlags.compressionType != CU_MEM_ALLOCATION_COMP_GENERIC) return nullptr;
    CUdeviceptr at = 0;
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location = kind.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(cuMemAddressReserve(&at, size, 0, 0, 0), "addresses");
    check(cuMemMap(at, size, 0, handle, 0), "a mapping");
    check(cuMemSetAccess(at, size, &access, 1), "access");
    return (float4*)at;
}

// Differing values in x, which a read finds.
static void prepare(const Memory& m)
{
    const unsigned vectors = (unsigned)(m.size / 16), blocks = (vectors + 255) / 256;
    move<FILL, 1, false, true><<<blocks, 256>>>(m.x, nullptr, m.result, vectors, 0);
    check(cudaDeviceSynchronize(), "a fill");
}

static void table(u64 mib)
{
    Memory m = {nullptr, nullptr, nullptr, mib << 20};
    check(cudaMalloc(&m.y, m.size), "memory");
    check(cudaMalloc(&m.x, m.size), "memory");
    check(cudaMalloc(&m.result, 16), "memory");
    prepare(m);
    printf("\n%llu MiB%*s %9s %9s %9s\n", mib, 29 - (mib > 999) - (mib > 99) - (mib > 9), "", "fill", "read", "copy");
    suite(m);
    shape<1>("wgpu's shape", m);
    shape<2>("2 vectors a thread", m);
    shape<4>("4 vectors a thread", m);
    shape<8>("8 vectors a thread", m);
    for (int width : {64, 128, 512, 1024}) {
        char name[40];
        snprintf(name, sizeof name, "%d threads a block", width);
        shape<1>(name, m, width);
    }
    shape<1, true>("132*8 blocks stride", m, 256, SMS * 8);
    shape<1, true>("132*16 blocks stride", m, 256, SMS * 16);
    shape<1, true>("132*32 blocks stride", m, 256, SMS * 32);
    shape<1, true>("1024 blocks stride", m, 256, 1024);
    shape<1>("rows of 1024 blocks", m, 256, 0, 1024);
    shape<1>("rows of 8192 blocks", m, 256, 0, 8192);
    shape<1>("one row", m, 256, 0, 1u << 30);
    shape<1, false, true>("fill's values differ", m);
    shape<4>("4 vectors, 512 threads", m, 512);
    shape<8>("8 vectors, 1024 threads", m, 1024);
    shape<4, true>("4 vectors, 132*8 stride", m, 256, SMS * 8);
    shape<8, true>("8 vectors, 512, 132*4 stride", m, 512, SMS * 4);
    for (bool compressible : {false, true}) {
        const Memory created = {create(m.size, compressible), create(m.size, compressible), m.result, m.size};
        const char* name = compressible ? "cuMemCreate, compressible" : "cuMemCreate";
        if (!created.y || !created.x) {
            printf("%-34s none\n", name);
            continue;
        }
        // Its memory goes back as the program ends.
        prepare(created);
        shape<1>(name, created);
        shape<1, false, true>("  ... fill's values differ", created);
    }
    shape<1>("wgpu's shape again", m);
    check(cudaFree(m.y) | cudaFree(m.x) | cudaFree(m.result), "freeing");
}

int main(int count, char** words)
{
    if (count > 1) launches = std::max(1, atoi(words[1]));
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "a device");
    check(cudaSetDevice(0), "a device");
    int compression = 0;
    cuDeviceGetAttribute(&compression, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0);
    printf("%s, medians of %d in us by events; compressible memory: %s\n", device.name, launches, compression ? "yes" : "no");
    printf("%-34s %9.2f\n", "an empty pair of events", time_of([] {}));
    if (count > 2) {
        for (int at = 2; at < count; at++) table(strtoull(words[at], nullptr, 10));
    } else {
        table(256);
        table(1024);
    }
    return 0;
}
