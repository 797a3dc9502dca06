//! The memory of a launch's inputs, for a flush that drops only its cache lines.

use std::{marker::PhantomData, ops::Range};

/// A range of this machine's memory that holds values of an input.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    addresses: Range<usize>,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Memory<'a> {
    /// Returns the memory of these values, without memory that they refer to.
    #[must_use]
    pub fn of<T>(values: &'a [T]) -> Self {
        let Range { start, end } = values.as_ptr_range();
        Self { addresses: start.addr()..end.addr(), borrowed: PhantomData }
    }

    /// Returns the memory of a vector's whole capacity, which a launch may fill, without memory that its
    /// values refer to.
    #[must_use]
    pub fn of_vec<T>(values: &'a Vec<T>) -> Self {
        let start = values.as_ptr().addr();
        // A vector of values without a size has any number of them.
        let bytes = values.capacity().saturating_mul(size_of::<T>());
        Self { addresses: start..start + bytes, borrowed: PhantomData }
    }

    /// Returns the number of cache lines of `size` bytes that the memory overlaps; 0 if it is empty.
    #[must_use]
    pub fn lines(&self, size: usize) -> usize {
        let Range { start, end } = self.addresses;
        if start == end { 0 } else { end.div_ceil(size) - start / size }
    }

    /// Returns the size of the memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// Returns the range of addresses.
    #[must_use]
    pub fn addresses(&self) -> Range<usize> {
        self.addresses.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
