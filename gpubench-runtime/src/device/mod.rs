//! The interface between a measurement and its device. A [`Device`] opens, reports its [`DeviceInfo`] and samples
//! launches; the stream types that launch functions take name their device through [`LaunchStream`](gpubench_core::LaunchStream). Called by `worker`
//! and `method`; knows nothing of benchmarks.

mod available;
mod batch;
mod clock_target;
mod error;
#[cfg(feature = "doctor")]
pub(crate) mod finding;
pub(crate) mod interleaving;
mod interruptions;
pub(crate) mod kind;
pub(crate) mod launch_timer;
mod queue;
pub mod single_launch_sampler;

use std::{any::Any, time::Instant};

pub use available::Available;
pub use clock_target::ClockTarget;
pub use error::DeviceError;
pub use interleaving::swapped;
pub use kind::DeviceKind;
pub(crate) use queue::MarginalEmptyLaunch;
pub use queue::{Batch, Calibration, Clock, LaunchMode, OwnLaunch, Queue, QueueProperties, Readings};

pub use gpubench_core::{Memory, StreamSource, listed_ordinal};
use gpubench_records::{
    Cache, CuptiTimes, DeviceInfo, Failure, Flush, LaunchInfo, Method, Observation, Path, Peak, Reading,
    Relaunch, Stage, Timer,
};
use gpubench_stats::{Bytes, Hertz, Joules, Nanoseconds};

/// A [`Device`] in a crate of your own, which makes the streams of its kind. Tell the runtime of it with
/// `gpubench::device_kind!`.
pub trait DeviceType: Device + StreamSource + Sized {
    /// Opens device `ordinal` of this kind; the first is 0.
    ///
    /// # Errors
    /// Returns an error if the device is missing or cannot be used.
    fn open(ordinal: usize) -> Result<Self, DeviceError>;
}

/// Something that runs launches and can time them. [`LaunchTimer`](single_launch_sampler::LaunchTimer) shortens one that times
/// launches one by one.
///
/// Methods that need records of one kind of device, such as CUPTI's, have defaults and are hidden: they change without notice.
pub trait Device: Any {
    /// Returns what makes the streams of this device, if it is not the device itself.
    #[doc(hidden)]
    fn stream_source(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Begins a case on the stream that was just made.
    #[doc(hidden)]
    fn begin_case(&mut self) {}

    /// Returns the facts of the device, and measures the peaks that nothing states. May take a second.
    ///
    /// # Errors
    /// Returns an error if the measurement of a peak fails.
    fn info(&mut self) -> Result<DeviceInfo, DeviceError>;

    /// Measures the peaks that the user's cache keeps for later runs. Called after [`Device::info`] if the cache has none of this device.
    #[doc(hidden)]
    fn measure_peaks(&mut self) -> Vec<Peak> {
        Vec::new()
    }

    /// Waits for all launched work, so that its errors are reported now and not by a later call.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Makes this device current for the calls of this thread, if the user's code or another device of this process can
    /// change that. Returns a description of the device that was current instead.
    ///
    /// # Errors
    /// Returns an error if the current device cannot be read or restored.
    fn make_current(&mut self) -> Result<Option<String>, DeviceError> {
        Ok(None)
    }

    /// Returns the most memory of devices that this process had allocated at once since this was called before, beyond that allocated
    /// then; nothing if it is not known.
    #[doc(hidden)]
    fn memory_growth(&mut self) -> Option<Bytes> {
        None
    }

    /// Launches `work` once, outside of any measurement, waits for it and returns its facts.
    ///
    /// # Errors
    /// Returns the launch's own error, the error that occurred on the device, or the reason why timing would miss part
    /// of the launch.
    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        let begin = Instant::now();
        work.launch()?;
        self.synchronize().map_err(|error| Failure::new(Stage::Launch, error))?;
        Ok(LaunchInfo { first_launch_time: Some(begin.elapsed().into()), ..LaunchInfo::default() })
    }

    /// Launches `work` once more, waits for it, and returns what it does in addition to its work on its stream. Called if the first launch
    /// did something that only first launches may do, such as loading code.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    #[doc(hidden)]
    fn observe_again(&mut self, work: &mut dyn Work) -> Result<Vec<Observation>, Failure> {
        self.observe(work).map(|info| info.observations)
    }

