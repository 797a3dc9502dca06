//! The benchmarks of gpubench's own kernels.

gpubench::main!(gpubench_kernels);
