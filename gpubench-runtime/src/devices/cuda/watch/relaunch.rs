//! Compares launches after the samples with a launch on fresh inputs, whose memory [`LaunchBaseline`] keeps.
//! What a launch writes, and its time, show whether it returns an earlier result or skips work that looks
//! done.

use std::time::Duration;

use gpubench_driver::{MemoryKind, MemoryRange, sys};

use super::super::Cuda;
use super::super::driver::{CallError, DeviceMemory, EventPair, check};
use super::memory::{FingerprintTable, Region, Regions, WriteDetector, free_and_total_memory};
use super::reset;
use crate::device::{Device, InputState, Work};
use gpubench_records::{Failure, Relaunch, Rewritten, Stage};
use gpubench_stats::{Bytes, Nanoseconds};

/// The most allocations that are copied before a launch on fresh inputs, so that later launches can start
/// from the same memory. With more, nothing is copied, and later launches are not compared.
const MOST_COPIED_REGIONS: usize = 64;
/// The most memory that is copied before a launch on fresh inputs (4 GiB). With more, nothing is copied.
const MOST_COPIED_BYTES: Bytes = Bytes(4 << 30);
/// A copy that would take more than the free memory divided by this is not made.
const FREE_MEMORY_DIVISOR: u64 = 4;
/// The most launches that show whether an output is written again. Before them, two contents of the output
/// alternate, so that a launch that cycles through three buffers writes this output once with each content in
/// it.
const MOST_REWRITE_LAUNCHES: usize = 6;
/// A later launch is assumed to write other blocks than the first one if the size of the blocks that differ
/// between both is more than this many times the size that the later launch writes.
const OTHER_BLOCKS_FACTOR: f64 = 1.25;
/// The delay on the device before a launch, while the host enqueues the launch.
const ENQUEUE_DELAY: Duration = Duration::from_micros(300);

/// A copy of device memory that a launch can reach.
pub(super) struct MemoryCopy {
    regions: Regions,
    copy: DeviceMemory,
}

impl MemoryCopy {
    /// Copies the device memory among `regions` to memory of gpubench, and waits. Returns `None` if there is
    /// no device memory, if it has more than [`MOST_COPIED_BYTES`], a quarter of the free memory, or
    /// [`MOST_COPIED_REGIONS`] allocations, or if the copy fails.
    pub(super) fn new(detector: &WriteDetector, regions: &Regions) -> Option<Self> {
        let mut regions = regions.clone();
        regions.regions.retain(|region| region.memory.kind == MemoryKind::Device);
        let (bytes, (free, _)) = (regions.bytes(), free_and_total_memory()?);
        let fits = bytes > Bytes::ZERO && bytes <= MOST_COPIED_BYTES && bytes <= free / FREE_MEMORY_DIVISOR;
        if !fits || regions.regions.len() > MOST_COPIED_REGIONS {
            return None;
        }
        let copy = detector.allocate_own("a copy of the inputs", bytes.as_usize()).ok()?;
        let memory_copy = Self { regions, copy };
        memory_copy
            .pairs()
            .try_for_each(|(memory, copy)| enqueue_copy(copy, memory.address, memory.bytes, detector))
            .and_then(|()| detector.wait())
            .ok()?;
        Some(memory_copy)
    }

    /// Returns each copied allocation with the address of its copy.
    fn pairs(&self) -> impl Iterator<Item = (MemoryRange, u64)> {
        self.regions.regions.iter().scan(self.copy.address(), |next, region| {
            let copy = *next;
            *next += region.memory.bytes;
            Some((region.memory, copy))
        })
    }

    /// Copies the content back to `region`. Does nothing if the region was not copied. Does not wait.
    fn restore(&self, region: &Region, detector: &WriteDetector) -> Result<(), CallError> {
        let Some((memory, copy)) = self.pairs().find(|(memory, _)| *memory == region.memory) else {
            return Ok(());
        };
        enqueue_copy(memory.address, copy, memory.bytes, detector)
    }
}

/// Enqueues a copy of `bytes` bytes on the stream of the detector.
fn enqueue_copy(to: u64, from: u64, bytes: u64, detector: &WriteDetector) -> Result<(), CallError> {
    // SAFETY: source and destination exist, and have this many bytes.
    check(unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, detector.stream) })
}

/// The memory that a launch on fresh inputs could reach, before and after the launch. Its fingerprints are in
/// the tables of the detector.
pub(crate) struct LaunchBaseline {
    regions: Regions,
    /// The regions that the launch changed, each with the size of its changed blocks.
    changed: Vec<(Region, Bytes)>,
    /// The copy of the memory from before the launch; `None` if [`MemoryCopy::new`] made none.
    before: Option<MemoryCopy>,
    /// A copy of [`Self::largest_output`] from after the launch; `None` without such a region, or if
    /// [`MemoryCopy::new`] made none.
    after: Option<MemoryCopy>,
}

impl LaunchBaseline {
    /// Returns true if a region is managed memory.
    fn is_managed(&self) -> bool {
        self.regions.regions.iter().any(|region| region.memory.kind == MemoryKind::Managed)
    }

