// The time of the GPU's `%globaltimer` in nanoseconds.

static __device__ u64 now()
{
    u64 time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
    return time;
}
