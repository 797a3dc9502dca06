//! One suite of launch functions that take streams of cust, of cudarc and of no binding, of a device of one's own, and of the
//! CPU.

gpubench::main!(gpubench_kernels, kernels_with_c, kernels_with_cudarc);
