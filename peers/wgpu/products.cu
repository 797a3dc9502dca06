// CUDA's counterpart of src/bin/products.rs: the suite's shaders of products, translated line by line, in blocks of two sizes. In: n, a
// multiple of 32; out: medians of 30 launches in us, by events around each, with the GPU idle before it.
//
//     nvcc -O3 -std=c++17 -arch=sm_90a products.cu -o products && ./products 2048

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.cuh"

static const int LAUNCHES = 30, WARM_UP = 2;

__global__ void input(float* x, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (i % 1021u) / 1021.0f;
}

template <unsigned SIDE>
__global__ void __launch_bounds__(SIDE * SIDE) naive(float* c, const float* __restrict__ a, const float* __restrict__ b, unsigned n)
{
    const unsigned x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    if (x >= n || y >= n) return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++) sum = fmaf(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}

template <unsigned SIDE>
__global__ void __launch_bounds__(SIDE * SIDE) tiled(float* c, const float* __restrict__ a, const float* __restrict__ b, unsigned n)
{
    __shared__ float of_a[SIDE][SIDE], of_b[SIDE][SIDE];
    const unsigned i = threadIdx.x, j = threadIdx.y, x = blockIdx.x * SIDE + i, y = blockIdx.y * SIDE + j;
    float sum = 0;
    for (unsigned first = 0; first < n; first += SIDE) {
        const unsigned column = first + i, row = first + j;
        of_a[j][i] = column < n ? a[min(y, n - 1) * n + min(column, n - 1)] : 0.0f;
        of_b[j][i] = row < n ? b[min(row, n - 1) * n + min(x, n - 1)] : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < SIDE; k++) sum = fmaf(of_a[j][k], of_b[k][i], sum);
        __syncthreads();
    }
    if (x < n && y < n) c[y * n + x] = sum;
}

typedef void (*Product)(float*, const float*, const float*, unsigned);

int main(int argc, char** argv)
{
    const unsigned n = argc > 1 ? atoi(argv[1]) : 2048;
    if (n == 0 || n % 32 != 0) {
        fprintf(stderr, "n is a multiple of 32\n");
        return 1;
    }
    float *c, *a, *b;
    const size_t bytes = 4ull * n * n;
    CHECK(cudaMalloc(&c, bytes));
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    input<<<n * n / 256, 256>>>(a, n * n);
    input<<<n * n / 256, 256>>>(b, n * n);
    CHECK(cudaGetLastError());
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    printf("Products of f32, n = %u; medians of %d, in us\n\n", n, LAUNCHES);
    const struct { const char* name; Product product; unsigned side; } products[] = {
        {"naive, 16 x 16", naive<16>, 16}, {"naive, 32 x 32", naive<32>, 32},
        {"tiled, 16 x 16", tiled<16>, 16}, {"tiled, 32 x 32", tiled<32>, 32},
    };
    std::vector<float> expected, found(size_t(n) * n);
    for (const auto& one : products) {
        CHECK(cudaMemset(c, 0, bytes));
        std::vector<float> times;
        for (int launch = 0; launch < WARM_UP + LAUNCHES; launch++) {
            CHECK(cudaEventRecord(begin));
            one.product<<<dim3(n / one.side, n / one.side), dim3(one.side, one.side)>>>(c, a, b, n);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(end));
            CHECK(cudaDeviceSynchronize());
            float time;
            CHECK(cudaEventElapsedTime(&time, begin, end));
            if (launch >= WARM_UP) times.push_back(1e3f * time);
        }
        CHECK(cudaMemcpy(found.data(), c, bytes, cudaMemcpyDeviceToHost));
        // All of them add the same products in the same order. The last element is a sum of positive ones.
        if (expected.empty()) expected = found;
        if (found.back() <= 0 || memcmp(expected.data(), found.data(), bytes) != 0) {
            fprintf(stderr, "%s: another product\n", one.name);
            return 1;
        }
        std::sort(times.begin(), times.end());
        printf("%-24s%12.1f\n", one.name, times[times.size() / 2]);
    }
    return 0;
}
