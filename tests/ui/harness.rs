//! A bench target without `harness = false`.

gpubench::main!();
