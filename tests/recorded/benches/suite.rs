//! Measures the launches of this crate.

gpubench::main!(hidden_streams);
