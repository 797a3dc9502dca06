//! Looks at the memory that a launch can reach. In: what this process has allocated, as the driver's forwarders saw it; out:
//! fingerprints of it, by which to tell what changed. No copy is made: memory is read, and a table of [`PRINTS`] words is
//! written, however much there is.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::sys::{self, CUdevice, CUpointer_attribute, CUresult, CUstream};
use gpubench_driver::{Memory, MemoryKind};

use crate::device::DeviceError;
use crate::device::cuda::driver::{CallError, check};
use crate::device::cuda::kernels::{Kernel, driver_error, find, load};
use gpubench_stats::units::Bytes;

const MEMORY: &str = include_str!("../kernels/memory.ptx");

/// How many blocks have a fingerprint, at the most: 8 MiB of them.
const PRINTS: usize = 1 << 20;
/// The smallest block: what a warp reads at once.
const SMALLEST: u64 = 512;
/// Threads of the kernels.
const THREADS: u32 = 256;

/// Memory that is looked at: its fingerprints lie in a table from `first` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) memory: Memory,
    first: usize,
}

/// All memory that a launch can reach, or a part of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    pub(crate) regions: Vec<Region>,
    /// In blocks of so many bytes.
    pub(crate) block: Bytes,
}

/// Takes and compares fingerprints.
pub(crate) struct WriteDetector {
    fingerprint: Kernel,
    complement: Kernel,
    prints: DeviceBuffer<u64>,
    changed: DeviceBuffer<u64>,
    device: CUdevice,
    stream: CUstream,
    blocks: u32,
    /// What was allocated from here to there is this write_detector's device's own.
    own: Range<u64>,
    // The kernels are parts of it.
    _module: Module,
}

impl WriteDetector {
    /// For launches on `device`, which is current; its own work goes to `stream`. All that was allocated from number `first`
    /// on is the measurement's own.
    pub(crate) fn new(
        device: CUdevice,
        multiprocessors: u32,
        stream: CUstream,
        first: u64,
    ) -> Result<Self, DeviceError> {
        let module = load(MEMORY)?;
        let table = |words| {
            DeviceBuffer::zeroed(words).map_err(|error| driver_error("a table of fingerprints", error))
        };
        let (prints, changed) = (table(PRINTS)?, table(1)?);
        let write_detector = Self {
            fingerprint: find(&module, "gpubench_fingerprint")?,
            complement: find(&module, "gpubench_complement")?,
            prints,
            changed,
            device,
            stream,
            blocks: 8 * multiprocessors,
            own: first..next_number(),
            _module: module,
        };
        all_own().push(write_detector.own.clone());
        // The kernel is loaded by its first launch: here, where there is nothing yet whose place that could change.
        write_detector.take(&write_detector.last_of_its_own())?;
        Ok(write_detector)
    }

    fn last_of_its_own(&self) -> Regions {
        let last = gpubench_driver::memory().into_iter().rfind(|memory| self.own.contains(&memory.number));
        last.and_then(|last| Regions::of(&[last])).unwrap_or_default()
    }

    /// The memory that a launch on this device can reach, oldest first; or why not all of it can be looked at.
    pub(crate) fn reachable(&self) -> Result<Regions, String> {
        if let Some(call) = gpubench_driver::unlisted() {
            return Err(format!("there is memory by {call}"));
        }
        let mut memory = Vec::new();
        for it in gpubench_driver::memory() {
            if !all_own().iter().any(|own| own.contains(&it.number)) && self.is_ours(&it)? {
                memory.push(it);
            }
        }
        let managed: u64 = memory.iter().filter(|it| it.kind == MemoryKind::Managed).map(|it| it.bytes).sum();
        // To look at more would move pages to and fro.
        if managed > 0 && room().is_none_or(|(free, _)| managed > free.0) {
            return Err("there is more managed memory than the device has free".to_owned());
        }
        Regions::of(&memory).ok_or_else(|| "there are too many pieces of memory".to_owned())
    }

    /// Whether this device can reach it; it is an error if the driver does not know it.
    fn is_ours(&self, memory: &Memory) -> Result<bool, String> {
        let device = device_of(memory).ok_or("there is memory that the driver does not know any more")?;
        Ok(device == self.device || matches!(memory.kind, MemoryKind::Pinned | MemoryKind::Managed))
    }

    /// Keeps the fingerprints of `regions` in the table.
    pub(crate) fn take(&self, regions: &Regions) -> Result<(), CallError> {
        regions.regions.iter().try_for_each(|region| self.fingerprint(region, regions.block, 0))?;
        self.wait()
    }