    /// Resets, flushes the cache, launches `work` once, waits for it, and returns its time; no time if the device cannot take cold
    /// samples. The default takes one cold sample. A device that sees memory remembers what a launch on fresh inputs writes, for
    /// [`Self::relaunch`] and [`Self::restore_inputs`].
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    #[doc(hidden)]
    fn launch_cold(&mut self, work: &mut dyn Work, inputs: Inputs) -> Result<Option<Nanoseconds>, Failure> {
        _ = inputs;
        if let Ok(mut sampler) = self.sampler(work, &SampleOptions::new(Cache::Cold)) {
            return Ok(sampler.group(1)?.events.pop());
        }
        work.reset()?;
        work.launch()?;
        self.synchronize().map_err(|error| Failure::new(Stage::Launch, error))?;
        Ok(None)
    }

    /// Restores the memory of the inputs to its state before the last launch on fresh inputs. Returns false if it cannot, which is
    /// the default.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    #[doc(hidden)]
    fn restore_inputs(&mut self) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Launches `work` on the inputs of the checked launch and compares what it leaves. Then launches again to see whether it writes
    /// its largest output. Returns nothing if the device does not see its outputs.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    #[doc(hidden)]
    fn relaunch(&mut self, work: &mut dyn Work) -> Result<Option<Relaunch>, Failure> {
        _ = work;
        Ok(None)
    }
    /// Traces launches of `work` with another tool, such as CUPTI. Tracing slows launches: afterwards this process must take no samples.
    /// Returns `None` if the device has no such tool.
    ///
    /// # Errors
    /// Returns the launch's own error, or the reason why the tool measured no times.
    #[doc(hidden)]
    fn traced(&mut self, work: &mut dyn Work, wanted: &TraceOptions) -> Result<Option<CuptiTimes>, Failure> {
        _ = (work, wanted);
        Ok(None)
    }

    /// Launches `work` this many times for a profiler, each launch after a mark with this number.
    ///
    /// # Errors
    /// Returns the launch's own error, or that there is no such profiler for this device.
    #[doc(hidden)]
    fn profile(&mut self, work: &mut dyn Work, number: usize, launches: usize) -> Result<(), Failure> {
        _ = (work, number, launches);
        Err(Failure::new(Stage::Device, "no profiler counts what this device does"))
    }

    /// Returns the size of the memory that launches of `work` change once it holds other values, or a part of it that is at
    /// least `enough`; `None` if that cannot be found out. The launch before changed less than it claims. Afterwards the
    /// inputs are of no use, and perhaps the process too: launches may go astray on unexpected values.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    fn writes(&mut self, work: &mut dyn Work, enough: Bytes) -> Result<Option<Bytes>, Failure> {
        _ = (work, enough);
        Ok(None)
    }

    /// Returns the device's own message for an error that the user's code has just returned. Both are printed.
    fn remark(&mut self) -> Option<String> {
        None
    }

    /// Returns a monitor of the device's sensors.
    ///
    /// # Errors
    /// Returns the reason in a few words if there are no sensors.
    fn monitor(&mut self) -> Result<Box<dyn Monitor>, DeviceError> {
        Err(DeviceError::new("the device has none"))
    }

    /// Prepares to time `work` as `wanted`. One sampler takes all samples of a case.
    ///
    /// # Errors
    /// Returns an error if the work cannot be sampled at all, or not as wanted.
    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure>;

    /// Prepares to time two interleaved `works`, each as `wanted`, in the order of [`swapped`]. Both launch on one stream. Before a hot
    /// sample, its own work is launched once without being timed.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be sampled as `wanted`, or if the device has no pair sampler, which is the default.
    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        _ = (works, wanted);
        Err(Failure::new(Stage::Device, "this device cannot interleave two benchmarks"))
    }

    /// Makes the addresses of the next inputs depend on `allocation_seed`, a random number, as far as the device can. Inputs of the same
    /// sizes, made in the same order with the same seed, have the same addresses if no others exist.
    fn set_allocation_seed(&mut self, allocation_seed: u64) {
        _ = allocation_seed;
    }
}

/// Reads a device's sensors during a measurement, on a separate thread.
pub trait Monitor: Send {
    /// Reads the sensors.
    fn read(&mut self) -> Reading;

    /// Returns the energy drawn since some time in the past, if the device counts it.
    fn energy(&mut self) -> Option<Joules> {
        None
    }
}

