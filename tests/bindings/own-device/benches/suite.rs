//! The benchmarks of this crate: `cargo bench`.

gpubench::main!(device_of_ones_own);
