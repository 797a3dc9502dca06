//! Names of crates are no texts.

gpubench::main!("kernels");
