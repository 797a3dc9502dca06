//! Launches after the samples, compared with a launch on fresh inputs, whose memory [`Outputs`] keeps. A launch that returns an
//! earlier result, or skips work that looks done, is detected by what it writes and by its time.

use std::time::Duration;

use gpubench_driver::{Memory, MemoryKind, sys};

use super::memory::{Fingerprints, Region, Regions, WriteDetector, free_and_total};
use super::{reset, synchronize};
use crate::device::{Inputs, Work};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::{CallError, DeviceMemory, EventPair, check};
use gpubench_records::{Failure, Relaunch, Rewritten};
use gpubench_stats::{Bytes, Nanoseconds};

/// The most allocations that are each checked for changes.
const MOST_REGIONS: usize = 64;
/// The most memory that is copied, and the part of the free memory that a copy may take.
const MOST_COPIED: Bytes = Bytes(4 << 30);
const PART_OF_FREE: u64 = 4;
/// The most launches that show whether an output is written again. Two contents alternate, so that a ring of up to three buffers
/// meets each of them in each of its states.
const REWRITES: usize = 6;
/// A launch writes other blocks than another one if the blocks that differ are this many times those that it writes.
const OTHER_BLOCKS: f64 = 1.25;
/// The delay before a launch, in which the host enqueues it.
const DELAY: Duration = Duration::from_micros(300);

/// A copy of the memory that a launch can reach, from before it.
pub(super) struct Shadow {
    regions: Regions,
    copy: DeviceMemory,
}

impl Shadow {
    /// Copies the device's own memory among `regions`, if there is enough memory.
    pub(super) fn copy(detector: &WriteDetector, regions: &Regions) -> Option<Self> {
        let mut regions = regions.clone();
        regions.regions.retain(|region| region.memory.kind == MemoryKind::Device);
        let (bytes, (free, _)) = (regions.bytes(), free_and_total()?);
        let fits = bytes > Bytes::ZERO && bytes <= MOST_COPIED && bytes <= free / PART_OF_FREE;
        if !fits || regions.regions.len() > MOST_REGIONS {
            return None;
        }
        let copy = detector.own_memory("a copy of the inputs", bytes.as_usize()).ok()?;
        let shadow = Self { regions, copy };
        shadow
            .pairs()
            .try_for_each(|(memory, copy)| copied(copy, memory.address, memory.bytes, detector))
            .and_then(|()| detector.wait())
            .ok()?;
        Some(shadow)
    }

    /// Returns each region with the address of its copy.
    fn pairs(&self) -> impl Iterator<Item = (Memory, u64)> {
        self.regions.regions.iter().scan(self.copy.address(), |next, region| {
            let copy = *next;
            *next += region.memory.bytes;
            Some((region.memory, copy))
        })
    }

    /// Restores the content of a region.
    fn restore(&self, region: &Region, detector: &WriteDetector) -> Result<(), CallError> {
        let Some((memory, copy)) = self.pairs().find(|(memory, _)| *memory == region.memory) else {
            return Ok(());
        };
        copied(memory.address, copy, memory.bytes, detector)
    }
}

/// Copies on the detector's stream.
fn copied(to: u64, from: u64, bytes: u64, detector: &WriteDetector) -> Result<(), CallError> {
    // SAFETY: source and destination exist, and have this many bytes.
    check(unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, detector.stream) })
}

/// The memory that a launch on fresh inputs could reach, with its fingerprints from before and after in the detector's tables.
pub(crate) struct Outputs {
    regions: Regions,
    /// The regions that it changed, and the size of the changed blocks of each.
    changed: Vec<(Region, Bytes)>,
    /// True if it may have changed more than that.
    unseen: bool,
    /// The memory before it.
    before: Option<Shadow>,
    /// The output that it changed most, as it left it.
    after: Option<Shadow>,
}

impl Outputs {
    /// Returns true if some of the memory is managed.
    fn is_managed(&self) -> bool {
        self.regions.regions.iter().any(|region| region.memory.kind == MemoryKind::Managed)
    }

