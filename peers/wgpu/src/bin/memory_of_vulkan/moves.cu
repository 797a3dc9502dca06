// The source of moves.ptx, whose version is then set to 7.8, so that older drivers take it:
// nvcc -O3 -arch=compute_80 -ptx moves.cu && sed -i 's/^\.version .*/.version 7.8/' moves.ptx

extern "C" __global__ void __launch_bounds__(256) fill(float4* y, const float4* x, float4* result, unsigned vectors)
{
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i < vectors) y[i] = make_float4(1.5f, 1.5f, 1.5f, 1.5f);
}

extern "C" __global__ void __launch_bounds__(256) differ(float4* y, const float4* x, float4* result, unsigned vectors)
{
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    const float v = __uint_as_float(i * 2654435761u);
    if (i < vectors) y[i] = make_float4(v, v, v, v);
}

extern "C" __global__ void __launch_bounds__(256) read(float4* y, const float4* x, float4* result, unsigned vectors)
{
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i >= vectors) return;
    const float4 v = x[i];
    // Never true of what the fills write; the compiler does not know.
    if (v.x == 1 && v.y == 2 && v.z == 3 && v.w == 5) *result = v;
}

extern "C" __global__ void __launch_bounds__(256) copy(float4* y, const float4* x, float4* result, unsigned vectors)
{
    const unsigned i = blockIdx.x * 256 + threadIdx.x;
    if (i < vectors) y[i] = x[i];
}
