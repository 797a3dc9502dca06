// Kernels that treat every element alike: copy, fill, rmw, saxpy, vector_add; and empty, which does nothing.
// In: arrays aligned to 16 bytes and their number of elements n, any n. Out: the last array named.
//
// Each thread moves 16 bytes at a time, and loads a batch of such vectors before it stores the first, so that enough
// bytes are under way to fill the memory's latency: 128 KiB a multiprocessor with 1024 threads. What holds the batch
// together is that x and y might overlap as far as the compiler knows. With __restrict__ or __ldg, it moves loads behind
// stores to save registers. Loads and stores have the default cache policy: an array that fits the L2 is to be found
// there by the next launch. Any grid of blocks of at most 256 threads will do.

typedef unsigned long long u64;

static __device__ u64 thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ u64 threads() { return (u64)gridDim.x * blockDim.x; }

// v[k] ← x[first + k·stride], as far as x goes
template <int BATCH, typename Vector>
static __device__ void load(Vector (&v)[BATCH], const Vector* x, u64 first, u64 stride, u64 vectors)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        const u64 i = first + k * stride;
        if (i < vectors) v[k] = x[i];
    }
}

// x[first + k·stride] ← v[k], as far as x goes
template <int BATCH, typename Vector>
static __device__ void store(Vector* x, const Vector (&v)[BATCH], u64 first, u64 stride, u64 vectors)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        const u64 i = first + k * stride;
        if (i < vectors) x[i] = v[k];
    }
}

// The index of this thread's element after the last whole vector, beyond n for most: there are fewer than a warp has
// threads.
static __device__ u64 rest(u64 vectors, int width) { return width * vectors + thread(); }

// y ← x
extern "C" __global__ void __launch_bounds__(256) copy(const float* x, float* y, u64 n)
{
    const int batch = 8;
    const u64 vectors = n / 4, stride = threads();
    for (u64 first = thread(); first < vectors; first += batch * stride) {
        float4 v[batch];
        load(v, (const float4*)x, first, stride, vectors);
        store((float4*)y, v, first, stride, vectors);
    }
    const u64 i = rest(vectors, 4);
    if (i < n) y[i] = x[i];
}

// y ← a in every element
extern "C" __global__ void __launch_bounds__(256) fill(float a, float* y, u64 n)
{
    const float4 v = make_float4(a, a, a, a);
    const u64 vectors = n / 4, stride = threads();
#pragma unroll 4
    for (u64 i = thread(); i < vectors; i += stride) ((float4*)y)[i] = v;
    const u64 i = rest(vectors, 4);
    if (i < n) y[i] = a;
}

// x ← x + a, in place
extern "C" __global__ void __launch_bounds__(256) rmw(float a, float* x, u64 n)
{
    const int batch = 8;
    const u64 vectors = n / 4, stride = threads();
    for (u64 first = thread(); first < vectors; first += batch * stride) {
        float4 v[batch];
        load(v, (const float4*)x, first, stride, vectors);
#pragma unroll
        for (int k = 0; k < batch; k++) v[k] = make_float4(v[k].x + a, v[k].y + a, v[k].z + a, v[k].w + a);
        store((float4*)x, v, first, stride, vectors);
    }
    const u64 i = rest(vectors, 4);
    if (i < n) x[i] += a;
}

// y ← a·x + y, rounded once
extern "C" __global__ void __launch_bounds__(256) saxpy(float a, const float* x, float* y, u64 n)
{
    const int batch = 4;
    const u64 vectors = n / 4, stride = threads();
    for (u64 first = thread(); first < vectors; first += batch * stride) {
        float4 v[batch], w[batch];
        load(v, (const float4*)x, first, stride, vectors);
        load(w, (const float4*)y, first, stride, vectors);
#pragma unroll
        for (int k = 0; k < batch; k++) {
            w[k] = make_float4(fmaf(a, v[k].x, w[k].x), fmaf(a, v[k].y, w[k].y), fmaf(a, v[k].z, w[k].z),
                               fmaf(a, v[k].w, w[k].w));
        }
        store((float4*)y, w, first, stride, vectors);
    }
    const u64 i = rest(vectors, 4);
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

// c ← a + b
extern "C" __global__ void __launch_bounds__(256) vector_add(const double* a, const double* b, double* c, u64 n)
{
    const int batch = 4;
    const u64 vectors = n / 2, stride = threads();
    for (u64 first = thread(); first < vectors; first += batch * stride) {
        double2 v[batch], w[batch];
        load(v, (const double2*)a, first, stride, vectors);
        load(w, (const double2*)b, first, stride, vectors);
#pragma unroll
        for (int k = 0; k < batch; k++) v[k] = make_double2(v[k].x + w[k].x, v[k].y + w[k].y);
        store((double2*)c, v, first, stride, vectors);
    }
    const u64 i = rest(vectors, 2);
    if (i < n) c[i] = a[i] + b[i];
}

// Nothing: what remains is the cost of a launch.
extern "C" __global__ void empty() {}
