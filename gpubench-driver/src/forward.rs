//! What a forwarder is made of. In: the table's lines, one function each. Out: for each line a C function of
//! that name, which finds the driver's on its first call, calls it and keeps its result code; and a check at
//! compile time that its type is the one cust_raw declares.

use std::sync::OnceLock;

use cust_raw::CUresult;

use crate::library;
use crate::result;

/// A function of the driver, of a type that only its caller knows.
pub(crate) type Function = unsafe extern "C" fn();

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

    /// Keeps what the driver returned and says it in cust_raw's words.
    #[inline]
    pub(crate) fn returned(&'static self, code: u32) -> CUresult {
        result::keep(self, code);
        if code == 0 { CUresult::CUDA_SUCCESS } else { result::failed(self, code) }
    }

    /// The result of a function that is not there.
    ///
    /// Without a driver that is `NO_DEVICE`: programs expect it on a machine without a GPU, and cust has a
    /// variant for it. `STUB_LIBRARY` would be exact, but cust turns it into `UnknownError`;
    /// `NOT_INITIALIZED` would blame the caller for a missing `cuInit`. A driver without this one function
    /// gives `NOT_FOUND`, whose text is "named symbol not found".
    #[cold]
    pub(crate) fn absent(&'static self) -> CUresult {
        let result =
            if library::is_open() { CUresult::CUDA_ERROR_NOT_FOUND } else { CUresult::CUDA_ERROR_NO_DEVICE };
        self.returned(result as u32)
    }
}

/// One forwarder for each line `name(argument: type, …);`. A line that ends in `=> path` is answered by the
/// function `path` instead; one that ends in `| path` has the function `path` look at the code and the
/// arguments.
macro_rules! forwarders {
    (@define $name:ident($($argument:ident: $type:ty),*) => $answer:path) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the caller keeps the contract of the function of this name, and `answer` has the same.
            unsafe { $answer($($argument),*) }
        }
    };
    (@define $name:ident($($argument:ident: $type:ty),*) | $watcher:path) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            let result = $crate::forward::forwarders! { @call $name($($argument: $type),*) };
            // SAFETY: these are the arguments of that very call.
            unsafe { $watcher(result as u32, $($argument),*) };
            result
        }
    };
    (@define $name:ident($($argument:ident: $type:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            $crate::forward::forwarders! { @call $name($($argument: $type),*) }
        }
    };
    (@call $name:ident($($argument:ident: $type:ty),*)) => {{
        // In C the result is an int. A driver may return codes that are no variant of `CUresult`, and to read
        // those as that enum would be undefined.
        type Named = unsafe extern "C" fn($($type),*) -> u32;
        static ENTRY: Entry = Entry::new(stringify!($name));
        let Some(function) = ENTRY.function() else { return ENTRY.absent() };
        // SAFETY: the driver exports it under the name that cust_raw declares with these arguments.
        let function = unsafe { std::mem::transmute::<Function, Named>(function) };
        // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
        ENTRY.returned(unsafe { function($($argument),*) })
    }};
    ($($name:ident($($argument:ident: $type:ty),*) $(=> $answer:path)? $(| $watcher:path)?;)*) => {
        $(
            $crate::forward::forwarders! { @define $name($($argument: $type),*) $(=> $answer)? $(| $watcher)? }

            // Compiles only where both have the type that is written once, on the table's line.
            const _: [unsafe extern "C" fn($($type),*) -> CUresult; 2] = [cust_raw::$name, $name];
        )*
    };
}
pub(crate) use forwarders;
