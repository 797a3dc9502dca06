//! The queue of a device: a [`Queue`] enqueues launches, records batches of them, and reads its clocks.
//! `method` decides what is enqueued, in which order and how often, and computes times from the readings.

use std::{collections::HashMap, time::Duration};

use super::{Device, Work};
use gpubench_records::{Cache, Failure, Flush, FlushVerification, Timer};
use gpubench_stats::{Bytes, DramStallPeriod, Hertz, Nanoseconds};

/// A device that records batches of launches and runs them. The user's work enqueues itself on the stream of
/// the device.
///
/// Each timed launch has a slot, which holds the clock readings before and after the launch. A queue has
/// twice [`QueueProperties::capacity`] slots, so that a batch can be recorded while the previous one runs.
#[expect(unused_variables, reason = "defaults use none")]
pub trait Queue: Device {
    /// Returns the properties of the queue. Some of them depend on the open case.
    fn properties(&self) -> QueueProperties;

    /// Returns the stored results of the calibrations of this device. The code in `method` reads them and
    /// adds to them.
    fn calibration(&mut self) -> &mut Calibration;

    /// Creates a launch for calibration that the device itself provides; `None` if the device has none of
    /// this kind.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn own_launch(&mut self, launch: OwnLaunch) -> Result<Option<Box<dyn Work>>, Failure>;

    /// Begins recording: until [`Self::end`] or [`Self::abandon`], launches are recorded and do not run.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn begin(&mut self) -> Result<(), Failure>;

    /// Ends recording, and returns the batch. If `copied` is true, also copies the batch to the device, so
    /// that its first run takes no longer than later ones.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be recorded, or if the device fails.
    fn end(&mut self, copied: bool) -> Result<Batch, Failure>;

    /// Ends recording without a batch. Does nothing if nothing is being recorded.
    fn abandon(&mut self);

    /// Enqueues a recorded batch, to run after all earlier work. Does not wait.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn submit(&mut self, batch: &Batch) -> Result<(), Failure>;

    /// Frees a batch. It must not be running.
    fn release(&mut self, batch: Batch);

    /// Enqueues work that keeps the device busy for `time`, counted from when the device begins it. Meanwhile
    /// the host enqueues launches. The default does nothing.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn hold(&mut self, time: Duration) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues a delay of `time` before sample number `number`. On a device with a coarse timer, the delay
    /// is longer by a fraction of the timer's resolution, which depends on `number`. The default does
    /// nothing.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn gap(&mut self, time: Duration, number: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues a flush of the last-level cache. Does nothing for [`Flush::None`].
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn flush(&mut self, flush: Flush) -> Result<(), Failure>;

    /// Enqueues the reading of `clock` before the launch of this slot.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn start(&mut self, slot: usize, clock: Clock) -> Result<(), Failure>;

    /// Enqueues the reading of `clock` after the launch of this slot.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn stop(&mut self, slot: usize, clock: Clock) -> Result<(), Failure>;

    /// Enqueues the clock reading at the start of a group. The default does nothing.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn open_group(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues the clock reading at the end of a group, and whatever else [`Self::read`] needs. The default
    /// does nothing.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn close_group(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Waits for all submitted work. Does not affect recorded batches that were not submitted.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn wait(&mut self) -> Result<(), Failure>;

    /// Returns for each of `slots`, in this order, the time between its two readings of `clock`. Call it
    /// after [`Self::wait`].
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn times(&mut self, slots: &[usize], clock: Clock) -> Result<Vec<Nanoseconds>, Failure>;

    /// Reads a group: the times of the slots in `slots`, the start times of the slots in `starts`, each in
    /// the given order, and the time of the whole group. Call it after [`Self::wait`].
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn read(&mut self, slots: &[usize], starts: &[usize], clock: Clock) -> Result<Readings, Failure>;

    /// Begins a new series of groups. Start times are measured from the start of the first group of the
    /// series. The default does nothing.
    fn begin_series(&mut self) {}

    /// Returns the resolution of [`Clock::Stamps`]; `None`, the default, if the device has no such clock, or
    /// if the clock is too coarse. The device must be idle.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn stamps(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        Ok(None)
    }

    /// Returns the resolution of [`Clock::Events`] if the device knows it; otherwise `None`, the default, and
    /// the calibration estimates it from event times.
    fn resolution(&self) -> Option<Nanoseconds> {
        None
    }

    /// Returns the reason, as a phrase, why samples cannot use `flush`; `None` if they can use it.
    fn refuses(&self, flush: Flush) -> Option<String>;

    /// Returns a sentence about a doubt that remains after the verification of a flush, such as an unknown
    /// size of the cache; `None`, the default, if there is none.
    fn doubt(&mut self) -> Option<String> {
        None
    }

    /// Returns the size of the device memory that this process has allocated. A launch can read no more than
    /// this, so the flush before cold samples need not evict more. Returns `None`, the default, if the size
    /// is unknown.
    fn reachable(&self) -> Option<Bytes> {
        None
    }
}

