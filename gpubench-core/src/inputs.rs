//! The inputs of a case: the memory that a flush drops from the cache, and copies that `restore` puts back.

use std::{marker::PhantomData, ops::Range};

use crate::CaseError;

/// A range of this machine's memory that holds values of an input.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    addresses: Range<usize>,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Memory<'a> {
    /// Returns the memory of these values, without memory that they refer to.
    pub fn of<T>(values: &'a [T]) -> Self {
        let Range { start, end } = values.as_ptr_range();
        Self { addresses: start.addr()..end.addr(), borrowed: PhantomData }
    }

    /// Returns the memory of a vector's whole capacity, which a launch may fill, without memory that its
    /// values refer to.
    pub fn of_vec<T>(values: &'a Vec<T>) -> Self {
        let start = values.as_ptr().addr();
        // A vector of values without a size has any number of them.
        let bytes = values.capacity().saturating_mul(size_of::<T>());
        Self { addresses: start..start + bytes, borrowed: PhantomData }
    }

    /// Returns the number of cache lines of `size` bytes that the memory overlaps; 0 if it is empty.
    pub fn lines(&self, size: usize) -> usize {
        let Range { start, end } = self.addresses;
        if start == end { 0 } else { end.div_ceil(size) - start / size }
    }

    /// Returns the size of the memory in bytes.
    pub fn bytes(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// Returns the range of addresses.
    pub fn addresses(&self) -> Range<usize> {
        self.addresses.clone()
    }
}

/// An input of `memory!`, of any type. The macro wraps it, so that autoref selects its [`ShowMemory`].
pub struct InputOperand<'a, T>(pub &'a T);

/// A type whose values own no other memory and refer to none.
///
/// Numbers, `bool` and `char` are plain, and so are arrays, options, and tuples of up to four plain values.
/// Implement the trait for a `struct` of plain values. For vectors and slices of a plain type, cold samples
/// on a CPU drop the cache lines of the values in place of a sweep of the whole cache.
///
/// ```
/// # use gpubench_driver as _;
/// #[derive(Clone, Copy)]
/// struct Complex {
///     re: f32,
///     im: f32,
/// }
///
/// impl gpubench_core::host::Plain for Complex {}
/// ```
pub trait Plain: Copy {}

/// Implements [`Plain`] for primitive types.
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

/// Lists the memory of an input. It is known for slices, vectors, boxed slices and arrays of [`Plain`]
/// values. A single plain value has no memory to flush, since it is part of gpubench's own data.
pub trait ShowMemory {
    /// Calls `visit` with each range of memory of the input. Returns false if the input may have other
    /// memory.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
}

/// Implements [`ShowMemory`] for inputs that own or borrow a slice. `$memory` is the constructor of
/// [`Memory`] for the type.
macro_rules! slices {
    ($([$($generics:tt)*] $slice:ty: $memory:ident,)*) => {$(
        impl<$($generics)*> ShowMemory for &&&InputOperand<'_, $slice> {
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

impl<T: Plain> ShowMemory for &&InputOperand<'_, T> {
    fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
        true
    }
}

impl<T> ShowMemory for &InputOperand<'_, T> {
    fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
        false
    }
}

/// An input that the option `restore` of `#[gpu_bench]` can copy and put back, on a stream of type `S`.
///
/// Implemented on `host::Stream` for slices and all that is `Clone`, on cust's stream for `DeviceBuffer`, and
/// on each stream of a GPU for cudarc's `CudaSlice`. Implement it for an input of your own:
///
/// ```
/// # use gpubench_driver as _;
/// # struct Buffer;
/// # impl Buffer {
/// #     fn clone_on(&self, _: &RawStream) -> Result<Self, CaseError> { Ok(Self) }
/// #     fn copy_on(&mut self, _: &Self, _: &RawStream) -> Result<(), CaseError> { Ok(()) }
/// # }
/// use gpubench_core::{CaseError, Restore, cuda::RawStream};
///
/// impl Restore<RawStream> for Buffer {
///     type Copy = Self;
///
///     fn copy(&self, stream: &RawStream) -> Result<Self, CaseError> {
///         self.clone_on(stream)
///     }
///
///     fn restore(&mut self, copy: &Self, stream: &RawStream) -> Result<(), CaseError> {
///         self.copy_on(copy, stream)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`restore` cannot copy `{Self}`: write a `reset`, or implement `gpubench::Restore<{S}>` for it",
    label = "on the CPU a slice or a `Clone`, on cust's stream a `DeviceBuffer`, on any CUDA stream a `CudaSlice` of `cudarc`"
)]
pub trait Restore<S: ?Sized> {
    /// The copy that gpubench keeps with the input.
    type Copy;

