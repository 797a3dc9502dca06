// Launches of y <- a x + y, as a library in C has them. With a CUDA toolkit, <cuda.h> declares what is declared here.

#include <stddef.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuModuleUnload(CUmodule);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
                        void **);

struct saxpy {
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr x, y;
    size_t n;
};

void saxpy_free(struct saxpy *it)
{
    cuMemFree_v2(it->x);
    cuMemFree_v2(it->y);
    if (it->module) cuModuleUnload(it->module);
}

CUresult saxpy_new(struct saxpy *it, const char *ptx, const float *x, const float *y, size_t n)
{
    *it = (struct saxpy){.n = n};
    CUresult result = cuModuleLoadData(&it->module, ptx);
    if (!result) result = cuModuleGetFunction(&it->kernel, it->module, "saxpy");
    if (!result) result = cuMemAlloc_v2(&it->x, 4 * n);
    if (!result) result = cuMemAlloc_v2(&it->y, 4 * n);
    if (!result) result = cuMemcpyHtoD_v2(it->x, x, 4 * n);
    if (!result) result = cuMemcpyHtoD_v2(it->y, y, 4 * n);
    if (result) saxpy_free(it);
    return result;
}

CUresult saxpy_launch(const struct saxpy *it, float a, CUstream stream)
{
    CUdeviceptr x = it->x, y = it->y;
    unsigned long long n = it->n;
    void *arguments[] = {&a, &x, &y, &n};
    unsigned blocks = (unsigned)((it->n + 1023) / 1024);
    return cuLaunchKernel(it->kernel, blocks, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
}

CUresult saxpy_read(const struct saxpy *it, float *y)
{
    return cuMemcpyDtoH_v2(y, it->y, 4 * it->n);
}