    /// Compares `regions` with their fingerprints from before the launch, and stores their fingerprints from
    /// after it. Copies [`Self::largest_output`]. `before` is the copy from before the launch.
    pub(super) fn compare_after_launch(
        detector: &WriteDetector,
        regions: Regions,
        before: Option<MemoryCopy>,
    ) -> Result<Self, CallError> {
        let changed = detector.changed_regions(FingerprintTable::Before, &regions)?;
        detector.store_fingerprints(FingerprintTable::After, &regions)?;
        let mut baseline = Self { regions, changed, before, after: None };
        baseline.after = baseline.largest_output().and_then(|(region, _)| {
            let alone = baseline.regions.single(region);
            MemoryCopy::new(detector, &alone)
        });
        Ok(baseline)
    }

    /// Returns true if `copy` holds all regions that the launch changed. Otherwise, such as with managed memory, an
    /// output to which launches add cannot be restored.
    fn all_changes_are_in(&self, copy: &MemoryCopy) -> bool {
        self.changed.iter().all(|(region, _)| copy.regions.contains(region))
    }

    /// Returns the total size of all blocks that the launch changed.
    pub(super) fn changed(&self) -> Bytes {
        self.changed.iter().map(|(_, changed)| *changed).sum()
    }

    /// Returns the copied region that the launch changed most, with the size of its changed blocks. Returns
    /// `None` if no region was copied, or if the launch changed no copied region.
    fn largest_output(&self) -> Option<(Region, Bytes)> {
        let before = self.before.as_ref()?;
        let copied = self.changed.iter().copied().filter(|(region, _)| before.regions.contains(region));
        copied.max_by_key(|(_, changed)| *changed)
    }
}

/// Resets, flushes and launches `work` once, and returns the time of the launch. On fresh inputs, also stores
/// the memory before and after the launch in `device`. Returns `None` if some of the stored memory is
/// managed, since the time includes moving it to the GPU. On fresh inputs, also returns `None` if the memory
/// could not be read.
pub(crate) fn time_cold_launch(
    work: &mut dyn Work,
    device: &mut Cuda,
    inputs: InputState,
) -> Result<Option<Nanoseconds>, Failure> {
    if inputs == InputState::Used {
        let time = launch_and_time(device, work)?;
        // Managed memory moves to whoever touches it, which takes its time.
        return Ok(Some(time).filter(|_| !device.baseline.as_ref().is_some_and(LaunchBaseline::is_managed)));
    }
    // These regions have been freed.
    device.baseline = None;
    let before = device.write_detector.reachable().ok();
    if let Some(before) = &before {
        device.write_detector.store_fingerprints(FingerprintTable::Before, before)?;
    }
    let copy = before.as_ref().and_then(|before| MemoryCopy::new(&device.write_detector, before));
    let time = match launch_and_time(device, work) {
        Ok(time) => time,
        Err(failure) => {
            // On a lost device nothing can be freed, and trying to would hide the launch's own error.
            std::mem::forget(copy);
            return Err(failure);
        }
    };
    if let (Some(before), Ok(after)) = (before, device.write_detector.reachable()) {
        let regions = before.intersection(&after);
        device.baseline = Some(LaunchBaseline::compare_after_launch(&device.write_detector, regions, copy)?);
    }
    Ok(Some(time).filter(|_| device.baseline.as_ref().is_some_and(|baseline| !baseline.is_managed())))
}

/// Restores all copied memory that still exists to its state before the last launch on fresh inputs, and
/// waits. Returns false, and restores nothing, if there is no copy, or if the reachable memory cannot be
/// read.
pub(crate) fn restore_inputs(device: &mut Cuda) -> Result<bool, CallError> {
    let Some((baseline, copy)) = device.baseline.as_ref().and_then(|it| Some((it, it.before.as_ref()?)))
    else {
        return Ok(false);
    };
    let Ok(reachable) = device.write_detector.reachable() else { return Ok(false) };
    for region in baseline.regions.intersection(&reachable).regions {
        copy.restore(&region, &device.write_detector)?;
    }
    device.write_detector.wait()?;
    Ok(true)
}

/// Launches `work` on used inputs, and then several times on replaced and restored memory. Returns how the
/// results differ from those of the launch on fresh inputs, and whether the largest output is written again.
/// Returns `None` if there was no launch on fresh inputs whose memory could be read, or if the memory cannot
/// be read now.
pub(crate) fn relaunch(work: &mut dyn Work, device: &mut Cuda) -> Result<Option<Relaunch>, Failure> {
    let Some(baseline) = device.baseline.take() else { return Ok(None) };
    let done = relaunch_with_baseline(device, work, &baseline);
    device.baseline = Some(baseline);
    done
}