    /// Keeps what a launch left in `regions`, whose contents from before it are in `before`. `unseen` is true if it may have written
    /// more than that.
    pub(super) fn keep(
        detector: &WriteDetector,
        regions: Regions,
        before: Option<Shadow>,
        unseen: bool,
    ) -> Result<Self, CallError> {
        let changed = detector.changed_in_each(Fingerprints::Before, &regions)?;
        detector.take(Fingerprints::After, &regions)?;
        let mut outputs = Self { regions, changed, unseen, before, after: None };
        outputs.after = outputs.largest().and_then(|(region, _)| {
            let alone = outputs.regions.only(region);
            Shadow::copy(detector, &alone)
        });
        Ok(outputs)
    }

    /// Returns the size of all blocks that the launch changed.
    pub(super) fn changed(&self) -> Bytes {
        self.changed.iter().map(|(_, changed)| *changed).sum()
    }

    /// Returns the copied region that the launch changed most, and the size of the changed blocks.
    fn largest(&self) -> Option<(Region, Bytes)> {
        let before = self.before.as_ref()?;
        let copied = self.changed.iter().copied().filter(|(region, _)| before.regions.has(region));
        copied.max_by_key(|(_, changed)| *changed)
    }

    /// Returns true if the launch changed this region.
    fn changes(&self, region: &Region) -> bool {
        self.changed.iter().any(|(changed, _)| changed.memory == region.memory)
    }
}

/// Launches `work` once after a flush. On fresh inputs, keeps what it writes.
pub(crate) fn launch_cold(
    work: &mut dyn Work,
    device: &mut Cuda,
    inputs: Inputs,
) -> Result<Option<Nanoseconds>, Failure> {
    if inputs == Inputs::Used {
        let time = launch(device, work)?;
        // Managed memory moves to whoever touches it, which takes its time.
        return Ok(Some(time).filter(|_| !device.outputs.as_ref().is_some_and(Outputs::is_managed)));
    }
    // These regions have been freed. The launch itself is the same.
    let unseen = device.outputs.take().is_none_or(|outputs| outputs.unseen);
    let before = device.write_detector.reachable().ok();
    if let Some(before) = &before {
        device.write_detector.take(Fingerprints::Before, before)?;
    }
    let shadow = before.as_ref().and_then(|before| Shadow::copy(&device.write_detector, before));
    let time = match launch(device, work) {
        Ok(time) => time,
        Err(failure) => {
            // On a lost device nothing can be freed, and trying to would hide the launch's own error.
            std::mem::forget(shadow);
            return Err(failure);
        }
    };
    if let (Some(before), Ok(after)) = (before, device.write_detector.reachable()) {
        let regions = before.common(&after);
        device.outputs = Some(Outputs::keep(&device.write_detector, regions, shadow, unseen)?);
    }
    Ok(Some(time).filter(|_| device.outputs.as_ref().is_some_and(|outputs| !outputs.is_managed())))
}

/// Restores all copied memory to its state before the last launch on fresh inputs. Returns false if there is no copy.
pub(crate) fn restore_inputs(device: &mut Cuda) -> Result<bool, CallError> {
    let Some((outputs, shadow)) = device.outputs.as_ref().and_then(|it| Some((it, it.before.as_ref()?)))
    else {
        return Ok(false);
    };
    let Ok(reachable) = device.write_detector.reachable() else { return Ok(false) };
    for region in outputs.regions.common(&reachable).regions {
        shadow.restore(&region, &device.write_detector)?;
    }
    device.write_detector.wait()?;
    Ok(true)
}

/// Launches `work` on used inputs and compares the memory with that after the launch on fresh inputs. Then launches again to see
/// whether it writes its largest output. Returns nothing if the memory cannot be compared.
pub(crate) fn relaunch(work: &mut dyn Work, device: &mut Cuda) -> Result<Option<Relaunch>, Failure> {
    let Some(mut outputs) = device.outputs.take() else { return Ok(None) };
    let done = compared(device, work, &mut outputs);
    device.outputs = Some(outputs);
    done
}

