//! A function of the driver, looked up when it is first needed. In: its C name. Out: the function, if the open library
//! has it.

use std::sync::OnceLock;

use crate::library::{self, Function};

/// What a forwarder remembers: its name, and the driver's function once looked up (`None`: there is none).
#[derive(Debug)]
pub(crate) struct Entry {
    symbol: &'static str,
    function: OnceLock<Option<Function>>,
}

impl Entry {
    pub(crate) const fn new(symbol: &'static str) -> Self {
        Self { symbol, function: OnceLock::new() }
    }

    pub(crate) const fn symbol(&self) -> &'static str {
        self.symbol
    }

    /// The driver's function: looked up on the first call, an atomic load afterwards.
    #[inline]
    pub(crate) fn function(&self) -> Option<Function> {
        *self.function.get_or_init(|| library::symbol(self.symbol))
    }
}
