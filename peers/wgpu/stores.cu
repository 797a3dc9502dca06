// Fills by each kind of store of CUDA's. In: arrays of 256 MiB and 1 GiB, or of as many MiB as are named; out: the median of 100
// launches by events, from which nothing is taken off.
//
// NVIDIA's Vulkan compiles a store of WGSL to `STG.E.128.STRONG.SM`, as is read off the pipeline cache that `memory_of_vulkan --dump`
// keeps; CUDA's compiler makes `STG.E.128` of a plain one. `st.relaxed.cta` is the PTX of the former.
//
//     nvcc -O3 -std=c++17 -arch=sm_90a stores.cu -o stores && ./stores && cuobjdump -sass stores | grep STG

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.cuh"

// One vector of 16 bytes a thread, as the suite's fill.
#define FILL(name, store)                                                                                  \
    __global__ void __launch_bounds__(256) name(float4* y, unsigned vectors, float a)                      \
    {                                                                                                      \
        const unsigned i = blockIdx.x * 256 + threadIdx.x;                                                 \
        if (i < vectors)                                                                                   \
            asm volatile(store " [%0], {%1, %1, %1, %1};" ::"l"(y + i), "f"(a) : "memory");                \
    }

FILL(plain, "st.global.v4.f32")
FILL(relaxed_cta, "st.relaxed.cta.global.v4.f32")
FILL(relaxed_gpu, "st.relaxed.gpu.global.v4.f32")
FILL(relaxed_sys, "st.relaxed.sys.global.v4.f32")
FILL(write_through, "st.global.wt.v4.f32")
FILL(streaming, "st.global.cs.v4.f32")

struct Kind {
    const char* name;
    void (*kernel)(float4*, unsigned, float);
};
static const Kind KINDS[] = {
    {"st", plain},
    {"st.relaxed.cta", relaxed_cta},
    {"st.relaxed.gpu", relaxed_gpu},
    {"st.relaxed.sys", relaxed_sys},
    {"st.wt", write_through},
    {"st.cs", streaming},
    {"st again", plain},
};

static float median(const Kind& kind, float4* y, unsigned vectors)
{
    const int warm_up = 5, launches = 100;
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int launch = 0; launch < warm_up + launches; launch++) {
        CHECK(cudaEventRecord(begin));
        kind.kernel<<<(vectors + 255) / 256, 256>>>(y, vectors, 1.5f);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (launch >= warm_up) times.push_back(1e3f * ms);
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    std::nth_element(times.begin(), times.begin() + launches / 2, times.end());
    return times[launches / 2];
}

int main(int count, char** arguments)
{
    std::vector<size_t> sizes;
    for (int number = 1; number < count; number++) sizes.push_back(strtoull(arguments[number], nullptr, 10));
    if (sizes.empty()) sizes = {256, 1024};
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("%s, medians of 100 in us by events\n\n%-16s", device.name, "fill of");
    for (size_t size : sizes) printf("%9zu MiB", size);
    puts("");
    std::vector<float4*> arrays(sizes.size());
    for (size_t at = 0; at < sizes.size(); at++) CHECK(cudaMalloc(&arrays[at], sizes[at] << 20));
    for (const Kind& kind : KINDS) {
        printf("%-16s", kind.name);
        for (size_t at = 0; at < sizes.size(); at++) printf("%13.2f", median(kind, arrays[at], (sizes[at] << 20) / 16));
        puts("");
    }
    for (float4* array : arrays) CHECK(cudaFree(array));
}
