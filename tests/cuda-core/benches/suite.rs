//! The benchmarks of this crate: `cargo bench`.

gpubench::main!(kernels_with_cuda_core);
