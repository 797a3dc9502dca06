//! Defines the forwarders: C functions under the names of the driver's, which find the driver's function at the
//! first call, call it and keep its result code. Also replaces driver functions that a program looks up by
//! `cuGetProcAddress` with forwarders.

#![expect(unsafe_code, reason = "reads and writes where the driver has written its answer")]

use std::ffi::{CStr, c_char, c_void};
use std::{collections::HashMap, sync::OnceLock};

use crate::library::{self, Function};
use crate::memory::keep_unlisted_call;
use crate::types::CUuuid;

/// Defines a forwarder for each function name in lines of the form `name … (arguments) …;`, and the constant
/// `$list` with the names and addresses of these forwarders. An argument that the rest of the line uses is
/// written `name: type`, any other as its type alone.
///
/// If a suffix is given, `_ptds` or `_ptsz`, also defines a forwarder for each name with that suffix. The
/// driver's functions with a suffix are variants in which the NULL stream is the calling thread's own. After
/// the arguments, a line may have:
///
/// - `=> function`: this function is called instead of the driver's.
/// - `| function`: after the driver's function, this one is called with the result code and the arguments.
/// - `| function(value, …)`: the same, with the result code and values that are computed from the arguments.
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
        type DriverFunction = unsafe extern "C" fn($($type),*) -> CUresult;
        static ENTRY: $crate::library::EntryPoint = $crate::library::EntryPoint::new($symbol);
        let Some(function) = ENTRY.function() else {
            return $crate::result::missing_function_result(&ENTRY);
        };
        // SAFETY: the driver exports a function of this name and type.
        let function = unsafe { std::mem::transmute::<Function, DriverFunction>(function) };
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

/// The address of each forwarder, by the address of the driver's function that it replaces. Each version of a
/// function, and each variant for another kind of default stream, has an address of its own.
static FORWARDER_OF: OnceLock<HashMap<usize, usize>> = OnceLock::new();

/// Replaces the address of a driver's function, which `cuGetProcAddress` stored at `out`, by the address of
/// its forwarder. If the function has no forwarder but may allocate memory, stores the call for
/// [`first_unlisted_call`](crate::first_unlisted_call). Only the first successful lookup in a process reads
/// `forwarders`; later ones use [`FORWARDER_OF`], which it filled.
///
/// # Safety
/// `cuGetProcAddress`, or a later version of it, has returned `code` for this `name` and `out`.
pub(crate) unsafe fn replace_found_function(
    code: u32,
    name: *const c_char,
    out: *mut *mut c_void,
    forwarders: impl Iterator<Item = &'static (&'static str, Function)>,
) {
    if code != 0 || name.is_null() || out.is_null() {
        return;
    }
    // SAFETY: the driver has just written it there.
    let found = unsafe { *out };
    if found.is_null() {
        return;
    }
    let forwarder_of = FORWARDER_OF.get_or_init(|| {
        forwarders
            .filter_map(|(name, forwarder)| {
                Some((library::driver_function(name)? as usize, *forwarder as usize))
            })
            .collect()
    });
    if let Some(forwarder) = forwarder_of.get(&(found as usize)) {
        // SAFETY: as above.
        unsafe { *out = std::ptr::with_exposed_provenance_mut(*forwarder) };
        return;
    }
    // SAFETY: the driver has just read the name under the same contract.
    if may_allocate(unsafe { CStr::from_ptr(name) }.to_bytes()) {
        keep_unlisted_call(code);
    }
}

/// Returns true if a driver function without a forwarder may, judging by its name, allocate or map memory
/// that kernels can write.
fn may_allocate(name: &[u8]) -> bool {
    /// Parts of the names of functions that allocate or map memory.
    const VERBS: [&[u8]; 5] = [b"Alloc", b"ArrayCreate", b"Map", b"Import", b"Acquire"];
    VERBS.iter().any(|verb| name.windows(verb.len()).any(|part| part == *verb))
}

/// The UUIDs, as big-endian numbers, of the export tables that the CUDA runtime and cuBLAS request in every
/// program. With these tables, a program's memory is still allocated by functions that have forwarders: tested on driver
/// 580.159.04 with the libraries of CUDA 13.0.
const CUDA_RUNTIME_TABLES: [u128; 10] = [
    0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9,
    0xf8cf_f951_2146_8b4e_b9e2_fb46_9e7c_0dd9,
    0xa094_798c_2e74_2e74_93f2_0800_200c_0a66,
    0x42d8_5a81_23f6_cb47_8298_f6e7_8a3a_ecdc,
    0xc693_336e_1121_df11_a8c3_68f3_55d8_9593,
    0x263e_8860_7cd2_6143_92f6_bbd5_006d_fa7e,
    0xd408_2055_bde6_704b_8d34_ba12_3c66_e1f2,
    0x69a2_8e9f_2449_8b47_b030_c5da_330e_a4e9,
    0x2131_8c60_9714_3248_8ca6_41ff_7324_c8f2,
    0x1734_dc26_800d_4745_8726_c0f1_e7dd_8bca,
];

/// Stores a successful call of `cuGetExportTable` for [`first_unlisted_call`](crate::first_unlisted_call),
/// unless the table is one of [`CUDA_RUNTIME_TABLES`].
///
/// # Safety
/// `cuGetExportTable` has returned `code` for the table with the UUID at `table`.
pub(crate) unsafe fn check_found_table(code: u32, table: *const CUuuid) {
    if code != 0 || table.is_null() {
        return;
    }
    // SAFETY: the driver has just read it under the same contract.
    let table = unsafe { (*table).bytes };
    if !CUDA_RUNTIME_TABLES.contains(&u128::from_be_bytes(table)) {
        keep_unlisted_call(code);
    }
}
