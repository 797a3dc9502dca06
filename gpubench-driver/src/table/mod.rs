//! Every function of the driver, as far as two bindings declare them (`tests/table.rs` checks that none is left out). In:
//! nothing. Out: a C function of each name, which the linker finds before libcuda's, and which Rust code calls through
//! [`sys`](crate::sys).

pub(crate) mod cuda_11;
pub(crate) mod interop;
pub(crate) mod newer;
pub(crate) mod per_thread;

use crate::library::Function;

/// Returns all forwarders with their names, always in the same order.
pub(crate) fn forwarders() -> impl Iterator<Item = &'static (&'static str, Function)> {
    [cuda_11::FORWARDERS, newer::FORWARDERS, per_thread::FORWARDERS, interop::FORWARDERS]
        .into_iter()
        .flatten()
}
