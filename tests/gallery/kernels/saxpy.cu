// y ← a·x + y, one element a thread
extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned long long n)
{
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
