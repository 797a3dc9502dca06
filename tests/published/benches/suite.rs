//! The benchmarks of this crate: `cargo bench`.

gpubench::main!(published);
