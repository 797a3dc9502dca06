// Launches that do nothing, with parameters as those of many kernels. A file of its own, so that it can be loaded several times: each copy
// of the code lies elsewhere.

extern "C" __global__ void gpubench_empty(const void*, const void*, unsigned*, unsigned long long) {}

// Looks at a parameter, which is zero, so that it never writes.
extern "C" __global__ void gpubench_empty_reads(const void*, const void*, unsigned* out, unsigned long long n) {
    if (n != 0) *out = 0;
}
