//! Write detection: checks the memory that a launch can reach. In: the allocations of this process, as the driver's
//! forwarders saw them; out: fingerprints of that memory, which show what changed. Copies nothing: reads the memory,
//! and writes a table of [`PRINTS`] words, whatever the size of the memory.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpubench_driver::sys::{self, CUDA_SUCCESS, CUdevice, CUstream};
use gpubench_driver::{Memory, MemoryKind};

use crate::device::DeviceError;
use crate::devices::cuda::driver::{CallError, DeviceMemory, check, pointer_attribute};
use crate::devices::cuda::kernels::{LoadedKernel, Module};
use gpubench_stats::Bytes;

const MEMORY: &str = include_str!("../kernels/memory.ptx");

/// The most blocks with a fingerprint, whose table takes 8 MiB.
const PRINTS: usize = 1 << 20;
/// The regions whose changes are counted at once.
const COUNTS: usize = 64;
/// The smallest block in bytes: the amount that a warp reads at once.
const SMALLEST: u64 = 512;
/// The threads of a block of these kernels.
const THREADS: u32 = 256;

/// An allocation under write detection; its fingerprints are in the table from `first` on.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) memory: Memory,
    first: usize,
}

/// The memory that a launch can reach, or a part of it.
#[derive(Clone, Default)]
pub(crate) struct Regions {
    pub(crate) regions: Vec<Region>,
    /// The size of the blocks.
    pub(crate) block: Bytes,
}

/// The tables of fingerprints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fingerprints {
    /// Those before the checked launch.
    Before,
    /// Those after it.
    After,
}

/// Takes and compares fingerprints.
pub(crate) struct WriteDetector {
    fingerprint: LoadedKernel,
    complement: LoadedKernel,
    before: DeviceMemory,
    after: DeviceMemory,
    changed: DeviceMemory,
    device: CUdevice,
    /// The stream of its own work.
    pub(crate) stream: CUstream,
    blocks: u32,
    /// The allocations that belong to this detector's device itself, by number.
    own: Range<u64>,
    // The kernels belong to this module.
    _module: Module,
}

impl WriteDetector {
    /// Returns a detector for launches on `device`, which is current; its own work goes to `stream`. All allocations
    /// from number `first` on belong to the measurement itself.
    pub(crate) fn new(
        device: CUdevice,
        multiprocessors: u32,
        stream: CUstream,
        first: u64,
    ) -> Result<Self, DeviceError> {
        let module = Module::load(MEMORY)?;
        let table = |words| DeviceMemory::filled("a table of fingerprints", 2 * words, 0);
        let (before, after, changed) = (table(PRINTS)?, table(PRINTS)?, table(COUNTS)?);
        let write_detector = Self {
            fingerprint: module.find("gpubench_fingerprint")?,
            complement: module.find("gpubench_complement")?,
            before,
            after,
            changed,
            device,
            stream,
            blocks: 8 * multiprocessors,
            own: first..next_number(),
            _module: module,
        };
        all_own().push(write_detector.own.clone());
        // The first launch of the kernel loads it. Launch it here, while nothing exists yet whose address that could
        // change.
        write_detector.take(Fingerprints::Before, &write_detector.last_of_its_own())?;
        Ok(write_detector)
    }

    fn last_of_its_own(&self) -> Regions {
        let last = gpubench_driver::memory().into_iter().rfind(|memory| self.own.contains(&memory.number));
        last.and_then(|last| Regions::new(&[last])).unwrap_or_default()
    }

    /// Returns the memory that a launch on this device can reach, oldest first; or the reason why part of it cannot be
    /// read.
    pub(crate) fn reachable(&self) -> Result<Regions, DeviceError> {
        if let Some(call) = gpubench_driver::first_unlisted_call() {
            return Err(DeviceError::new(format!("there is memory by {call}")));
        }
        let mut memory = Vec::new();
        for it in gpubench_driver::memory() {
            if !all_own().iter().any(|own| own.contains(&it.number)) && self.is_ours(&it)? {
                memory.push(it);
            }
        }
        let managed: u64 = memory.iter().filter(|it| it.kind == MemoryKind::Managed).map(|it| it.bytes).sum();
        // Reading more than that would move pages back and forth.
        if managed > 0 && free_and_total().is_none_or(|(free, _)| Bytes(managed) > free) {
            return Err(DeviceError::new("there is more managed memory than the device has free"));
        }
        Regions::new(&memory).ok_or_else(|| DeviceError::new("there are too many pieces of memory"))
    }

    /// Returns true if this device can reach the memory, which may be that of another. Returns an error if the driver does not
    /// know the memory.
    fn is_ours(&self, memory: &Memory) -> Result<bool, DeviceError> {
        let forgotten = || DeviceError::new("there is memory that the driver does not know any more");
        let Memory { address, kind, .. } = *memory;
        // SAFETY: this attribute is the number of a device.
        let device = unsafe { pointer_attribute(sys::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) };
        let device: CUdevice = device.ok_or_else(forgotten)?;
        let of_host = matches!(kind, MemoryKind::Pinned | MemoryKind::Managed);
        // Kernels of the current context reach that of a peer at the same address.
        // SAFETY: this attribute is an address.
        let reached = || unsafe { pointer_attribute(sys::CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) };
        Ok(device == self.device || of_host || reached() == Some(address))
    }

    /// Stores the fingerprints of `regions` in a table.
    pub(crate) fn take(&self, table: Fingerprints, regions: &Regions) -> Result<(), CallError> {
        regions.regions.iter().try_for_each(|region| self.fingerprint(table, region, regions.block, 0))?;
        self.wait()
    }