/// The state of a launch's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Inputs {
    /// No launch has had them.
    Fresh,
    /// A launch has had them, and may have changed them.
    Used,
}

/// The number of times that inputs are relocated while launches are traced, if they were relocated between the samples.
#[doc(hidden)]
pub const RELOCATIONS_PER_TRACE: usize = 7;

/// The options for tracing launches.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct TraceOptions {
    /// Hot or cold.
    pub cache: Cache,
    /// The flush before each launch, as before the samples.
    pub flush: Flush,
    /// The time of a launch according to its samples. It determines the number of traced launches.
    pub time: Nanoseconds,
    /// The allocation seeds for the inputs, if they were relocated between the samples.
    pub allocation_seeds: Option<[u64; RELOCATIONS_PER_TRACE]>,
}

/// The options for taking samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// Hot or cold.
    pub cache: Cache,
    /// The flush to use; `None` for the device's own choice.
    pub flush: Option<Flush>,
    /// The path to time on; `None` for the device's own choice.
    pub path: Option<Path>,
    /// True if host work belongs to the launch: a sample then begins when the launch function is called, on an idle device.
    pub host_work: bool,
    /// True if inputs may be relocated between groups.
    pub relocates_inputs: bool,
}

impl SampleOptions {
    /// Returns the options for samples with this state of the cache, on the path and with the flush that the device
    /// chooses.
    #[must_use]
    pub fn new(cache: Cache) -> Self {
        Self { cache, flush: None, path: None, host_work: false, relocates_inputs: false }
    }
}

/// Returns the result of a step of the user's code, or a failure if the step left another device current. The caller has made the device
/// current again; `left` describes the other device. Without that, all later work would go to the other device.
pub(crate) fn check_context_unchanged<T>(
    stage: Stage,
    done: Result<T, Failure>,
    left: Result<Option<String>, DeviceError>,
) -> Result<T, Failure> {
    let Some(left) = left.map_err(|error| Failure::new(stage, error))? else { return done };
    let left = format!(
        "left {left} current, so that whatever follows would go there: restore the context that was current, or make no \
         other one current (the GPU that is measured has one)"
    );
    match done {
        Ok(_) => Err(Failure::new(stage, left)),
        Err(mut failure) => {
            failure.message += &format!("; it {left}");
            Err(failure)
        }
    }
}

/// The launches of one case, which a device samples.
pub trait Work {
    /// Returns true if there is anything to reset.
    fn resets(&self) -> bool {
        false
    }

    /// Returns true if a check looks at the outputs.
    fn is_checked(&self) -> bool {
        false
    }

    /// Enqueues the reset of the inputs, if there is one. Runs before each sample and its flush, untimed.
    ///
    /// # Errors
    /// Returns the error of the benchmark's `reset`.
    fn reset(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues one launch on the case's stream.
    ///
    /// # Errors
    /// Returns the error of the launch function.
    fn launch(&mut self) -> Result<(), Failure>;

    /// Drops the output of the last launch. Each later launch keeps its own until the next one if `keeps` is true, and drops it at once
    /// otherwise.
    fn keep_output(&mut self, keeps: bool) {
        _ = keeps;
    }

    /// Makes the inputs again after a call of `set_allocation_seed`. The first inputs are stashed, and any others dropped. Returns false if
    /// that fails; then launches use the first ones.
    fn relocate_inputs(&mut self, set_allocation_seed: &mut dyn FnMut()) -> bool {
        _ = set_allocation_seed;
        false
    }

    /// Restores the first inputs.
    fn restore_inputs(&mut self) {}

    /// Returns the shortest time so far of a call of the launch function, if calls are timed.
    #[doc(hidden)]
    fn min_host_call_time(&self) -> Option<Nanoseconds> {
        None
    }

    /// Visits the memory of the inputs, if it is host memory. Returns false if not all of it is known, which is the default.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
        _ = visit;
        false
    }
}

/// A closure that enqueues one launch, of work that needs no reset.
impl<F: FnMut() -> Result<(), Failure>> Work for F {
    fn launch(&mut self) -> Result<(), Failure> {
        self()
    }
}

