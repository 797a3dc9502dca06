//! Memory of the driver that gpubench's own launches use. In: a size; out: a buffer on the device, or page-locked words on
//! the host, freed when dropped.

use gpubench_driver::sys::{self, CUdeviceptr};

use crate::device::DeviceError;
use crate::devices::cuda::driver::check_for;

/// A span of the device's memory: its address and its bytes.
pub(crate) type Span = (u64, u64);

/// A buffer in the device's memory.
pub(crate) struct DeviceMemory {
    address: CUdeviceptr,
    bytes: usize,
}

impl DeviceMemory {
    /// Allocates `bytes` bytes that hold anything, for `purpose`.
    pub(crate) fn new(purpose: &str, bytes: usize) -> Result<Self, DeviceError> {
        let mut address = 0;
        // SAFETY: `address` is a place for an address.
        check_for(purpose, unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) })?;
        Ok(Self { address, bytes })
    }

    /// Allocates `words` words of 32 bits, all of which are `word`.
    pub(crate) fn filled(purpose: &str, words: usize, word: u32) -> Result<Self, DeviceError> {
        let memory = Self::new(purpose, 4 * words)?;
        // SAFETY: the buffer has as many words.
        check_for(purpose, unsafe { sys::cuMemsetD32_v2(memory.address, word, words) })?;
        Ok(memory)
    }

    /// Returns its first address, as the device sees it.
    pub(crate) fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Copies its words from word `first` on to the host, which waits for them.
    pub(crate) fn read(&self, purpose: &str, first: usize, words: &mut [u32]) -> Result<(), DeviceError> {
        assert!(4 * first + size_of_val(words) <= self.bytes, "the words lie in the buffer");
        let (from, bytes) = (self.address + 4 * first as u64, size_of_val(words));
        // SAFETY: both places have as many bytes.
        check_for(purpose, unsafe { sys::cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), from, bytes) })
    }

    /// Returns the number of words of 32 bits.
    pub(crate) fn words(&self) -> usize {
        self.bytes / 4
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: nothing else has the address. After a sticky error this fails, and there is nothing left to free.
        _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// Two words in page-locked memory of the host, which has the same address on the device.
pub(crate) struct PinnedWords(*mut u64);

impl PinnedWords {
    /// Allocates two words that are 0, for `purpose`.
    pub(crate) fn new(purpose: &str) -> Result<Self, DeviceError> {
        let mut place = std::ptr::null_mut();
        // SAFETY: `place` is a place for an address.
        check_for(purpose, unsafe { sys::cuMemAllocHost_v2(&raw mut place, size_of::<[u64; 2]>()) })?;
        let mut words = Self(place.cast());
        words.take();
        Ok(words)
    }

    /// Returns the address of the first word.
    pub(crate) fn address(&self) -> *mut u64 {
        self.0
    }

    /// Returns both words and sets them to 0. Nothing on the device may write them meanwhile.
    pub(crate) fn take(&mut self) -> [u64; 2] {
        // SAFETY: both words are part of the allocation.
        unsafe {
            let words = [self.0.read_volatile(), self.0.add(1).read_volatile()];
            self.0.write_volatile(0);
            self.0.add(1).write_volatile(0);
            words
        }
    }
}

impl Drop for PinnedWords {
    fn drop(&mut self) {
        // SAFETY: nothing else has the address.
        _ = unsafe { sys::cuMemFreeHost(self.0.cast()) };
    }
}