    /// How much is in blocks whose fingerprints are not those in the table.
    pub(crate) fn changed(&self, regions: &Regions) -> Result<Bytes, CallError> {
        let changed = self.changed.as_device_ptr().as_raw();
        // SAFETY: there is a word.
        check(unsafe { sys::cuMemsetD8Async(changed, 0, 8, self.stream) })?;
        regions.regions.iter().try_for_each(|region| self.fingerprint(region, regions.block, changed))?;
        self.wait()?;
        let mut bytes = 0_u64;
        // SAFETY: `bytes` is a place for the word.
        check(unsafe { sys::cuMemcpyDtoH_v2((&raw mut bytes).cast(), changed, size_of_val(&bytes)) })?;
        Ok(Bytes(bytes))
    }

    /// Turns every bit of a region. Twice is as before.
    pub(crate) fn complement(&self, region: &Region) -> Result<(), CallError> {
        let Memory { mut address, mut bytes, .. } = region.memory;
        let arguments = &mut [(&raw mut address).cast::<c_void>(), (&raw mut bytes).cast()];
        // SAFETY: the kernel takes an address and a length, and the memory is there.
        unsafe { self.complement.launch((self.blocks, THREADS), self.stream, arguments) }?;
        self.wait()
    }

    fn fingerprint(&self, region: &Region, block: Bytes, mut changed: u64) -> Result<(), CallError> {
        let Memory { mut address, mut bytes, .. } = region.memory;
        let mut block = block.0;
        let mut prints = self.prints.as_device_ptr().as_raw() + 8 * region.first as u64;
        let arguments = &mut [
            (&raw mut address).cast::<c_void>(),
            (&raw mut bytes).cast(),
            (&raw mut block).cast(),
            (&raw mut prints).cast(),
            (&raw mut changed).cast(),
        ];
        // SAFETY: the kernel takes these five words; the memory is there, and so is a word of the table for each block.
        unsafe { self.fingerprint.launch((self.blocks, THREADS), self.stream, arguments) }
    }

    fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the device's own.
        check(unsafe { sys::cuStreamSynchronize(self.stream) })
    }
}

impl Regions {
    /// All of `memory`, in the smallest blocks for whose fingerprints there is room, if there is for any.
    fn of(memory: &[Memory]) -> Option<Self> {
        (SMALLEST.ilog2()..u64::BITS).map(|power| 1 << power).find_map(|block| {
            let mut first = 0;
            let place = |memory: &Memory| {
                let region = Region { memory: *memory, first };
                // It may begin within a block and end within one.
                first += (memory.bytes / block) as usize + 2;
                region
            };
            let regions = memory.iter().map(place).collect();
            (first <= PRINTS).then_some(Self { regions, block: Bytes(block) })
        })
    }

    /// Those that are in `other` too.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let there = |region: &&Region| other.regions.iter().any(|it| it.memory == region.memory);
        Self { regions: self.regions.iter().filter(there).copied().collect(), block: self.block }
    }

    /// One of them alone.
    pub(crate) fn only(&self, region: Region) -> Self {
        Self { regions: vec![region], block: self.block }
    }

    /// How much they are.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes(self.regions.iter().map(|region| region.memory.bytes).sum())
    }
}

/// What the measurement itself has allocated, on all devices of this process: no launch is to reach it.
fn all_own() -> MutexGuard<'static, Vec<Range<u64>>> {
    static OWN: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number that the next allocation has.
pub(crate) fn next_number() -> u64 {
    gpubench_driver::memory().last().map_or(0, |memory| memory.number + 1)
}

/// The device that memory belongs to; nothing where the driver does not know the memory.
fn device_of(memory: &Memory) -> Option<CUdevice> {
    let mut device = -1;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    // SAFETY: `device` is a place for the attribute; the driver looks the address up and does not follow it.
    let result = unsafe { sys::cuPointerGetAttribute((&raw mut device).cast(), attribute, memory.address) };
    if result != CUresult::CUDA_SUCCESS {
        // That it does not know it is an answer.
        _ = gpubench_driver::take_failure();
        return None;
    }
    Some(device)
}

/// How much of the device's memory is free, and how much there is.
pub(crate) fn room() -> Option<(Bytes, Bytes)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are places for a size.
    let result = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
    (result == CUresult::CUDA_SUCCESS).then_some((Bytes(free as u64), Bytes(total as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(address: u64, bytes: u64) -> Memory {
        Memory { address, bytes, kind: MemoryKind::Device, number: address }
    }

    /// No two regions share a word of the table, and none lies behind its end.
    #[test]
    fn there_is_a_word_for_each_block() {
        for all in [
            vec![memory(0, 1), memory(512, 4096), memory(9000, 4)],
            vec![memory(0, 2 << 30), memory(3 << 30, 64)],
            vec![memory(0, 139 << 30)],
            (0..400_000).map(|index| memory(1024 * index, 512)).collect(),
        ] {
            let regions = Regions::of(&all).expect("there is room");
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
        let block = |bytes| Regions::of(&[memory(0, bytes)]).map(|regions| regions.block);
        assert_eq!([block(1 << 20), block(2 << 30)], [Some(Bytes(512)), Some(Bytes(4096))]);
        assert!(Regions::of(&vec![memory(0, 1); PRINTS]).is_none());
    }
}
