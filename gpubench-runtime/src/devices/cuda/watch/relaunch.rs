//! Launches after the samples, held against the checked launch. In: the memory before and after the checked launch, kept by
//! [`Outputs`]; out: a [`Relaunch`]. A launch that returns an earlier result, skips work that looks done, or builds on what the
//! launch before left is seen by the memory that it writes, and by its time once its largest output is not in place.

use gpubench_driver::sys;
use gpubench_driver::{Memory, MemoryKind};

use super::memory::{Fingerprints, Region, Regions, WriteDetector, room};
use super::{reset, settle};
use crate::device::Work;
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::event::EventPair;
use crate::devices::cuda::driver::memory::{DeviceMemory, Span};
use crate::devices::cuda::driver::{CallError, check};
use gpubench_records::failure::Failure;
use gpubench_records::relaunch::{Relaunch, Rewritten};
use gpubench_stats::units::{Bytes, Nanoseconds};
use std::time::Duration;

/// The most allocations of which each is looked at for changes.
const MOST_REGIONS: usize = 64;
/// The most memory that is copied, and the part of the free memory that a copy may take.
const MOST_COPIED: Bytes = Bytes(4 << 30);
const PART_OF_FREE: u64 = 4;
/// The launches of each kind, of which the shortest counts.
const LAUNCHES: usize = 2;
/// The delay before a launch, in which the host enqueues it.
const DELAY: Duration = Duration::from_micros(300);

/// A copy of the memory that a launch can reach, from before it.
pub(super) struct Shadow {
    regions: Vec<Region>,
    copy: DeviceMemory,
}

impl Shadow {
    /// Copies the device's own memory among `regions`, if there is room for it.
    pub(super) fn of(detector: &WriteDetector, regions: &Regions) -> Option<Self> {
        let own = |region: &&Region| region.memory.kind == MemoryKind::Device;
        let regions: Vec<Region> = regions.regions.iter().filter(own).copied().collect();
        let bytes: u64 = regions.iter().map(|region| region.memory.bytes).sum();
        let (free, _) = room()?;
        let fits = bytes > 0 && Bytes(bytes) <= MOST_COPIED && bytes <= free.0 / PART_OF_FREE;
        if !fits || regions.len() > MOST_REGIONS {
            return None;
        }
        let copy = detector.own_memory("a copy of the inputs", bytes as usize).ok()?;
        let shadow = Self { regions, copy };
        shadow
            .pairs()
            .try_for_each(|(memory, place)| copied(place, memory.address, memory.bytes, detector))
            .ok()?;
        Some(shadow)
    }

    /// Returns each region with the place of its copy.
    fn pairs(&self) -> impl Iterator<Item = (Memory, u64)> {
        self.regions.iter().scan(self.copy.address(), |place, region| {
            let this = *place;
            *place += region.memory.bytes;
            Some((region.memory, this))
        })
    }

    fn holds(&self, region: &Region) -> bool {
        self.regions.iter().any(|it| it.memory == region.memory)
    }

    /// Puts a region back to what it held.
    fn restore(&self, region: &Region, detector: &WriteDetector) -> Result<(), CallError> {
        let Some((memory, place)) = self.pairs().find(|(memory, _)| *memory == region.memory) else {
            return Ok(());
        };
        copied(memory.address, place, memory.bytes, detector)
    }
}

/// Copies on the detector's stream.
fn copied(to: u64, from: u64, bytes: u64, detector: &WriteDetector) -> Result<(), CallError> {
    // SAFETY: both places have as many bytes, and exist.
    check(unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, detector.stream()) })
}

/// The memory that the checked launch could reach, with its fingerprints from before and after in the detector's tables.
pub(crate) struct Outputs {
    regions: Regions,
    /// The regions that it changed, and the size of the changed blocks of each.
    changed: Vec<(Region, Bytes)>,
    /// True if it may have changed more than that.
    unseen: bool,
    shadow: Option<Shadow>,
    /// The size of the blocks that a later launch left otherwise; nothing before that.
    differs: Option<Bytes>,
}

impl Outputs {
    /// Returns true if some of the memory is managed.
    fn is_managed(&self) -> bool {
        self.regions.regions.iter().any(|region| region.memory.kind == MemoryKind::Managed)
    }

    /// Keeps what the checked launch left in `regions`, of which some have `changed`.
    pub(super) fn keep(
        detector: &WriteDetector,
        regions: Regions,
        (changed, unseen): (Vec<(Region, Bytes)>, bool),
        shadow: Option<Shadow>,
    ) -> Result<Self, CallError> {
        detector.take(Fingerprints::After, &regions)?;
        let outputs = Self { regions, changed, unseen, shadow: None, differs: None };
        let largest = outputs.largest_in(shadow.as_ref());
        Ok(Self { shadow: shadow.filter(|_| largest.is_some()), ..outputs })
    }

