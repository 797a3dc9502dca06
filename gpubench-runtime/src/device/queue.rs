//! The queue of a device: a [`Queue`] enqueues launches, records batches of them, and reads its clocks. `method` decides what is enqueued, in
//! which order and how often, and computes times from the readings.

use std::{collections::HashMap, time::Duration};

use super::{Device, Work};
use gpubench_records::{Cache, Failure, Flush, FlushVerification, Timer};
use gpubench_stats::{Bytes, DramStallPeriod, Hertz, Nanoseconds};

/// A device that records and runs launches as the method asks. Work of the user's enqueues itself on the device's stream.
///
/// Each timed launch has a slot, which holds the readings before and after it. A queue has twice [`QueueProperties::capacity`] slots, so that
/// a batch can be recorded while the previous one runs.
pub trait Queue: Device {
    /// Returns the properties of the queue for the open case.
    fn properties(&self) -> QueueProperties;

    /// Returns the results of calibrations so far.
    fn calibration(&mut self) -> &mut Calibration;

    /// Makes a launch of the device's own; `None` if it has none of this kind.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn own_launch(&mut self, launch: OwnLaunch) -> Result<Option<Box<dyn Work>>, Failure>;

    /// Begins to record: until [`Self::end`], launches do not run.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Ends recording. A batch that is `copied` to the device now runs the first time as later.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be recorded, or if the device fails.
    fn end(&mut self, copied: bool) -> Result<Batch, Failure>;

    /// Drops what was recorded since [`Self::begin`], if anything was.
    fn abandon(&mut self);

    /// Runs a recorded batch after all earlier work.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn submit(&mut self, batch: &Batch) -> Result<(), Failure>;

    /// Frees a batch that has run or is not needed.
    fn release(&mut self, batch: Batch);

    /// Keeps the device busy for `time`, while the host enqueues launches.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn hold(&mut self, time: Duration) -> Result<(), Failure> {
        _ = time;
        Ok(())
    }

    /// Keeps the device busy for `time` before the sample of this number. A coarse timer adds a part of its resolution that depends on the
    /// number.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn gap(&mut self, time: Duration, number: usize) -> Result<(), Failure> {
        _ = (time, number);
        Ok(())
    }

    /// Enqueues a flush of the last-level cache.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn flush(&mut self, flush: Flush) -> Result<(), Failure>;

    /// Enqueues the reading before the launch of a slot.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn start(&mut self, slot: usize, clock: Clock) -> Result<(), Failure>;

    /// Enqueues the reading after the launch of a slot.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn stop(&mut self, slot: usize, clock: Clock) -> Result<(), Failure>;

    /// Enqueues the reading at the start of a group.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn open_group(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues the reading at the end of a group, and all that reading it needs.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn close_group(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Waits for all work that runs. Recorded batches that were not submitted stay as they are.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn wait(&mut self) -> Result<(), Failure>;

    /// Returns the times of these slots, in this order, after a wait.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn times(&mut self, slots: &[usize], clock: Clock) -> Result<Vec<Nanoseconds>, Failure>;

    /// Reads a group after a wait: the times of `slots`, and the starts of `starts`, in this order.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn read(&mut self, slots: &[usize], starts: &[usize], clock: Clock) -> Result<Readings, Failure>;

    /// Begins a new series of groups: starts count from the start of its first group.
    fn begin_series(&mut self) {}

    /// Returns the resolution of [`Clock::Stamps`], if the device has it and it is fine enough. The device is idle.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn stamps(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        Ok(None)
    }

    /// Returns the resolution of [`Clock::Events`], if the device knows it better than by the times that it returns.
    fn resolution(&self) -> Option<Nanoseconds> {
        None
    }

    /// Returns the reason why this flush is refused, if it is.
    fn refuses(&self, flush: Flush) -> Option<String>;

    /// Returns what is uncertain about a flush, whatever its verification says.
    fn doubt(&mut self) -> Option<String> {
        None
    }

    /// Returns the size of the memory that a launch can reach, if it is known.
    fn reachable(&self) -> Option<Bytes> {
        None
    }
}

