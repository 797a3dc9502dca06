//! The code of a forwarder. In: the table's lines, one function each. Out: for each line a C function of that
//! name, which finds the driver's function on its first call, calls it and keeps its result code; and a check
//! at compile time that its type matches cust_raw's declaration.

/// Defines a forwarder for each line `name(argument: type, …);`. If a line ends in `=> path`, the function
/// `path` answers instead. If it ends in `| path`, the function `path` sees the result code and the
/// arguments. If it ends in `| path => (value, …)`, `path` sees the code and these values, computed from the
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
    (@define $name:ident($($argument:ident: $type:ty),*) | $watcher:path => ($($value:expr),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            let result = $crate::forward::forwarders! { @call $name($($argument: $type),*) };
            // SAFETY: these are from the arguments of that very call.
            unsafe { $watcher(result as u32 $(, $value)*) };
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
        // In C the result is an int. A driver may return codes that are no variant of `CUresult`; reading
        // those as that enum would be undefined behaviour.
        type Named = unsafe extern "C" fn($($type),*) -> u32;
        static ENTRY: EntryPoint = EntryPoint::new(stringify!($name));
        let Some(function) = ENTRY.function() else { return absent(&ENTRY) };
        // SAFETY: the driver exports it under the name that cust_raw declares with these arguments.
        let function = unsafe { std::mem::transmute::<Function, Named>(function) };
        // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
        returned(&ENTRY, unsafe { function($($argument),*) })
    }};
    ($($name:ident($($argument:ident: $type:ty),*) $(=> $answer:path)? $(| $watcher:path $(=> $values:tt)?)?;)*) => {
        $(
            $crate::forward::forwarders! {
                @define $name($($argument: $type),*) $(=> $answer)? $(| $watcher $(=> $values)?)?
            }

            // Compiles only if both have the type that the table's line gives.
            const _: [unsafe extern "C" fn($($type),*) -> CUresult; 2] = [cust_raw::$name, $name];
        )*
    };
}
pub(crate) use forwarders;
