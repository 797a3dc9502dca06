//! Detects which memory a launch writes: stores fingerprints of all blocks of the memory that a launch can
//! reach, and compares them with those after the launch. The forwarders of the driver record the allocations
//! of this process. Copies no contents: the kernels read the memory, and write tables of at most
//! [`MOST_FINGERPRINTS`] words each.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpubench_driver::sys::{self, CUDA_SUCCESS, CUdevice, CUstream};
use gpubench_driver::{MemoryKind, MemoryRange};

use super::super::driver::{CallError, DeviceMemory, check, pointer_attribute};
use super::super::kernels::{LoadedKernel, Module};
use crate::device::DeviceError;
use gpubench_stats::Bytes;

/// The kernels that compute fingerprints and invert bits.
const MEMORY_PTX: &str = include_str!("../kernels/memory.ptx");

/// The most blocks with a fingerprint, in a table of 8 MiB. For more memory, blocks are larger.
const MOST_FINGERPRINTS: usize = 1 << 20;
/// The most regions whose changes are counted at once. More regions are counted one part after another.
const REGIONS_PER_COUNT: usize = 64;
/// The size of the smallest block: the amount that a warp reads at once.
const SMALLEST_BLOCK_BYTES: u64 = 512;
/// The threads per block of the kernels that compute fingerprints and invert bits.
const THREADS_PER_BLOCK: u32 = 256;

/// An allocation whose writes are detected.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub memory: MemoryRange,
    /// The index, in a table, of the fingerprint of its first block.
    first_fingerprint: usize,
}

/// The allocations that a launch can reach, or some of them.
#[derive(Clone, Default)]
pub(crate) struct Regions {
    pub regions: Vec<Region>,
    /// The size of a block. Each block has one fingerprint.
    pub block: Bytes,
}

/// One of the two tables of fingerprints of a [`WriteDetector`].
#[derive(Clone, Copy)]
pub(crate) enum FingerprintTable {
    /// The fingerprints from before a launch.
    Before,
    /// The fingerprints from after the launch on fresh inputs.
    After,
}

/// Stores fingerprints of the memory of a GPU, and compares later fingerprints with them. Each open GPU has
/// one detector.
pub(crate) struct WriteDetector {
    fingerprint: LoadedKernel,
    complement: LoadedKernel,
    before: DeviceMemory,
    after: DeviceMemory,
    /// The counts of changed bytes of up to [`REGIONS_PER_COUNT`] regions.
    changed: DeviceMemory,
    device: CUdevice,
    /// The stream for the work of the detector.
    pub stream: CUstream,
    /// The number of thread blocks of its kernels.
    blocks: u32,
}

impl WriteDetector {
    /// Creates a detector for launches on `device`, whose context must be current. Launches the fingerprint
    /// kernel once on `stream`, so that it is loaded now; later work of the detector also goes to `stream`.
    /// Marks the allocations from number `first` on, up to the last one of this call, as gpubench's own: no
    /// launch is assumed to reach them.
    pub(crate) fn new(
        device: CUdevice,
        multiprocessors: u32,
        stream: CUstream,
        first: u64,
    ) -> Result<Self, DeviceError> {
        let module = Module::load(MEMORY_PTX)?;
        let table = |words| DeviceMemory::filled("a table of fingerprints", 2 * words, 0);
        let (before, after, changed) =
            (table(MOST_FINGERPRINTS)?, table(MOST_FINGERPRINTS)?, table(REGIONS_PER_COUNT)?);
        let write_detector = Self {
            fingerprint: module.find("gpubench_fingerprint")?,
            complement: module.find("gpubench_complement")?,
            before,
            after,
            changed,
            device,
            stream,
            blocks: 8 * multiprocessors,
        };
        // The first launch of the kernel loads it. Launch it here, while nothing exists yet whose address
        // that could change: on the last of the own allocations.
        let memory = gpubench_driver::memory();
        let own = Regions::new(&memory[memory.len().saturating_sub(1)..]).unwrap_or_default();
        own_allocations().push(first..next_allocation_number());
        write_detector.store_fingerprints(FingerprintTable::Before, &own)?;
        Ok(write_detector)
    }

