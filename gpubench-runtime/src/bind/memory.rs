//! Finds the memory of inputs, if their types say where all of it lies.

use crate::device::Memory;

/// An input of any type, as [`memory!`] handles it.
pub struct Input<'a, T>(pub &'a T);

/// Shows the memory of `$input` to `$visit`. Returns false if it may have memory elsewhere, of which its type does not tell. Autoref
/// finds out which: see [`axis!`](super::axis).
#[doc(hidden)]
#[macro_export]
macro_rules! __memory {
    ($input:expr, $visit:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::{Inline as _, Slice as _, UnknownMemory as _};
        (&&&&$crate::bind::Input($input)).memory($visit)
    }};
}
pub use __memory as memory;

/// A type whose values are all that there is of them: they own no memory, and refer to none.
///
/// Numbers, `bool`, `char` and what consists of them are plain. Implement it for a `struct` of such values, and cold samples on a CPU
/// [drop the cache lines](gpubench_records::method::Flush::Lines) of vectors and slices of it, in place of a sweep of the whole cache.
///
/// ```
/// #[derive(Clone, Copy)]
/// struct Complex {
///     re: f32,
///     im: f32,
/// }
///
/// impl gpubench_runtime::devices::host::Plain for Complex {}
/// ```
pub trait Plain: Copy {}

macro_rules! plain {
    ($($value:ident)*) => {$(impl Plain for $value {})*};
}
plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char);

impl Plain for () {}
impl<T: Plain, const N: usize> Plain for [T; N] {}
impl<T: Plain> Plain for Option<T> {}
impl<A: Plain> Plain for (A,) {}
impl<A: Plain, B: Plain> Plain for (A, B) {}
impl<A: Plain, B: Plain, C: Plain> Plain for (A, B, C) {}
impl<A: Plain, B: Plain, C: Plain, D: Plain> Plain for (A, B, C, D) {}

/// Inputs that are slices of plain values, or own one.
pub trait Slice {
    /// Shows the memory of the values.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

macro_rules! slices {
    ($([$($generics:tt)*] $slice:ty: $memory:ident,)*) => {$(
        impl<$($generics)*> Slice for &&&Input<'_, $slice> {
            fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
                visit(Memory::$memory(self.0));
                true
            }
        }
    )*};
}
slices! {
    [T: Plain] Vec<T>: of_vec,
    [T: Plain] Box<[T]>: of,
    [T: Plain] &[T]: of,
    [T: Plain, const N: usize] [T; N]: of,
}

/// Inputs that are a plain value, such as a factor, which lies among gpubench's own.
pub trait Inline {
    /// Shows nothing, as there is no more of it.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

impl<T: Plain> Inline for &&Input<'_, T> {
    fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
        true
    }
}

/// Inputs of any other type, which may own memory.
pub trait UnknownMemory {
    /// Shows nothing.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

impl<T> UnknownMemory for &Input<'_, T> {
    fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use gpubench_stats::units::Bytes;

    /// Returns the bytes that are shown of an input, or nothing if it may have more.
    macro_rules! shown {
        ($input:expr) => {{
            let (input, mut bytes) = ($input, Vec::new());
            let known = memory!(&input, &mut |memory: Memory<'_>| bytes.push(memory.bytes()));
            known.then(|| bytes.into_iter().sum::<Bytes>())
        }};
    }

    #[test]
    fn slices_of_plain_values_are_known_whole() {
        assert_eq!(shown!(vec![1.0_f32; 10]), Some(Bytes(40)));
        assert_eq!(shown!(Vec::<u32>::with_capacity(10)), Some(Bytes(40)));
        assert_eq!(shown!(vec![(1_u8, 2_u64); 3].into_boxed_slice()), Some(Bytes(48)));
        assert_eq!(shown!([[1_u16; 4]; 2]), Some(Bytes(16)));
        assert_eq!(shown!(&[1_u8, 2, 3][..]), Some(Bytes(3)));
    }

    #[test]
    fn a_plain_value_has_no_memory_of_its_own() {
        assert_eq!(shown!(0.5_f64), Some(Bytes::ZERO));
        assert_eq!(shown!(()), Some(Bytes::ZERO));
        assert_eq!(shown!((1, 'x')), Some(Bytes::ZERO));
    }

    /// Half of an input is not shown as if it were all.
    #[test]
    fn what_may_own_memory_or_refer_to_it_is_unknown() {
        assert_eq!(shown!(vec![vec![1_u8]]), None);
        assert_eq!(shown!(vec![String::new()]), None);
        assert_eq!(shown!(String::from("text")), None);
        assert_eq!(shown!(Rc::new(1)), None);
        assert_eq!(shown!((1.0_f32, vec![1_u8])), None);
        assert_eq!(shown!(&vec![1_u8]), None);
        assert_eq!(shown!("text"), None);
        assert_eq!(shown!(0..9), None);
    }

    /// `Copy` values own no memory, and may refer to it.
    #[test]
    fn what_refers_to_memory_is_unknown() {
        #[derive(Clone, Copy)]
        struct View<'a>(&'a [u8]);
        let values = [1_u8, 2];
        let slice = &values[..];
        assert_eq!(shown!(vec![slice]), None);
        assert_eq!(shown!((slice, 1)), None);
        assert_eq!(shown!(Some(slice)), None);
        assert_eq!(shown!([slice, slice]), None);
        assert_eq!(shown!(slice.as_ptr()), None);
        let view = View(slice);
        assert_eq!(shown!(view), None);
        assert_eq!(view.0, values);
        assert_eq!(shown!(vec![view]), None);
    }

    #[test]
    fn memory_is_where_the_values_are() {
        let input = vec![1_u32, 2, 3];
        let mut starts = Vec::new();
        assert!(memory!(&input, &mut |memory: Memory<'_>| starts.push(memory.addresses().start)));
        assert_eq!(starts, [input.as_ptr().addr()]);
    }
}
