//! Defines the forwarders: C functions under the names of the driver's, which find the driver's function at the first
//! call, call it and keep its result code.

/// Defines a forwarder for each line `name(argument: type, …);`, and the list of their names and addresses.
///
/// With a suffix, `_ptds` or `_ptsz`, the driver has each of these functions also under the name with the suffix, where the
/// NULL stream is the calling thread's own. What may follow the arguments:
///
/// - `=> path`: the function `path` answers instead of the driver.
/// - `| path`: `path` gets the result code and the arguments after the call.
/// - `| path => (value, …)`: `path` gets the result code and these values, computed from the arguments.
macro_rules! forwarders {
    ($list:ident: $($name:ident $arguments:tt $(=> $answer:path)? $(| $watcher:path $(=> $values:tt)?)?;)*) => {
        $($crate::forward::forwarders! {
            @define pub $name(stringify!($name)) $arguments $(=> $answer)? $(| $watcher $(=> $values)?)?
        })*

        pub(crate) const $list: &[(&str, $crate::library::Function)] =
            &[$($crate::forward::forwarders! { @listed $name(stringify!($name)) }),*];
    };
    ($list:ident $suffix:literal: $($name:ident $arguments:tt $(| $watcher:path $(=> $values:tt)?)?;)*) => {
        $($crate::forward::forwarders! {
            @define pub $name(stringify!($name)) $arguments $(| $watcher $(=> $values)?)?
        })*

        pub(crate) const $list: &[(&str, $crate::library::Function)] = &[$(
            $crate::forward::forwarders! { @listed $name(stringify!($name)) },
            {
                $crate::forward::forwarders! {
                    @define per_thread(concat!(stringify!($name), $suffix)) $arguments $(| $watcher $(=> $values)?)?
                }
                $crate::forward::forwarders! { @listed per_thread(concat!(stringify!($name), $suffix)) }
            },
        )*];
    };
    (@define $visibility:vis $name:ident($symbol:expr) ($($argument:ident: $type:ty),*) $($then:tt)*) => {
        #[unsafe(export_name = $symbol)]
        $visibility unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            $crate::forward::forwarders! { @body ($symbol) ($($argument: $type),*) $($then)* }
        }
    };
    (@listed $name:ident($symbol:expr)) => {
        // SAFETY: each caller casts it to the type that belongs to its name before the call.
        ($symbol, unsafe { std::mem::transmute::<*const (), $crate::library::Function>($name as *const ()) })
    };
    (@body $symbol:tt ($($argument:ident: $type:ty),*) => $answer:path) => {
        // SAFETY: the caller keeps the contract of the function of this name, and `answer` has the same.
        unsafe { $answer($($argument),*) }
    };
    (@body $symbol:tt ($($argument:ident: $type:ty),*) | $watcher:path) => {
        $crate::forward::forwarders! { @body $symbol ($($argument: $type),*) | $watcher => ($($argument),*) }
    };
    (@body $symbol:tt ($($argument:ident: $type:ty),*) $(| $watcher:path => ($($value:expr),*))?) => {{
        type Named = unsafe extern "C" fn($($type),*) -> CUresult;
        static ENTRY: $crate::library::EntryPoint = $crate::library::EntryPoint::new($symbol);
        let Some(function) = ENTRY.function() else {
            return $crate::result::absent(&ENTRY);
        };
        // SAFETY: the driver exports a function of this name and type.
        let function = unsafe { std::mem::transmute::<$crate::library::Function, Named>(function) };
        // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
        let result = $crate::result::returned(&ENTRY, unsafe { function($($argument),*) });
        $(
            // SAFETY: these are from the arguments of that very call.
            unsafe { $watcher(result $(, $value)*) };
        )?
        result
    }};
}
pub(crate) use forwarders;
