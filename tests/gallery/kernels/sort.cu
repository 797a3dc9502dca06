// Sorts each 256 elements of x in place by exchanging neighbours, in at most this number of phases. A sorted block is done
// after two. n is a multiple of 256.
extern "C" __global__ void sort_blocks(float* x, unsigned long long n, unsigned phases)
{
    __shared__ float block[256];
    unsigned i = threadIdx.x;
    unsigned long long at = (unsigned long long)blockIdx.x * 256 + i;
    if (at >= n) return;
    block[i] = x[at];
    __syncthreads();
    for (unsigned phase = 0; phase < phases && phase < 256; phase += 2) {
        bool swapped = false;
        for (unsigned odd = 0; odd < 2; odd++) {
            if (i % 2 == odd && i < 255 && block[i] > block[i + 1]) {
                float larger = block[i];
                block[i] = block[i + 1];
                block[i + 1] = larger;
                swapped = true;
            }
            __syncthreads();
        }
        if (!__syncthreads_or(swapped)) break;
    }
    x[at] = block[i];
}
