//! Defines the forwarders: C functions under the names of the driver's, which find the driver's function at
//! the first call, call it and keep its result code.

/// Defines a forwarder for each name of each line `name … (arguments) …;`, and the list of their names and
/// addresses. The arguments are `(type, name: type, …)`, with the names that what follows them uses, or
/// `(type …)` without any.
///
/// With a suffix, `_ptds` or `_ptsz`, the driver has each of these functions also under the name with the
/// suffix, where the NULL stream is the calling thread's own. What may follow the arguments:
///
/// - `=> function`: the function answers instead of the driver.
/// - `| function`: the function gets the result code and the arguments after the call.
/// - `| function(value, …)`: the function gets the result code and these values, computed from the arguments.
macro_rules! forwarders {
    ($list:ident $suffix:tt: $($($name:ident)+ ($($argument:tt)*) $(=> $answer:ident)? $(| $watcher:ident $(($($values:tt)*))?)?;)*) => {
        $($crate::forward::forwarders! {
            @functions [$($name)+] ($($argument)*) { $(=> $answer)? $(| $watcher $(($($values)*))?)? }
        })*

        const $list: &[&[(&str, Function)]] = &[$($crate::forward::forwarders! {
            @list $suffix [$($name)+] ($($argument)*) { $(| $watcher $(($($values)*))?)? }
        }),*];
    };
    (@functions [$($name:ident)+] $arguments:tt $then:tt) => {
        $($crate::forward::forwarders! { @define pub $name(stringify!($name)) $arguments $then })+
    };
    (@list [] [$($name:ident)+] $arguments:tt $then:tt) => {
        &[$($crate::forward::forwarders! { @listed $name(stringify!($name)) }),+]
    };
    (@list [$suffix:literal] [$($name:ident)+] $arguments:tt $then:tt) => {
        &[$(
            $crate::forward::forwarders! { @listed $name(stringify!($name)) },
            {
                $crate::forward::forwarders! {
                    @define per_thread(concat!(stringify!($name), $suffix)) $arguments $then
                }
                $crate::forward::forwarders! { @listed per_thread(concat!(stringify!($name), $suffix)) }
            },
        )+]
    };
    (@listed $name:ident($symbol:expr)) => {
        // SAFETY: each caller casts it to the type that belongs to its name before the call.
        ($symbol, unsafe { std::mem::transmute::<*const (), Function>($name as *const ()) })
    };
    (@define $visibility:vis $name:ident($symbol:expr) ($($argument:ident: $type:ty),* $(,)?) { $($then:tt)* }) => {
        #[doc(hidden)]
        #[unsafe(export_name = $symbol)]
        $visibility unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
            $crate::forward::forwarders! { @body ($symbol) ($($argument: $type),*) $($then)* }
        }
    };
    (@define $visibility:vis $name:ident $symbol:tt ($($type:ident)+) $then:tt) => {
        $crate::forward::forwarders! { @define $visibility $name $symbol ($($type,)+) $then }
    };
    (@define $visibility:vis $name:ident $symbol:tt $arguments:tt $then:tt) => {
        $crate::forward::forwarders! {
            @name [a b c d e f g h i j k l m n o p] $arguments () => $visibility $name $symbol $then
        }
    };
    (@name $letters:tt () $named:tt => $visibility:vis $name:ident $symbol:tt $then:tt) => {
        $crate::forward::forwarders! { @define $visibility $name $symbol $named $then }
    };
    (@name $letters:tt ($argument:ident: $type:ty $(, $($rest:tt)*)?) ($($named:tt)*) => $($to:tt)*) => {
        $crate::forward::forwarders! { @name $letters ($($($rest)*)?) ($($named)* $argument: $type,) => $($to)* }
    };
    // Gives a type without a name the next letter.
    (@name [$letter:ident $($letters:ident)*] ($type:ty $(, $($rest:tt)*)?) ($($named:tt)*) => $($to:tt)*) => {
        $crate::forward::forwarders! { @name [$($letters)*] ($($($rest)*)?) ($($named)* $letter: $type,) => $($to)* }
    };
    (@body $symbol:tt ($($argument:ident: $type:ty),*) => $answer:ident) => {
        // SAFETY: the caller keeps the contract of the function of this name, and `answer` has the same.
        unsafe { $answer($($argument),*) }
    };
    (@body $symbol:tt ($($argument:ident: $type:ty),*) | $watcher:ident) => {
        $crate::forward::forwarders! { @body $symbol ($($argument: $type),*) | $watcher($($argument),*) }
    };
    (@body $symbol:tt ($($argument:ident: $type:ty),*) $(| $watcher:ident($($value:expr),*))?) => {{
        type Named = unsafe extern "C" fn($($type),*) -> CUresult;
        static ENTRY: $crate::library::EntryPoint = $crate::library::EntryPoint::new($symbol);
        let Some(function) = ENTRY.function() else {
            return $crate::result::missing_function_result(&ENTRY);
        };
        // SAFETY: the driver exports a function of this name and type.
        let function = unsafe { std::mem::transmute::<Function, Named>(function) };
        // SAFETY: the caller keeps the contract of the driver's function; the arguments pass unchanged.
        let result = $crate::result::keep_result(&ENTRY, unsafe { function($($argument),*) });
        $(
            // SAFETY: these are from the arguments of that very call.
            unsafe { $watcher(result $(, $value)*) };
        )?
        result
    }};
}
pub(crate) use forwarders;