    /// Returns the size of all blocks whose fingerprints differ from those in a table.
    pub(crate) fn changed(&self, table: Fingerprints, regions: &Regions) -> Result<Bytes, CallError> {
        let each = self.changed_in_each(table, regions)?;
        Ok(each.into_iter().map(|(_, changed)| changed).sum())
    }

    /// Returns the regions with blocks whose fingerprints differ from those in a table, each with the size of these.
    pub(crate) fn changed_in_each(
        &self,
        table: Fingerprints,
        regions: &Regions,
    ) -> Result<Vec<(Region, Bytes)>, CallError> {
        let mut all = Vec::new();
        for together in regions.regions.chunks(COUNTS) {
            let counts = self.changed.address();
            // SAFETY: there are as many words.
            check(unsafe { sys::cuMemsetD8Async(counts, 0, 8 * COUNTS, self.stream) })?;
            for (index, region) in (0..).zip(together) {
                self.fingerprint(table, region, regions.block, counts + 8 * index)?;
            }
            self.wait()?;
            let mut bytes = [0_u64; COUNTS];
            // SAFETY: `bytes` is valid for writing the words.
            check(unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), counts, size_of_val(&bytes)) })?;
            let each = together.iter().copied().zip(bytes.map(Bytes));
            all.extend(each.filter(|(_, changed)| *changed > Bytes::ZERO));
        }
        Ok(all)
    }

    /// Inverts every bit of a region; a second call restores it.
    pub(crate) fn complement(&self, region: &Region) -> Result<(), CallError> {
        let Memory { address, bytes, .. } = region.memory;
        // SAFETY: the kernel takes an address and a length, and the memory is there.
        unsafe { self.complement.launch((self.blocks, THREADS), self.stream, [address, bytes]) }?;
        self.wait()
    }

    fn fingerprint(
        &self,
        table: Fingerprints,
        region: &Region,
        block: Bytes,
        changed: u64,
    ) -> Result<(), CallError> {
        let table = match table {
            Fingerprints::Before => &self.before,
            Fingerprints::After => &self.after,
        };
        let Memory { address, bytes, .. } = region.memory;
        let prints = table.address() + 8 * region.first as u64;
        let arguments = [address, bytes, block.0, prints, changed];
        // SAFETY: the kernel takes these five words; the memory is there, and so is a word of the table for each block.
        unsafe { self.fingerprint.launch((self.blocks, THREADS), self.stream, arguments) }
    }

    /// Allocates memory of the measurement itself, which no launch is taken to reach.
    pub(crate) fn own_memory(&self, purpose: &str, bytes: usize) -> Result<DeviceMemory, DeviceError> {
        let first = next_number();
        let memory = DeviceMemory::new(purpose, bytes)?;
        all_own().push(first..next_number());
        Ok(memory)
    }

    /// Waits for the detector's own work.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the device's own.
        check(unsafe { sys::cuStreamSynchronize(self.stream) })
    }
}

impl Regions {
    /// Splits `memory` into the smallest blocks whose fingerprints fit into the table; `None` if no size fits.
    fn new(memory: &[Memory]) -> Option<Self> {
        (SMALLEST.ilog2()..u64::BITS).map(|power| 1 << power).find_map(|block| {
            let mut first = 0;
            let place = |memory: &Memory| {
                let region = Region { memory: *memory, first };
                // The memory may begin within a block and end within one.
                first += (memory.bytes / block) as usize + 2;
                region
            };
            let regions = memory.iter().map(place).collect();
            (first <= PRINTS).then_some(Self { regions, block: Bytes(block) })
        })
    }

    /// Returns the regions that are in `other` too.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let regions = self.regions.iter().filter(|region| other.has(region)).copied().collect();
        Self { regions, block: self.block }
    }

    /// Returns true if a region is among these.
    pub(crate) fn has(&self, region: &Region) -> bool {
        self.regions.iter().any(|it| it.memory == region.memory)
    }

    /// Returns one region alone.
    pub(crate) fn only(&self, region: Region) -> Self {
        Self { regions: vec![region], block: self.block }
    }

    /// Returns the size of all regions.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.regions.iter().map(|region| region.memory.bytes).sum())
    }
}

/// The measurement's own allocations, on all devices of this process: no launch should reach them.
fn all_own() -> MutexGuard<'static, Vec<Range<u64>>> {
    static OWN: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of the next allocation.
pub(crate) fn next_number() -> u64 {
    gpubench_driver::memory().last().map_or(0, |memory| memory.number + 1)
}

/// Returns the free and the total memory of the device.
pub(crate) fn free_and_total() -> Option<(Bytes, Bytes)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are valid for writing a size.
    let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
    (result == CUDA_SUCCESS).then_some((Bytes(free as u64), Bytes(total as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(address: u64, bytes: u64) -> Memory {
        Memory { address, bytes, kind: MemoryKind::Device, number: address }
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
            assert!(block.is_power_of_two() && block >= SMALLEST);
            let mut taken = 0;
            for Region { memory, first } in &regions.regions {
                assert!(*first >= taken);
                let start = memory.address / 16 * 16;
                taken = first + (memory.address + memory.bytes - start).div_ceil(block) as usize;
            }
            assert!(taken <= PRINTS, "{taken} words for {} bytes", regions.bytes().0);
        }
        let block = |bytes| Regions::new(&[memory(0, bytes)]).map(|regions| regions.block);
        assert_eq!([block(1 << 20), block(2 << 30)], [Some(Bytes(512)), Some(Bytes(4096))]);
        assert!(Regions::new(&vec![memory(0, 1); PRINTS]).is_none());
    }
}
