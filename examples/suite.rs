//! Runs the benchmarks that ship with gpubench's own kernels: `cargo run --example suite`.

gpubench::main!(gpubench_kernels);