/// Does the launches of [`relaunch`], and compares the memory with `baseline`. Returns `None` if the memory
/// cannot be read now. Without a copy in `baseline` of all that the launch changed, reports no difference; without
/// any copy, leaves out whether the output is written again.
fn relaunch_with_baseline(
    device: &mut Cuda,
    work: &mut dyn Work,
    baseline: &LaunchBaseline,
) -> Result<Option<Relaunch>, Failure> {
    launch_and_time(device, work)?;
    let Ok(reachable) = device.write_detector.reachable() else { return Ok(None) };
    let regions = baseline.regions.intersection(&reachable);
    // The result is not used. Without this work, later samples would meet the DRAM stall at other moments.
    device.write_detector.changed_regions(FingerprintTable::After, &regions)?;
    let rewritten = match baseline.largest_output().filter(|(region, _)| regions.contains(region)) {
        Some((largest, changed)) => {
            Some(relaunch_on_replaced_output(device, work, baseline, (&regions, largest, changed))?)
        }
        None => None,
    };
    let differs = match baseline.before.as_ref().filter(|before| baseline.all_changes_are_in(before)) {
        Some(before) => relaunch_on_restored_memory(device, work, (baseline, before), &regions)?,
        None => Bytes::ZERO,
    };
    Ok(Some(Relaunch { differs, rewritten, ..Relaunch::default() }))
}

/// Restores all memory to its state before the launch on fresh inputs, and launches again. Returns the size
/// of the blocks that differ from their state after the launch on fresh inputs, in the regions that one of the
/// two launches changed: others may have been changed since by the program, such as pinned memory to which a
/// check copies an output. Returns 0 if the two launches write different blocks, as launches do that swap
/// buffers or append to them.
fn relaunch_on_restored_memory(
    device: &mut Cuda,
    work: &mut dyn Work,
    (baseline, before): (&LaunchBaseline, &MemoryCopy),
    regions: &Regions,
) -> Result<Bytes, Failure> {
    for region in &regions.regions {
        before.restore(region, &device.write_detector)?;
    }
    device.write_detector.store_fingerprints(FingerprintTable::Before, regions)?;
    launch_and_time(device, work)?;
    let differing = device.write_detector.changed_regions(FingerprintTable::After, regions)?;
    let written = device.write_detector.changed_regions(FingerprintTable::Before, regions)?;
    let is_changed = |region: &Region| {
        baseline.changed.iter().chain(&written).any(|(changed, _)| changed.memory == region.memory)
    };
    let differs: Bytes =
        differing.iter().filter(|(region, _)| is_changed(region)).map(|(_, bytes)| *bytes).sum();
    let written: Bytes = written.iter().map(|(_, bytes)| *bytes).sum();
    // Each block that only one of the two launches writes differs too.
    let elsewhere = differs.as_f64() > OTHER_BLOCKS_FACTOR * written.as_f64();
    Ok(if elsewhere { Bytes::ZERO } else { differs })
}

/// Replaces the content of the largest output and launches, until a launch writes most of the size that the
/// launch on fresh inputs changed, at most [`MOST_REWRITE_LAUNCHES`] times. Returns the size that the launch
/// on fresh inputs changed, and the largest size that was written again.
///
/// A launch that swaps buffers writes another buffer every other time, and a converged iteration may write
/// what a buffer already holds. Therefore two contents alternate, and writes to memory that the launch on
/// fresh inputs only read count too.
fn relaunch_on_replaced_output(
    device: &mut Cuda,
    work: &mut dyn Work,
    baseline: &LaunchBaseline,
    (regions, largest, changed): (&Regions, Region, Bytes),
) -> Result<Rewritten, Failure> {
    let contents: Vec<&MemoryCopy> = [&baseline.before, &baseline.after].into_iter().flatten().collect();
    let mut again = Bytes::ZERO;
    for copy in contents.iter().cycle().take(MOST_REWRITE_LAUNCHES) {
        copy.restore(&largest, &device.write_detector)?;
        device.write_detector.store_fingerprints(FingerprintTable::Before, regions)?;
        launch_and_time(device, work)?;
        let written = device.write_detector.changed_regions(FingerprintTable::Before, regions)?;
        let sum = |counts: &dyn Fn(&Region) -> bool| -> Bytes {
            written.iter().filter(|(region, _)| counts(region)).map(|(_, changed)| *changed).sum()
        };
        let there = sum(&|region| region.memory == largest.memory);
        let changed_first =
            |region: &Region| baseline.changed.iter().any(|(first, _)| first.memory == region.memory);
        again = again.max(there).max(sum(&|region| !changed_first(region)));
        if Relaunch::is_rewritten(changed, again) {
            break;
        }
    }
    Ok(Rewritten { changed, again })
}

/// Resets, flushes, and launches `work` once, and waits. Returns the time between two events around the
/// launch. Keeps the output of this launch, and drops an earlier one.
fn launch_and_time(device: &mut Cuda, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
    reset(device, work)?;
    let (pair, stream) = (EventPair::new()?, device.stream);
    // Drops an earlier output, before the delay.
    work.keep_output(true);
    device.flusher.enqueue(device.usual_flush(), stream)?;
    device.kernels.delay(ENQUEUE_DELAY, stream)?;
    pair.start.record(stream)?;
    work.launch()?;
    pair.stop.record(stream)?;
    device.synchronize_in(Stage::Launch)?;
    Ok(pair.read()?)
}