/// A recorded batch: an index into the batches that the queue stores.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch(pub usize);

/// The clock that times a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Events, or timestamp queries, before and after the launch.
    Events,
    /// Kernels before and after the launch that store the time of the device's own clock.
    Stamps,
}

/// How launches run and are timed. The timer is calibrated for each mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchMode {
    /// True if launches run when their batch is submitted, false if they run as they are enqueued.
    pub recorded: bool,
    /// True if batches are copied to the device before they first run.
    pub copied: bool,
    /// True if the launches of the case are launches of a graph. Each empty launch is then one too.
    pub nested: bool,
    /// The clock that times the launches.
    pub clock: Clock,
}

impl LaunchMode {
    /// Launches run as soon as they are enqueued, and events time them.
    pub const AT_ONCE: Self = Self { recorded: false, copied: false, nested: false, clock: Clock::Events };
    /// Launches are recorded in batches, and events time them.
    pub const RECORDED: Self = Self { recorded: true, ..Self::AT_ONCE };
}

/// A launch that the device itself provides, for calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnLaunch {
    /// A launch that does nothing, for this launch mode and state of the cache. If launches of a case wait
    /// for their parameters, as recorded launches do after a flush, this one waits too.
    Empty(LaunchMode, Cache),
    /// A launch that does nothing, in a recorded batch and this state of the cache. Each launch that is
    /// created has its own copy of the empty kernel, at a new address.
    EmptyAtNewAddress(Cache),
    /// This number of back-to-back empty launches.
    EmptyBackToBack(usize),
    /// A read of this many quarters of the size of the last-level cache, at most 3, from memory that no flush
    /// reads or writes.
    ReadQuarters(usize),
    /// A read of half the size of the last-level cache. Four successive launches read four different parts of
    /// the memory.
    ReadHalf,
}

/// The properties of a queue, such as the flushes and limits of its device.
#[derive(Clone, Copy, Debug)]
pub struct QueueProperties {
    /// The most slots of a batch, a power of two.
    pub capacity: usize,
    /// True if [`Queue::gap`] delays the device; false if it does nothing. Requires `replays`.
    pub has_gaps: bool,
    /// True if a batch may be submitted more than once.
    pub replays: bool,
    /// True if the timer is so coarse that readings must be averaged.
    pub is_coarse: bool,
    /// True if the device is simulated: the times of launches are computed, and launches take no real time.
    pub is_simulated: bool,
    /// True if recorded launches load their parameters from memory after a flush, and so take longer.
    pub loads_parameters: bool,
    /// The time of the checked launch of the open case, if it is known.
    pub first_launch: Option<Nanoseconds>,
    /// The time limit for the groups of a calibration; `None` for no limit. The fewest groups of a
    /// calibration are measured even if they take longer.
    pub calibration_limit: Option<Duration>,
    /// The size of the last-level cache.
    pub last_level_cache: Bytes,
    /// The name of the last-level cache in messages, such as `the L2`.
    pub cache_name: &'static str,
    /// The flush before cold samples, unless the user requests another or its verification fails.
    pub usual_flush: Flush,
    /// The flushes to try, in this order, if the verification of the usual flush fails.
    pub other_flushes: &'static [Flush],
}

/// The times that the device measured for one group of launches.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    /// The times of the requested slots.
    pub times: Vec<Nanoseconds>,
    /// The start times of the requested slots, since the start of the first group of the series.
    pub starts: Vec<Nanoseconds>,
    /// The time of the whole group on the device.
    pub elapsed: Nanoseconds,
    /// The GPU clock right after the group; `None` if it is unknown.
    pub clock: Option<Hertz>,
}

/// The stored results of the calibrations of a device. Each calibration runs once.
#[derive(Debug, Default)]
pub struct Calibration {
    /// The timer of each launch mode and state of the cache that was calibrated so far.
    pub(crate) timers: HashMap<(LaunchMode, Cache), Timer>,
    /// The marginal time of an empty launch; `None` until it is measured.
    pub(crate) marginal_empty_launch: Option<MarginalEmptyLaunch>,
    /// The period of the DRAM stall; `None` before a search, or if the search found none.
    pub(crate) dram_stall: Option<DramStallPeriod>,
    /// The verification of each flush that was verified so far.
    pub(crate) flushes: HashMap<Flush, FlushVerification>,
}

/// The time that one more empty launch adds to a sequence of launches. It applies to hot and cold launches:
/// on an H200, CUPTI reads 545 ns around a hot empty launch on a stream, and 549 ns around a cold one.
///
/// In a graph, after a flush, one more node takes 40 to 90 ns longer, since its launch data comes from
/// memory. This does not matter: the samples and the empty launches between them wait equally for that data.
/// Launches on a stream do not wait for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarginalEmptyLaunch {
    /// The time that an empty launch adds.
    pub(crate) time: Nanoseconds,
    /// The standard error of `time`.
    pub(crate) error: Nanoseconds,
}
