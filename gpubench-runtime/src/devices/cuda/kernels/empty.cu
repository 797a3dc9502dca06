// A launch that does nothing. A file of its own, so that it can be loaded several times: each copy of the code lies elsewhere.

extern "C" __global__ void gpubench_empty() {}
