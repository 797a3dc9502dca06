//! The memory of inputs. In: an input, as `setup` returned it; out: its [`Memory`], if its type tells where all of it lies.

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
        use $crate::bind::{Inline as _, Reference as _, Slice as _, UnknownMemory as _};
        (&&&&$crate::bind::Input($input)).memory($visit)
    }};
}
pub use __memory as memory;

/// Inputs that are slices of plain values, or own one.
pub trait Slice {
    /// Shows the memory of the values.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

macro_rules! slices {
    ($([$($generics:tt)*] $slice:ty,)*) => {$(
        // Values that are `Copy` own no memory.
        impl<$($generics)*> Slice for &&&Input<'_, $slice> {
            fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
                visit(Memory::of(&self.0[..]));
                true
            }
        }
    )*};
}
slices! {
    [T: Copy] Vec<T>,
    [T: Copy] Box<[T]>,
    [T: Copy] &[T],
    [T: Copy, const N: usize] [T; N],
}

/// Inputs that refer to anything else.
pub trait Reference {
    /// Shows nothing, since what they refer to may refer to more.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

impl<T: ?Sized> Reference for &&Input<'_, &T> {
    fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
        false
    }
}

/// Inputs that are a plain value, such as a factor, which lies among gpubench's own.
pub trait Inline {
    /// Shows nothing, as there is no more of it.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

impl<T: Copy> Inline for &Input<'_, T> {
    fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
        true
    }
}

/// Inputs of any other type, which may own memory.
pub trait UnknownMemory {
    /// Shows nothing.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

impl<T> UnknownMemory for Input<'_, T> {
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
    }

    #[test]
    fn memory_is_where_the_values_are() {
        let input = vec![1_u32, 2, 3];
        let mut starts = Vec::new();
        assert!(memory!(&input, &mut |memory: Memory<'_>| starts.push(memory.addresses().start)));
        assert_eq!(starts, [input.as_ptr().addr()]);
    }
}