    /// Returns the memory that a launch on this device can reach, oldest allocation first, without the
    /// allocations of gpubench itself. Returns the reason as an error if some memory of this process cannot
    /// be listed or is no longer known to the driver, if there is more managed memory than the device has
    /// free, or if there are too many allocations for a table.
    pub(crate) fn reachable(&self) -> Result<Regions, DeviceError> {
        if let Some(call) = gpubench_driver::first_unlisted_call() {
            return Err(DeviceError::new(format!("there is memory by {call}")));
        }
        let mut memory = Vec::new();
        for it in gpubench_driver::memory() {
            if !own_allocations().iter().any(|own| own.contains(&it.number)) && self.is_reachable(&it)? {
                memory.push(it);
            }
        }
        let managed: u64 = memory.iter().filter(|it| it.kind == MemoryKind::Managed).map(|it| it.bytes).sum();
        // Reading more than that would move pages back and forth.
        if managed > 0 && free_and_total_memory().is_none_or(|(free, _)| Bytes(managed) > free) {
            return Err(DeviceError::new("there is more managed memory than the device has free"));
        }
        Regions::new(&memory).ok_or_else(|| DeviceError::new("there are too many pieces of memory"))
    }

    /// Returns true if launches on this device can reach `memory`: device memory of its own, host memory,
    /// managed memory, or memory of a peer. Returns an error if the driver does not know the memory any more.
    fn is_reachable(&self, memory: &MemoryRange) -> Result<bool, DeviceError> {
        let forgotten = || DeviceError::new("there is memory that the driver does not know any more");
        let MemoryRange { address, kind, .. } = *memory;
        // SAFETY: this attribute is the number of a device.
        let device = unsafe { pointer_attribute(sys::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) };
        let device: CUdevice = device.ok_or_else(forgotten)?;
        let of_host = matches!(kind, MemoryKind::Pinned | MemoryKind::Managed);
        // Kernels of the current context reach that of a peer at the same address.
        // SAFETY: this attribute is an address.
        let reached = || unsafe { pointer_attribute(sys::CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) };
        Ok(device == self.device || of_host || reached() == Some(address))
    }

    /// Computes the fingerprints of `regions`, stores them in `table`, and waits.
    pub(crate) fn store_fingerprints(
        &self,
        table: FingerprintTable,
        regions: &Regions,
    ) -> Result<(), CallError> {
        regions
            .regions
            .iter()
            .try_for_each(|region| self.enqueue_fingerprints(table, region, regions.block, 0))?;
        self.wait()
    }

    /// Returns the regions in which fingerprints differ from those in `table`, each with the total size of
    /// its changed blocks.
    pub(crate) fn changed_regions(
        &self,
        table: FingerprintTable,
        regions: &Regions,
    ) -> Result<Vec<(Region, Bytes)>, CallError> {
        let mut all = Vec::new();
        for together in regions.regions.chunks(REGIONS_PER_COUNT) {
            let counts = self.changed.address();
            // SAFETY: there are as many words.
            check(unsafe { sys::cuMemsetD8Async(counts, 0, 8 * REGIONS_PER_COUNT, self.stream) })?;
            for (index, region) in (0..).zip(together) {
                self.enqueue_fingerprints(table, region, regions.block, counts + 8 * index)?;
            }
            self.wait()?;
            let mut bytes = [0_u64; REGIONS_PER_COUNT];
            // SAFETY: `bytes` is valid for writing the words.
            check(unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), counts, size_of_val(&bytes)) })?;
            let each = together.iter().copied().zip(bytes.map(Bytes));
            all.extend(each.filter(|(_, changed)| *changed > Bytes::ZERO));
        }
        Ok(all)
    }

    /// Inverts every bit of a region, and waits. A second call restores the contents.
    pub(crate) fn invert_bits(&self, region: &Region) -> Result<(), CallError> {
        let MemoryRange { address, bytes, .. } = region.memory;
        // SAFETY: the kernel takes an address and a length, and the memory is there.
        unsafe { self.complement.launch((self.blocks, THREADS_PER_BLOCK), self.stream, [address, bytes]) }?;
        self.wait()
    }

    /// Enqueues the fingerprint kernel for `region`. If `changed` is 0, the kernel stores the fingerprints in
    /// `table`. Otherwise it compares them with the table, and adds the size of changed blocks to the 64-bit
    /// word at the device address `changed`.
    fn enqueue_fingerprints(
        &self,
        table: FingerprintTable,
        region: &Region,
        block: Bytes,
        changed: u64,
    ) -> Result<(), CallError> {
        let table = match table {
            FingerprintTable::Before => &self.before,
            FingerprintTable::After => &self.after,
        };
        let MemoryRange { address, bytes, .. } = region.memory;
        let prints = table.address() + 8 * region.first_fingerprint as u64;
        let arguments = [address, bytes, block.0, prints, changed];
        // SAFETY: the kernel takes these five words; the memory is there, and so is a word of the table for
        // each block.
        unsafe { self.fingerprint.launch((self.blocks, THREADS_PER_BLOCK), self.stream, arguments) }
    }

    /// Allocates device memory for gpubench itself, which no launch is assumed to reach.
    pub(crate) fn allocate_own(&self, purpose: &str, bytes: usize) -> Result<DeviceMemory, DeviceError> {
        let first = next_allocation_number();
        let memory = DeviceMemory::new(purpose, bytes)?;
        own_allocations().push(first..next_allocation_number());
        Ok(memory)
    }

    /// Waits for the work of the detector.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the device's own.
        check(unsafe { sys::cuStreamSynchronize(self.stream) })
    }
}

