//! Every function of the driver, as far as two bindings declare them (`tests/table.rs` checks that none is left out). In:
//! nothing. Out: a C function of each name, which the linker finds before libcuda's, and which Rust code calls through
//! [`sys`](crate::sys).

pub(crate) mod cuda_11;
pub(crate) mod interop;
pub(crate) mod newer;

use crate::library::Function;

/// Returns all forwarders with their names, always in the same order.
pub(crate) fn forwarders() -> impl Iterator<Item = &'static (&'static str, Function)> {
    let tables = [
        [cuda_11::FUNCTIONS, cuda_11::ON_STREAMS, cuda_11::BLOCKING],
        [newer::FUNCTIONS, newer::ON_STREAMS, &[]],
        [interop::FUNCTIONS, interop::ON_STREAMS, interop::BLOCKING],
    ];
    tables.into_iter().flatten().flatten()
}