fn compared(
    device: &mut Cuda,
    work: &mut dyn Work,
    outputs: &mut Outputs,
) -> Result<Option<Relaunch>, Failure> {
    launch(device, work)?;
    let Ok(reachable) = device.write_detector.reachable() else { return Ok(None) };
    let regions = outputs.regions.common(&reachable);
    // The result is not used. Without this work, later samples would meet the DRAM stall at other moments.
    device.write_detector.changed(Fingerprints::After, &regions)?;
    let rewritten = match outputs.largest().filter(|(region, _)| regions.has(region)) {
        Some((largest, changed)) => Some(rewritten(device, work, outputs, (&regions, largest, changed))?),
        None => None,
    };
    let differs = match &outputs.before {
        Some(before) => repeated(device, work, before, &regions)?,
        None => Bytes::ZERO,
    };
    Ok(Some(Relaunch { differs, rewritten, ..Relaunch::default() }))
}

/// Launches again with all memory as it was before the launch on fresh inputs. Returns the size of the blocks that it left different
/// from that launch, or zero if it writes other blocks, as one that swaps buffers or appends to them does.
fn repeated(
    device: &mut Cuda,
    work: &mut dyn Work,
    before: &Shadow,
    regions: &Regions,
) -> Result<Bytes, Failure> {
    for region in &regions.regions {
        before.restore(region, &device.write_detector)?;
    }
    device.write_detector.take(Fingerprints::Before, regions)?;
    launch(device, work)?;
    let differs = device.write_detector.changed(Fingerprints::After, regions)?;
    let written = device.write_detector.changed(Fingerprints::Before, regions)?;
    // Each block that only one of the two launches writes differs too.
    let elsewhere = differs.as_f64() > OTHER_BLOCKS * written.as_f64();
    Ok(if elsewhere { Bytes::ZERO } else { differs })
}

/// Launches after replacing the contents of the largest output, until a launch writes as much as the first one did. A launch that
/// swaps buffers writes another one every other time, and a converged iteration may write what one of the contents holds. So the
/// contents alternate, and writes to memory that the first launch only read count too.
fn rewritten(
    device: &mut Cuda,
    work: &mut dyn Work,
    outputs: &Outputs,
    (regions, largest, changed): (&Regions, Region, Bytes),
) -> Result<Rewritten, Failure> {
    let contents: Vec<&Shadow> = [&outputs.before, &outputs.after].into_iter().flatten().collect();
    let mut again = Bytes::ZERO;
    for shadow in contents.iter().cycle().take(REWRITES) {
        shadow.restore(&largest, &device.write_detector)?;
        device.write_detector.take(Fingerprints::Before, regions)?;
        launch(device, work)?;
        let written = device.write_detector.changed_in_each(Fingerprints::Before, regions)?;
        let sum = |counts: &dyn Fn(&Region) -> bool| -> Bytes {
            written.iter().filter(|(region, _)| counts(region)).map(|(_, changed)| *changed).sum()
        };
        let there = sum(&|region| region.memory == largest.memory);
        again = again.max(there).max(sum(&|region| !outputs.changes(region)));
        if Relaunch::is_rewritten(changed, again) {
            break;
        }
    }
    Ok(Rewritten { changed, again })
}

/// Resets, flushes and launches once, and waits. Returns the time between two events around it.
fn launch(device: &mut Cuda, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
    reset(device, work)?;
    let (pair, stream) = (EventPair::new()?, device.stream);
    // Drops an earlier output, before the delay.
    work.keep_output(true);
    device.flusher.enqueue(device.usual_flush(), stream)?;
    device.kernels.delay(DELAY, stream)?;
    pair.start.record(stream)?;
    work.launch()?;
    pair.stop.record(stream)?;
    synchronize(device)?;
    Ok(pair.read()?)
}