    /// Copies the input once after `setup`, untimed. May wait for the device.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the copy.
    fn copy(&self, stream: &S) -> Result<Self::Copy, CaseError>;

    /// Enqueues the copy from `copy` to the input on `stream`. It must neither wait nor allocate, since CUDA
    /// graphs capture it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn restore(&mut self, copy: &Self::Copy, stream: &S) -> Result<(), CaseError>;
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::bind::memory;

    #[test]
    fn memory_is_that_of_the_values() {
        let values = [1.0_f64, 2.0, 3.0];
        let memory = Memory::of(&values[1..]);
        assert_eq!(memory.bytes(), 16);
        assert_eq!(memory.addresses().start, (&raw const values[1]).addr());
        assert_eq!(Memory::of::<u8>(&[]).bytes(), 0);
        assert_eq!(Memory::of(&[(); 7]).bytes(), 0);
    }

    #[test]
    fn a_vector_has_memory_for_more_values() {
        let mut values = Vec::with_capacity(100);
        values.push(1_u32);
        assert_eq!(Memory::of_vec(&values).bytes(), 4 * values.capacity() as u64);
        assert_eq!(Memory::of_vec(&vec![(); 9]).bytes(), 0);
        assert_eq!(Memory::of_vec(&Vec::<u8>::new()).bytes(), 0);
    }

    #[test]
    fn memory_lies_in_whole_lines_and_none_in_none() {
        let aligned = [0_u8; 320];
        let from = aligned.as_ptr().addr().next_multiple_of(64) - aligned.as_ptr().addr();
        for (part, lines) in [(0..64, 1), (0..65, 2), (63..65, 2), (63..64, 1), (5..130, 3)] {
            assert_eq!(Memory::of(&aligned[from + part.start..from + part.end]).lines(64), lines, "{part:?}");
        }
        // An empty slice has an address all the same, which may be no one's.
        assert_eq!(Memory::of::<f32>(&[]).lines(64), 0);
        assert_eq!(Memory::of_vec(&Vec::<f32>::new()).lines(64), 0);
    }

    /// Returns the bytes that are shown of an input, or nothing if it may have more.
    macro_rules! shown {
        ($input:expr) => {{
            let (input, mut bytes) = ($input, Vec::new());
            let known = memory!(&input, &mut |memory: Memory<'_>| bytes.push(memory.bytes()));
            known.then(|| bytes.into_iter().sum::<u64>())
        }};
    }

    #[test]
    fn slices_of_plain_values_are_known_whole() {
        assert_eq!(shown!(vec![1.0_f32; 10]), Some(40));
        assert_eq!(shown!(Vec::<u32>::with_capacity(10)), Some(40));
        assert_eq!(shown!(vec![(1_u8, 2_u64); 3].into_boxed_slice()), Some(48));
        assert_eq!(shown!([[1_u16; 4]; 2]), Some(16));
        assert_eq!(shown!(&[1_u8, 2, 3][..]), Some(3));
    }

    #[test]
    fn a_plain_value_has_no_memory_of_its_own() {
        assert_eq!(shown!(0.5_f64), Some(0));
        assert_eq!(shown!(()), Some(0));
        assert_eq!(shown!((1, 'x')), Some(0));
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
        struct BorrowedView<'a>(&'a [u8]);
        let values = [1_u8, 2];
        let slice = &values[..];
        assert_eq!(shown!(vec![slice]), None);
        assert_eq!(shown!((slice, 1)), None);
        assert_eq!(shown!(Some(slice)), None);
        assert_eq!(shown!([slice, slice]), None);
        assert_eq!(shown!(slice.as_ptr()), None);
        let view = BorrowedView(slice);
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
