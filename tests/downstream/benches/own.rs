//! Measures the benchmarks of this crate: `cargo bench`.

gpubench::main!(downstream);
