//! Every function of the driver, as far as two bindings declare them (`tests/table.rs` checks that none is left out). In:
//! nothing. Out: a C function of each name, which the linker finds before libcuda's, and which Rust code calls through
//! [`sys`](crate::sys).

pub(crate) mod cuda_11;
pub(crate) mod newer;
