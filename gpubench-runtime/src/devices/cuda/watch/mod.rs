//! Observes the checked launch of a case: returns its [`LaunchInfo`], or a failure if timing would miss a
//! part of the launch. Also finds out whether a launch that changed no memory writes anything at all.

pub(crate) mod calls;
pub(crate) mod memory;
pub(crate) mod relaunch;

use std::time::{Duration, Instant};

use gpubench_driver::sys::{self, CUdevice};
use gpubench_driver::{DriverCall, Enqueued, KernelLaunch};

use self::memory::{FingerprintTable, Regions};
use self::relaunch::{LaunchBaseline, MemoryCopy};
use super::{Cuda, device_info, driver::EventPair};
use crate::device::{Device, DeviceError, Work};
use gpubench_records::{Failure, LaunchInfo, LaunchedKernel, Multiprocessors, Observation, Stage, Written};
use gpubench_stats::{Bytes, Map, format};

/// The most kernels of a launch that are reported by name. Later ones are only counted.
const MOST_KERNELS: usize = 4;
/// The delay on the device before a launch that is observed again, so that its work has not ended when the
/// launch queries it.
const OBSERVATION_DELAY: Duration = Duration::from_micros(300);
/// A launch is reported to keep memory if each of this many successive launches keeps memory.
const LEAK_TEST_LAUNCHES: usize = 8;
/// The most allocations that a case may have for [`writes_on_inverted_inputs`]. With more, its writes stay
/// unknown.
const MOST_INVERTED_ALLOCATIONS: usize = 64;

/// Launches `work` once, and waits for the launch. Returns the kernels of the launch, the memory that it
/// wrote, and its observations. Stores the operations, the time and the memory of the launch in `device`, for
/// comparison with later launches. Returns a failure if work of the launch is still running on another stream
/// when the given stream is done.
pub(crate) fn observe(work: &mut dyn Work, device: &mut Cuda) -> Result<LaunchInfo, Failure> {
    let before = device.write_detector.reachable().and_then(|regions| {
        device.write_detector.store_fingerprints(FingerprintTable::Before, &regions)?;
        Ok(regions)
    });
    device.baseline = None;
    let copy = before.as_ref().ok().and_then(|before| MemoryCopy::new(&device.write_detector, before));
    device.synchronize_in(Stage::Launch)?;
    let allocated = allocated_memory();
    _ = device.memory_growth();
    let (pair, stream) = (EventPair::new()?, device.stream);
    pair.start.record(stream)?;
    let begin = Instant::now();
    let (launched, calls) = gpubench_driver::watch(|| work.launch());
    launched?;
    let memory = device.memory_growth();
    let kept = kept_memory(allocated);
    if let Err(failure) =
        check_nothing_runs(device, &calls).and_then(|()| device.synchronize_in(Stage::Launch))
    {
        // On a lost device nothing can be freed, and trying to would hide the launch's own error.
        std::mem::forget((copy, pair));
        return Err(failure);
    }
    let first_launch_time = Some(begin.elapsed().into());
    pair.stop.record(stream)?;
    device.synchronize_in(Stage::Launch)?;
    device.first_launch = pair.read().ok();
    let written = before
        .and_then(|before| detect_writes(device, &before, &calls, copy))
        .unwrap_or_else(|why| Written::unseen(why.to_string()));
    // Launches are compared without their allocations, which are no operations.
    let op = |(on, work): (u64, &Enqueued)| Some((on == stream as u64, work.stream_op()?));
    device.checked.push(calls::enqueued(&calls).filter_map(op).collect());
    let kernels = || {
        calls::enqueued(&calls).filter_map(|(_, work)| match work {
            Enqueued::Kernel(kernel) => Some(kernel),
            _ => None,
        })
    };
    Ok(LaunchInfo {
        kernels: kernels().take(MOST_KERNELS).map_while(kernel_info).collect(),
        kernel_count: kernels().count(),
        multiprocessors: Some(device.multiprocessors),
        written: Some(written),
        memory,
        empty_launch_time: None,
        first_launch_time,
        observations: calls::observations(device.stream, &calls).into_iter().chain(kept).collect(),
    })
}

