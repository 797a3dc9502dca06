//! A suite without benchmarks, as one is that names no crate.

gpubench::main!();