    /// Returns the region of `shadow` that the checked launch changed most, and the size of the changed blocks.
    fn largest_in(&self, shadow: Option<&Shadow>) -> Option<(Region, Bytes)> {
        let copied = |region: &Region| shadow.is_some_and(|shadow| shadow.holds(region));
        self.changed.iter().copied().filter(|(region, _)| copied(region)).max_by_key(|(_, changed)| *changed)
    }

    /// Returns the memory that each launch overwrites as a whole, if it leaves the same there, and writes no more than `little`
    /// elsewhere; nothing if that is not known.
    pub(crate) fn overwritten(&self, little: Bytes) -> Option<Vec<Span>> {
        if self.unseen || self.differs != Some(Bytes::ZERO) {
            return None;
        }
        let is_whole = |(region, changed): &&(Region, Bytes)| changed.0 == region.memory.bytes;
        let (whole, parts): (Vec<_>, Vec<_>) = self.changed.iter().partition(is_whole);
        let parts: Bytes = parts.iter().map(|(_, changed)| *changed).sum();
        let span = |(region, _): (Region, Bytes)| (region.memory.address, region.memory.bytes);
        (parts <= little).then(|| whole.into_iter().map(span).collect())
    }
}

/// Launches `work` again on the memory that the samples left. Returns nothing if the memory cannot be compared. Without `timed` no
/// launch is timed.
pub(crate) fn relaunch(
    device: &mut Cuda,
    work: &mut dyn Work,
    timed: bool,
) -> Result<Option<Relaunch>, Failure> {
    let Some(outputs) = device.outputs.take() else { return Ok(None) };
    let done = launched_again(device, work, &outputs);
    device.outputs = Some(outputs);
    let Some((differs, time)) = done? else { return Ok(None) };
    if let Some(outputs) = &mut device.outputs {
        outputs.differs = Some(differs);
    }
    // Managed memory moves to whoever touches it, which takes its time.
    let managed = device.outputs.as_ref().is_some_and(Outputs::is_managed);
    let in_place = Some(time).filter(|_| timed && !managed);
    Ok(Some(Relaunch { differs, checked: None, in_place, rewritten: None }))
}

/// Launches `work` again with its largest output as it was before the checked launch. Returns nothing if there is no copy of it.
pub(crate) fn rewrite(device: &mut Cuda, work: &mut dyn Work) -> Result<Option<Rewritten>, Failure> {
    let Some(outputs) = device.outputs.take() else { return Ok(None) };
    let done = rewritten(device, work, &outputs);
    device.outputs = Some(outputs);
    done
}

/// Returns the size of the blocks that differ from those after the checked launch, and the shortest time.
fn launched_again(
    device: &mut Cuda,
    work: &mut dyn Work,
    outputs: &Outputs,
) -> Result<Option<(Bytes, Nanoseconds)>, Failure> {
    let mut shortest = launch(device, work)?;
    for _ in 1..LAUNCHES {
        shortest = shortest.min(launch(device, work)?);
    }
    let Ok(reachable) = device.write_detector.reachable() else { return Ok(None) };
    let differs = device.write_detector.changed(Fingerprints::After, &outputs.regions.common(&reachable))?;
    Ok(Some((differs, shortest)))
}

fn rewritten(
    device: &mut Cuda,
    work: &mut dyn Work,
    outputs: &Outputs,
) -> Result<Option<Rewritten>, Failure> {
    let Ok(reachable) = device.write_detector.reachable() else { return Ok(None) };
    let regions = outputs.regions.common(&reachable);
    let there = |region: &Region| regions.regions.iter().any(|it| it.memory == region.memory);
    Ok(match (outputs.largest_in(outputs.shadow.as_ref()), &outputs.shadow) {
        (Some((region, changed)), Some(shadow)) if there(&region) => {
            let mut least: Option<Nanoseconds> = None;
            for _ in 0..LAUNCHES {
                shadow.restore(&region, &device.write_detector)?;
                device.write_detector.wait()?;
                let time = launch(device, work)?;
                least = Some(least.map_or(time, |least| least.min(time)));
            }
            let again = device.write_detector.changed(Fingerprints::Before, &regions.only(region))?;
            least.map(|time| Rewritten { changed, again, time })
        }
        _ => None,
    })
}

/// Resets, flushes and launches once, and waits. Returns the time between two events around it.
fn launch(device: &mut Cuda, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
    reset(device, work)?;
    let (pair, stream) = (EventPair::new()?, device.stream);
    device.flusher.enqueue(device.usual_flush(), &device.kernels, stream)?;
    device.kernels.delay(DELAY, stream)?;
    pair.start.record(stream)?;
    work.launch()?;
    pair.stop.record(stream)?;
    settle(device)?;
    Ok(pair.read()?)
}
