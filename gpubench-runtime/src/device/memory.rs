//! The memory of a launch's inputs. In: a slice; out: where it lies, for a flush that drops the cache lines of it alone.

use std::marker::PhantomData;
use std::ops::Range;

use gpubench_stats::units::Bytes;

/// Memory of this machine that holds values of an input, for as long as it is borrowed.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    addresses: Range<usize>,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Memory<'a> {
    /// Returns the memory of these values. What they refer to is not part of it.
    #[must_use]
    pub fn of<T>(values: &'a [T]) -> Self {
        let Range { start, end } = values.as_ptr_range();
        Self { addresses: start.addr()..end.addr(), borrowed: PhantomData }
    }

    /// Returns its size.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.addresses.len() as u64)
    }

    /// Returns its addresses.
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
        assert_eq!(memory.bytes(), Bytes(16));
        assert_eq!(memory.addresses().start, (&raw const values[1]).addr());
        assert_eq!(Memory::of::<u8>(&[]).bytes(), Bytes::ZERO);
        assert_eq!(Memory::of(&[(); 7]).bytes(), Bytes::ZERO);
    }
}
