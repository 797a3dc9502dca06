//! The suite of this crate's kernels: `cargo bench`.

gpubench::main!(gpubench_kernels);