/// The readings of a group of samples.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SampledGroup {
    /// The event times of the samples, in the order in which they ran. A pair sampler has two for each pair: that of the first work comes
    /// first, even if it ran second.
    pub events: Vec<Nanoseconds>,
    /// The event times of interleaved empty launches. Empty if every group has the overhead of the timer; a sampler has them in each
    /// group or in none.
    pub empty_events: Vec<Nanoseconds>,
    /// The starts of the samples according to the device's clock, since a time that is the same for all groups. Empty if they are not known.
    pub starts: Vec<Nanoseconds>,
    /// The overhead of the events according to a second clock that timed some launches of the group.
    pub overhead_by_stamps: Option<Nanoseconds>,
    /// The time of the whole group on the device, flushes included.
    pub elapsed: Nanoseconds,
    /// The clock of the multiprocessors right after the group, according to the device's own counters.
    pub clock: Option<Hertz>,
}

impl SampledGroup {
    /// Returns a group of these event times, which took `elapsed` on the device.
    #[must_use]
    pub fn new(events: Vec<Nanoseconds>, elapsed: impl Into<Nanoseconds>) -> Self {
        Self { events, elapsed: elapsed.into(), ..Self::default() }
    }
}

/// Times the launches of one case, or the interleaved launches of two.
pub trait Sampler {
    /// Takes a group: `samples` samples or pairs, or as many of them as can be submitted together, read after one
    /// synchronisation.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure>;

    /// Makes the inputs of the launches again, at addresses that depend on `allocation_seed` (see [`Device::set_allocation_seed`]). Returns
    /// false if they keep their addresses, which is the default. Called between groups of samples.
    ///
    /// # Errors
    /// Returns an error if a launch on them or the device fails.
    fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        _ = allocation_seed;
        Ok(false)
    }

    /// Restores the first inputs.
    fn restore_inputs(&mut self) {}

    /// Measures the timer on the path of these samples: its overhead and its resolution.
    ///
    /// # Errors
    /// Returns an error if the timer does not work.
    fn timer(&mut self) -> Result<Timer, Failure>;

    /// Called between the warm-up and the first sample. Returns the timer of the samples: `timer`, unless each of them has several
    /// launches, which share its step and its overhead.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn begin(&mut self, timer: Timer) -> Result<Timer, Failure> {
        Ok(timer)
    }

    /// Called after the first samples if all of them were still part of the warm-up. They are discarded and taken again.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn restart(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the fraction of time since the first sample in which the threads of launches waited for a processor that other programs
    /// used; `None` if launches run on no processor of this machine, or if the system does not count that.
    fn processor_wait(&mut self) -> Option<f64> {
        None
    }

    /// Returns true for each sample, in the order in which they ran, during which a thread of its launch waited for a processor that other
    /// programs used; such samples are left out. `None` if no other programs used it, if launches run on no processor of this machine, or
    /// if the system does not count that.
    fn interrupted(&mut self) -> Option<&[bool]> {
        None
    }

    /// Returns the method by which the samples are taken.
    fn method(&self) -> Method;

    /// Returns the method by which the second of two works is sampled: on the same path, with the same flush. `None` if there is one work.
    fn partner_method(&self) -> Option<Method> {
        None
    }

    /// Launches about `launches` times back-to-back, waits, and returns the exact number. Returns `None` if each launch
    /// needs fresh inputs, so that they cannot run back-to-back.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        _ = launches;
        Ok(None)
    }

    /// Times the launch in other ways, after the samples. The default has no other way.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn other_times(&mut self, wanted: OtherTimesWanted) -> Result<OtherTimes, Failure> {
        _ = wanted;
        Ok(OtherTimes::default())
    }
}

/// The other ways in which a launch may be timed after its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherTimesWanted {
    /// True for short launches: back-to-back.
    pub back_to_back: bool,
    /// True for launches that are not long: pre-enqueued, and on a stream.
    pub stream: bool,
}

/// The times of a launch in other ways than by its samples. `None` if a time has no meaning for the launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OtherTimes {
    /// The time of one more launch among back-to-back launches, with no event between them.
    pub back_to_back: Option<Nanoseconds>,
    /// The time of a pre-enqueued launch, whose work is all enqueued before the device begins with it, if the samples may contain waits
    /// for the host.
    pub prequeued: Option<Nanoseconds>,
    /// The time of a launch of several kernels on a stream, including the gaps between them that a graph does not have.
    pub stream: Option<Nanoseconds>,
    /// The shortest time so far of a call of the launch function on the host, if the host does not wait in it.
    pub host_call: Option<Nanoseconds>,
}
