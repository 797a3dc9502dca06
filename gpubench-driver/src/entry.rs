//! A function of the driver, looked up when it is first needed. In: its C name. Out: the function, if the open library
//! has it.

use std::sync::OnceLock;

use crate::library::{self, Function};

/// The state of a forwarder: its name, and the driver's function once looked up (`None`: the driver lacks
/// it).
#[derive(Debug)]
pub(crate) struct EntryPoint {
    symbol: &'static str,
    function: OnceLock<Option<Function>>,
}

impl EntryPoint {
    pub(crate) const fn new(symbol: &'static str) -> Self {
        Self { symbol, function: OnceLock::new() }
    }

    pub(crate) const fn symbol(&self) -> &'static str {
        self.symbol
    }

    /// Returns the driver's function. Looks it up on the first call; later calls are an atomic load.
    #[inline]
    pub(crate) fn function(&self) -> Option<Function> {
        *self.function.get_or_init(|| library::symbol(self.symbol))
    }
}
