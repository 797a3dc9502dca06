//! The code of a forwarder. In: the table's lines, one function each. Out: for each line a C function of that
//! name, which finds the driver's function on its first call, calls it and keeps its result code; and the list of
//! these functions.

/// Defines a forwarder for each line `name(argument: type, …);`. If a line ends in `=> path`, the function
/// `path` answers instead. If it ends in `| path`, the function `path` sees the result code and the
/// arguments. If it ends in `| path => (value, …)`, `path` sees the code and these values, computed from the
/// arguments.
macro_rules! forwarders {
    (@define $name:ident($($argument:ident: $type:ty),*) => $answer:path) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            // SAFETY: the caller keeps the contract of the function of this name, and `answer` has the same.
            unsafe { $answer($($argument),*) }
        }
    };
    (@define $name:ident($($argument:ident: $type:ty),*) | $watcher:path) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            let result = $crate::forward::forwarders! { @call $name($($argument: $type),*) };
            // SAFETY: these are the arguments of that very call.
            unsafe { $watcher(result, $($argument),*) };
            result
        }
    };
    (@define $name:ident($($argument:ident: $type:ty),*) | $watcher:path => ($($value:expr),*)) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            let result = $crate::forward::forwarders! { @call $name($($argument: $type),*) };
            // SAFETY: these are from the arguments of that very call.
            unsafe { $watcher(result $(, $value)*) };
            result
        }
    };
    (@define $name:ident($($argument:ident: $type:ty),*)) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            $crate::forward::forwarders! { @call $name($($argument: $type),*) }
        }
    };
    (@call $name:ident($($argument:ident: $type:ty),*)) => {{
        type Named = unsafe extern "C" fn($($type),*) -> CUresult;
        static ENTRY: $crate::entry::EntryPoint = $crate::entry::EntryPoint::new(stringify!($name));
        let Some(function) = ENTRY.function() else {
            return $crate::result::absent(&ENTRY);
        };
        // SAFETY: the driver exports a function of this name and type.
        let function = unsafe { std::mem::transmute::<$crate::library::Function, Named>(function) };
        // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
        $crate::result::returned(&ENTRY, unsafe { function($($argument),*) })
    }};
    ($($name:ident($($argument:ident: $type:ty),*) $(=> $answer:path)? $(| $watcher:path $(=> $values:tt)?)?;)*) => {
        $(
            $crate::forward::forwarders! {
                @define $name($($argument: $type),*) $(=> $answer)? $(| $watcher $(=> $values)?)?
            }
        )*

        /// The forwarders and their names.
        pub(crate) const FORWARDERS: &[(&str, $crate::library::Function)] = &[$(
            // SAFETY: nobody calls it before giving it the type that belongs to its name.
            (stringify!($name), unsafe {
                std::mem::transmute::<unsafe extern "C" fn($($type),*) -> CUresult, $crate::library::Function>($name)
            }),
        )*];
    };
}
pub(crate) use forwarders;