/// A recorded batch: an index into the queue's own store.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch(pub usize);

/// The clock that times a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Events, or timestamp queries, before and after it.
    Events,
    /// Kernels before and after it that store the device's own clock.
    Stamps,
}

/// How launches run and are timed. Each mode has a timer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchMode {
    /// True if launches run when their batch is submitted, false if they run as they are enqueued.
    pub recorded: bool,
    /// True if batches are copied to the device before they run.
    pub copied: bool,
    /// True if each empty launch is a batch of its own.
    pub nested: bool,
    /// The clock.
    pub clock: Clock,
}

impl LaunchMode {
    /// Launches run as they are enqueued, between events.
    pub const AT_ONCE: Self = Self { recorded: false, copied: false, nested: false, clock: Clock::Events };
    /// Launches are recorded, between events.
    pub const RECORDED: Self = Self { recorded: true, ..Self::AT_ONCE };
}

/// A launch of the device's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnLaunch {
    /// Does nothing, and waits as launches in this mode and this state of the cache do.
    Empty(LaunchMode, Cache),
    /// Does nothing, with code at an address of its own, which it keeps.
    EmptyCopy(Cache),
    /// Does nothing this many times, back-to-back, and waits for nothing.
    EmptyRow(usize),
    /// Reads this many quarters of the last-level cache's size, 3 at most, from memory that no flush touches.
    ReadQuarters(usize),
    /// Reads half of the last-level cache's size. Four successive launches read other memory each.
    ReadHalf,
}

/// The properties of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueProperties {
    /// The most slots of a batch, a power of two.
    pub capacity: usize,
    /// True if [`Queue::gap`] keeps the device busy.
    pub has_gaps: bool,
    /// True if a batch may be submitted again.
    pub replays: bool,
    /// True if the timer is so coarse that its readings are averaged.
    pub is_coarse: bool,
    /// True if times are computed and do not pass.
    pub is_simulated: bool,
    /// True if, after a flush, recorded launches load their parameters from memory.
    pub loads_parameters: bool,
    /// The time of the checked launch of the open case.
    pub first_launch: Option<Nanoseconds>,
    /// The time in which the groups of a calibration end, as far as possible.
    pub calibration_limit: Option<Duration>,
    /// The size of the last-level cache.
    pub last_level_cache: Bytes,
    /// The name of that cache.
    pub cache_name: &'static str,
    /// The flush before cold samples if the user asks for none.
    pub usual_flush: Flush,
    /// The flushes to try if that one does not work.
    pub other_flushes: &'static [Flush],
}

/// The readings of a group.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// The times of the slots.
    pub times: Vec<Nanoseconds>,
    /// The starts of the slots, since the start of the first group of the series.
    pub starts: Vec<Nanoseconds>,
    /// The time of the whole group.
    pub elapsed: Nanoseconds,
    /// The clock of the multiprocessors right after the group.
    pub clock: Option<Hertz>,
}

/// The results of a device's calibrations. Each is measured once.
#[derive(Debug, Default)]
pub struct Calibration {
    pub(crate) timers: HashMap<(LaunchMode, Cache), Timer>,
    pub(crate) marginal_empty_launch: Option<MarginalEmptyLaunch>,
    pub(crate) dram_stall: Option<DramStallPeriod>,
    pub(crate) flushes: HashMap<Flush, FlushVerification>,
}

/// The time that one more empty launch adds to a sequence, hot or cold: on an H200, CUPTI reads 545 ns around an empty launch of a
/// stream if it is hot, and 549 if it is cold. In a graph, after a flush, the launch data of a node comes from memory, so that one more node
/// takes 40 to 90 ns longer. Launches of a stream do not wait for that, and the samples and the interleaved empty launches wait equally.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarginalEmptyLaunch {
    pub(crate) time: Nanoseconds,
    /// Its standard error.
    pub(crate) error: Nanoseconds,
}