/// Launches `work` once more after a delay, and waits for it. Returns what the launch does in addition to its
/// work on the given stream. If the launch keeps memory, repeats it until one keeps none, up to
/// [`LEAK_TEST_LAUNCHES`] launches, since some programs first fill a pool of their own; the result is that of
/// the last launch.
pub(crate) fn observe_again(work: &mut dyn Work, device: &mut Cuda) -> Result<Vec<Observation>, Failure> {
    let mut repeats = 1..LEAK_TEST_LAUNCHES;
    loop {
        reset(device, work)?;
        let allocated = allocated_memory();
        // Without the delay, work may have ended before the launch asks for it.
        device.kernels.delay(OBSERVATION_DELAY, device.stream)?;
        let (launched, calls) = gpubench_driver::watch(|| work.launch());
        launched?;
        device.synchronize_in(Stage::Launch)?;
        let kept = kept_memory(allocated);
        if kept.is_none() || repeats.next().is_none() {
            let mut observations = calls::observations(device.stream, &calls);
            observations.extend(kept);
            return Ok(observations);
        }
    }
}

/// Returns the total size of the memory that this process has allocated and not freed, according to
/// `gpubench_driver`.
fn allocated_memory() -> Bytes {
    Bytes(gpubench_driver::memory().iter().map(|memory| memory.bytes).sum())
}

/// Returns the observation that a launch kept memory, if more than `before` is allocated now; otherwise
/// `None`.
fn kept_memory(before: Bytes) -> Option<Observation> {
    let bytes = Bytes(allocated_memory().0.saturating_sub(before.0));
    (bytes > Bytes::ZERO).then_some(Observation::KeepsMemory { bytes })
}

/// Returns the size of the memory that launches of `work` change if that memory holds other values. Stops
/// once the size is at least `enough`. Returns `None` if the memory cannot be read, or has more than
/// [`MOST_INVERTED_ALLOCATIONS`] allocations.
///
/// Inverts every bit of one allocation at a time, the newest first, since results are mostly allocated after
/// inputs, and counts the blocks that change. A reset precedes each launch, so that the other inputs are
/// fresh. Launches may fail on unexpected values, and make the context unusable.
pub(crate) fn writes_on_inverted_inputs(
    work: &mut dyn Work,
    device: &mut Cuda,
    enough: Bytes,
) -> Result<Option<Bytes>, Failure> {
    reset(device, work)?;
    work.launch()?;
    device.synchronize_in(Stage::Launch)?;
    let Ok(regions) = device.write_detector.reachable() else { return Ok(None) };
    if regions.regions.len() > MOST_INVERTED_ALLOCATIONS {
        return Ok(None);
    }
    // The most that changed in each region: a launch that swaps buffers writes another one each time.
    let mut most = Map::default();
    let all = |most: &Map<u64, Bytes>| most.iter().map(|(_, bytes)| *bytes).sum::<Bytes>();
    for region in regions.regions.iter().rev() {
        reset(device, work)?;
        device.write_detector.invert_bits(region)?;
        device.write_detector.store_fingerprints(FingerprintTable::Before, &regions)?;
        work.launch()?;
        device.synchronize_in(Stage::Launch)?;
        for (changed, bytes) in device.write_detector.changed_regions(FingerprintTable::Before, &regions)? {
            let so_far = most.or_insert(changed.memory.address, Bytes::ZERO);
            *so_far = bytes.max(*so_far);
        }
        if all(&most) >= enough {
            break;
        }
        // What was not written is an input again.
        device.write_detector.invert_bits(region)?;
    }
    Ok(Some(all(&most)))
}