impl Regions {
    /// Divides `memory` into the smallest blocks whose fingerprints all fit into a table. Returns `None` if
    /// there are too many allocations for a table.
    fn new(memory: &[MemoryRange]) -> Option<Self> {
        (SMALLEST_BLOCK_BYTES.ilog2()..u64::BITS).map(|power| 1 << power).find_map(|block| {
            let mut first = 0;
            let place = |memory: &MemoryRange| {
                let region = Region { memory: *memory, first_fingerprint: first };
                // The memory may begin within a block and end within one.
                first += (memory.bytes / block) as usize + 2;
                region
            };
            let regions = memory.iter().map(place).collect();
            (first <= MOST_FINGERPRINTS).then_some(Self { regions, block: Bytes(block) })
        })
    }

    /// Returns those of these regions that `other` contains too, as the same allocation. Does not cut
    /// regions. The block size is that of `self`.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let regions = self.regions.iter().filter(|region| other.contains(region)).copied().collect();
        Self { regions, block: self.block }
    }

    /// Returns true if one of the regions is the same allocation as `region`.
    pub(crate) fn contains(&self, region: &Region) -> bool {
        self.regions.iter().any(|it| it.memory == region.memory)
    }

    /// Returns `region` alone, with the same block size.
    pub(crate) fn single(&self, region: Region) -> Self {
        Self { regions: vec![region], block: self.block }
    }

    /// Returns the total size of all regions.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.regions.iter().map(|region| region.memory.bytes).sum())
    }
}

/// Locks and returns the allocations that gpubench itself made on all devices of this process, as ranges of
/// allocation numbers ([`MemoryRange::number`]). No launch is assumed to access them.
fn own_allocations() -> MutexGuard<'static, Vec<Range<u64>>> {
    static OWN_ALLOCATIONS: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());
    OWN_ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a number above those of all existing allocations. The next allocation gets this number, or a
/// higher one if allocations with higher numbers were freed.
pub(crate) fn next_allocation_number() -> u64 {
    gpubench_driver::memory().last().map_or(0, |memory| memory.number + 1)
}

/// Returns the free and the total memory of the device of the current context, or `None` if the driver does
/// not report them.
pub(crate) fn free_and_total_memory() -> Option<(Bytes, Bytes)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are valid for writing a size.
    let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
    (result == CUDA_SUCCESS).then_some((Bytes(free as u64), Bytes(total as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(address: u64, bytes: u64) -> MemoryRange {
        MemoryRange { address, bytes, kind: MemoryKind::Device, number: address }
    }

    /// Checks that no two regions share a word of the table, and that none is after its end.
    #[test]
    fn there_is_a_word_for_each_block() {
        for all in [
            vec![memory(0, 1), memory(512, 4096), memory(9000, 4)],
            vec![memory(0, 2 << 30), memory(3 << 30, 64)],
            vec![memory(0, 139 << 30)],
            (0..400_000).map(|index| memory(1024 * index, 512)).collect(),
        ] {
            let regions = Regions::new(&all).expect("there is room");
            let block = regions.block.0;
            assert!(block.is_power_of_two() && block >= SMALLEST_BLOCK_BYTES);
            let mut taken = 0;
            for Region { memory, first_fingerprint: first } in &regions.regions {
                assert!(*first >= taken);
                let start = memory.address / 16 * 16;
                taken = first + (memory.address + memory.bytes - start).div_ceil(block) as usize;
            }
            assert!(taken <= MOST_FINGERPRINTS, "{taken} words for {} bytes", regions.bytes().0);
        }
        let block = |bytes| Regions::new(&[memory(0, bytes)]).map(|regions| regions.block);
        assert_eq!([block(1 << 20), block(2 << 30)], [Some(Bytes(512)), Some(Bytes(4096))]);
        assert!(Regions::new(&vec![memory(0, 1); MOST_FINGERPRINTS]).is_none());
    }
}