/// Returns the number and the resources of the multiprocessors of `device`.
pub(crate) fn multiprocessors(device: CUdevice) -> Result<Multiprocessors, DeviceError> {
    let read = |attribute| device_info::attribute(device, attribute);
    Ok(Multiprocessors {
        count: read(sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        threads_per_sm: read(sys::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)? as u32,
        registers_per_sm: read(sys::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)? as u32,
        shared_memory_per_sm: Bytes(read(sys::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?),
    })
}

/// Returns a failure if work of the launch is still running on another stream after the given stream has
/// ended. The failure is [`calls::no_work_failure`] if the launch enqueued nothing on the given stream,
/// otherwise [`calls::work_elsewhere_failure`].
fn check_nothing_runs(device: &Cuda, calls: &[DriverCall]) -> Result<(), Failure> {
    let running = calls::count_running_streams(device.stream, calls)
        .map_err(|error| Failure::new(Stage::Launch, error))?;
    match (running, calls::uses_given_stream(device.stream, calls)) {
        (0, _) => Ok(()),
        (_, false) => Err(calls::no_work_failure()),
        (streams, true) => {
            let streams = format::counted(streams, "other stream");
            let seen = format!("when the given stream was done, work of the launch still ran on {streams}");
            Err(calls::work_elsewhere_failure(&seen))
        }
    }
}

/// Resets the inputs of `work`, and waits. Does nothing if `work` has no reset.
fn reset(device: &mut Cuda, work: &mut dyn Work) -> Result<(), Failure> {
    if !work.resets() {
        return Ok(());
    }
    work.reset()?;
    device.synchronize_in(Stage::Reset)
}

/// Returns the memory that a launch with these driver calls changed, among the memory that existed `before`
/// the launch and still exists. Stores the state after the launch in `device` for launches after the samples,
/// with `copy`, the content from before the launch.
fn detect_writes(
    device: &mut Cuda,
    before: &Regions,
    calls: &[DriverCall],
    copy: Option<MemoryCopy>,
) -> Result<Written, DeviceError> {
    let after = device.write_detector.reachable()?;
    let regions = before.intersection(&after);
    let allocates = after.regions.len() > regions.regions.len();
    let unseen = match allocates {
        true => Some("the launch allocates memory".to_owned()),
        false => reason_for_undetected_writes(calls),
    };
    let (bytes, block) = (regions.bytes(), regions.block);
    let outputs = LaunchBaseline::compare_after_launch(&device.write_detector, regions, copy)?;
    let written = Written { unseen_reason: unseen, ..Written::new(bytes, block, outputs.changed()) };
    device.baseline = Some(outputs);
    Ok(written)
}

/// Returns the reason, as a clause, why a launch with these driver calls may have written memory that is not
/// checked; `None` if there is no such reason.
fn reason_for_undetected_writes(calls: &[DriverCall]) -> Option<String> {
    let works = || calls::enqueued(calls).map(|(_, work)| work).filter(|work| **work != Enqueued::Allocation);
    if works().next().is_none() {
        let why = gpubench_driver::interposed().err().map_or_else(String::new, |why| format!(": {why}"));
        return Some(format!("the launch went to the driver on a way that is not watched{why}"));
    }
    let why = works().find_map(|work| match work {
        Enqueued::CopyOut(_) => Some("the launch copies to the host or to an array"),
        Enqueued::HostFunction => Some("the launch calls a function on the host"),
        Enqueued::Graph { writes_memory_alone: false } => Some("the launch launches a graph"),
        Enqueued::Graph { writes_memory_alone: true }
        | Enqueued::Kernel(_)
        | Enqueued::Copy(_)
        | Enqueued::Memset(_)
        | Enqueued::Allocation => None,
    });
    why.map(str::to_owned)
}

/// Converts a kernel launch to the record of the kernel: its name, shape, memory and registers. Returns
/// `None` if the driver did not report its resources.
fn kernel_info(launch: &KernelLaunch) -> Option<LaunchedKernel> {
    let (shape, info) = (launch.shape, launch.info?);
    Some(LaunchedKernel {
        name: launch.name.clone(),
        grid: shape.grid,
        block: shape.block,
        static_shared_memory: Bytes(info.static_shared.into()),
        dynamic_shared_memory: Bytes(shape.dynamic_shared.into()),
        registers_per_thread: info.registers,
        local_memory_per_thread: Bytes(info.local.into()),
        max_active_blocks_per_sm: info.resident_blocks,
    })
}
