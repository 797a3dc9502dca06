//! The interface between a measurement and its device. A [`Device`] opens, reports its [`DeviceInfo`] and
//! samples launches; the stream types that launch functions take name their device through
//! [`LaunchStream`](gpubench_core::LaunchStream). Called by `worker` and `method`; knows nothing of
//! benchmarks.

mod interruptions;
pub(crate) mod kind;
pub(crate) mod launch_timer;
mod queue;
mod sampler;
pub mod single_launch_sampler;

use std::{any::Any, error::Error, sync::Arc, time::Instant};

pub use kind::{Available, ClockTarget, DeviceKind};
pub(crate) use queue::MarginalEmptyLaunch;
pub use queue::{Batch, Calibration, Clock, LaunchMode, OwnLaunch, Queue, QueueProperties, Readings};
pub use sampler::{OtherTimes, SampleOptions, SampledGroup, Sampler, SamplerResult, swapped};

pub use gpubench_core::{Memory, StreamSource, listed_ordinal};
use gpubench_records::{Cache, DeviceInfo, Failure, LaunchInfo, Observation, Peak, Reading, Relaunch, Stage};
use gpubench_stats::{Bytes, Joules, Nanoseconds};

/// A [`Device`] type in a crate of your own, which also makes the streams of its kind. Register its kind with
/// `gpubench::device_kind!`.
pub trait DeviceType: Device + StreamSource + Sized {
    /// Opens the device of this kind with the number `ordinal`; the first is 0.
    ///
    /// # Errors
    /// Returns an error if the device is missing or cannot be used.
    fn open(ordinal: usize) -> Result<Self, DeviceError>;
}

/// A device that runs launches and can time them. If it times one launch at a time, implement
/// [`LaunchTimer`](single_launch_sampler::LaunchTimer), which needs less code.
///
/// Methods for one kind of device, such as those for CUPTI, have defaults and are hidden: they change without
/// notice.
#[expect(unused_variables, reason = "defaults use none")]
pub trait Device: Any {
    /// Returns the object that makes the streams of this device; `None`, the default, if the device makes
    /// them itself.
    #[doc(hidden)]
    fn stream_source(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Begins a case, whose launches use the stream that was made just before. Discards what the device
    /// stored about the previous case.
    #[doc(hidden)]
    fn begin_case(&mut self) {}

    /// Returns the properties of the device. Also measures peaks that no specification gives, which may take
    /// a second.
    ///
    /// # Errors
    /// Returns an error if the measurement of a peak fails.
    fn info(&mut self) -> Result<DeviceInfo, DeviceError>;

    /// Measures the peaks that are stored in the user's cache for later runs; none by default. Called after
    /// [`Device::info`] if the cache has no peaks of this device.
    #[doc(hidden)]
    fn measure_peaks(&mut self) -> Vec<Peak> {
        Vec::new()
    }

    /// Waits for all launched work, so that this call reports the errors of that work, and not a later call.
    /// The default does nothing.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Waits for all launched work. An error is a failure of `stage`.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    #[doc(hidden)]
    fn synchronize_in(&mut self, stage: Stage) -> Result<(), Failure> {
        self.synchronize().map_err(|error| Failure::new(stage, error))
    }

    /// Makes this device current for the calls of this thread, if the user's code or another device of this
    /// process can change that. Returns a phrase that describes the device that was current instead; `None`,
    /// the default, if this device was current.
    ///
    /// # Errors
    /// Returns an error if the current device cannot be read or restored.
    fn make_current(&mut self) -> Result<Option<String>, DeviceError> {
        Ok(None)
    }

    /// Returns the most device memory that this process had allocated at once since the previous call of this
    /// method, minus the memory that was allocated at that call. Returns `None`, the default, if the device
    /// does not know.
    #[doc(hidden)]
    fn memory_growth(&mut self) -> Option<Bytes> {
        None
    }

    /// Launches `work` once, outside of any measurement, waits for it, and returns what the device observed
    /// of the launch. This is the checked launch of a case. The default only measures its host time.
    ///
    /// # Errors
    /// Returns the launch's own error, the error that occurred on the device, or the reason why timing would
    /// miss part of the launch.
    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        let begin = Instant::now();
        work.launch()?;
        self.synchronize_in(Stage::Launch)?;
        Ok(LaunchInfo { first_launch_time: Some(begin.elapsed().into()), ..LaunchInfo::default() })
    }

    /// Launches `work` once more, waits for it, and returns what the launch does beyond its work on its
    /// stream. Called if the checked launch did something that only first launches may do, such as loading
    /// code.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    #[doc(hidden)]
    fn observe_again(&mut self, work: &mut dyn Work) -> Result<Vec<Observation>, Failure> {
        self.observe(work).map(|info| info.observations)
    }

    /// Resets, flushes the cache, launches `work` once, and waits. Returns the time of the launch, or `None`
    /// if the device cannot time it cold. `inputs` says whether an earlier launch has used the inputs.
    ///
    /// If the inputs are fresh, a device that can read the memory of launches also stores the memory before
    /// and after the launch, for [`Self::restore_inputs`] and [`Self::relaunch`]. The default takes one cold
    /// sample, or if the device has no cold samples, launches once without a flush.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    #[doc(hidden)]
    fn time_cold_launch(
        &mut self,
        work: &mut dyn Work,
        inputs: InputState,
    ) -> Result<Option<Nanoseconds>, Failure> {
        if let Ok(mut sampler) = self.sampler(work, &SampleOptions::new(Cache::Cold)) {
            return Ok(sampler.group(1)?.events.pop());
        }
        work.reset()?;
        work.launch()?;
        self.synchronize_in(Stage::Launch)?;
        Ok(None)
    }

    /// Restores the memory of the inputs to its state before the last launch with fresh inputs in
    /// [`Self::time_cold_launch`]. Returns false, the default, if the device has no copy of that memory.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    #[doc(hidden)]
    fn restore_inputs(&mut self) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Launches `work` on used inputs, and compares the memory with its state after the launch on fresh
    /// inputs in [`Self::time_cold_launch`]. Then launches again to find out whether each launch writes the
    /// largest output. Returns `None`, the default, if the device cannot read the outputs.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    #[doc(hidden)]
    fn relaunch(&mut self, work: &mut dyn Work) -> Result<Option<Relaunch>, Failure> {
        Ok(None)
    }

    /// Traces launches of `work` with another tool, such as CUPTI, and returns their times. Since tracing
    /// slows launches, this process must take no samples afterwards. Returns `None`, the default, if the
    /// device has no such tool.
    ///
    /// # Errors
    /// Returns the launch's own error, or the reason why the tool measured no times.
    #[cfg(feature = "verify")]
    #[doc(hidden)]
    fn traced(
        &mut self,
        work: &mut dyn Work,
        wanted: &TraceOptions,
    ) -> Result<Option<gpubench_records::CuptiTimes>, Failure> {
        Ok(None)
    }

    /// Launches `work` `launches` times for a profiler. Before each launch, enqueues a marker with `number`,
    /// which identifies the case. The default returns an error.
    ///
    /// # Errors
    /// Returns the launch's own error, or an error that no profiler supports this device.
    #[doc(hidden)]
    fn profile(&mut self, work: &mut dyn Work, number: usize, launches: usize) -> Result<(), Failure> {
        Err(Failure::new(Stage::Device, "no profiler counts what this device does"))
    }

    /// Measures how much memory launches of `work` write, by launches on inputs with changed contents. In
    /// contrast to the checked launch, these also show writes of values that the memory already had. Stops
    /// once the size is at least `enough`. Returns `None`, the default, if the device cannot measure this.
    ///
    /// Called if the checked launch changed less memory than the benchmark declares. Afterwards the inputs
    /// are unusable, and perhaps the process too, since launches may fail on unexpected values.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    fn writes(&mut self, work: &mut dyn Work, enough: Bytes) -> Result<Option<Bytes>, Failure> {
        Ok(None)
    }

    /// Returns the message of the device for an error that the user's code has just returned, so that both
    /// are printed. Returns `None`, the default, if there is no message.
    fn remark(&mut self) -> Option<String> {
        None
    }

    /// Returns a monitor that reads the sensors of the device.
    ///
    /// # Errors
    /// Returns the reason, in a few words, if there are no sensors, which is the default.
    fn monitor(&mut self) -> Result<Box<dyn Monitor>, DeviceError> {
        Err(DeviceError::new("the device has none"))
    }

    /// Returns a sampler that times launches of `work` with the options `wanted`. One sampler takes all
    /// samples of a case.
    ///
    /// # Errors
    /// Returns an error if the work cannot be sampled at all, or not as wanted.
    fn sampler<'a>(&'a mut self, work: &'a mut dyn Work, wanted: &SampleOptions) -> SamplerResult<'a>;

    /// Returns a sampler that times launches of two `works` with the options `wanted`, interleaved in the
    /// order of [`swapped`]. Both launch on one stream. Before each hot sample, the sampled work is launched
    /// once untimed.
    ///
    /// # Errors
    /// Returns an error if one of the works cannot be sampled as `wanted`, or if the device has no pair
    /// sampler, which is the default.
    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> SamplerResult<'a> {
        Err(Failure::new(Stage::Device, "this device cannot interleave two benchmarks"))
    }

    /// Makes the addresses of the inputs that are allocated from now on depend on `allocation_seed`, a random
    /// number, as far as the device can. Inputs of equal sizes that are allocated in the same order after the
    /// same seed get equal addresses, if no other inputs exist. The default does nothing.
    fn set_allocation_seed(&mut self, allocation_seed: u64) {}
}

/// Reads the sensors of a device, on a thread of its own during a measurement.
pub trait Monitor: Send {
    /// Reads the sensors of the device now.
    fn read(&mut self) -> Reading;

    /// Returns the energy that the device has used since a fixed moment in the past; `None`, the default, if
    /// the device does not count it.
    fn energy(&mut self) -> Option<Joules> {
        None
    }
}

/// Whether a launch has used the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum InputState {
    /// No launch has used the inputs.
    Fresh,
    /// A launch has used the inputs, and may have changed them.
    Used,
}

/// The number of times that inputs are relocated while launches are traced. They are relocated only if they
/// were relocated between the samples too.
#[cfg(feature = "verify")]
#[doc(hidden)]
pub const RELOCATIONS_PER_TRACE: usize = 7;

/// The options for tracing launches with another tool.
#[cfg(feature = "verify")]
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct TraceOptions {
    /// The state of the cache before each launch.
    pub cache: Cache,
    /// The flush before each launch, the same as before the samples.
    pub flush: gpubench_records::Flush,
    /// The time of a launch according to its samples, which determines the number of traced launches.
    pub time: Nanoseconds,
    /// The allocation seeds for the inputs if they were relocated between the samples, otherwise `None`.
    pub allocation_seeds: Option<[u64; RELOCATIONS_PER_TRACE]>,
}

/// Returns `done`, the result of a step of the user's code, unless the step made another device current and
/// did not restore this one: later work would go to the other device. Then returns a failure of `stage` that
/// says so, appended to the failure of the step if there is one.
///
/// `left` is the result of [`Device::make_current`] after the step: it describes the other device, or is
/// `None` if this device was current. An error in `left` becomes a failure of `stage`.
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

/// The launches of one case, with their reset and their inputs.
#[expect(unused_variables, reason = "defaults use none")]
pub trait Work {
    /// Returns true if [`Self::reset`] does anything; false is the default.
    fn resets(&self) -> bool {
        false
    }

    /// Enqueues the reset of the inputs, if the benchmark has one; does nothing by default. Called before the
    /// flush of each sample; not timed.
    ///
    /// # Errors
    /// Returns the error of the benchmark's `reset`.
    fn reset(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues one launch on the stream of the case. Does not wait.
    ///
    /// # Errors
    /// Returns the error of the launch function.
    fn launch(&mut self) -> Result<(), Failure>;

    /// Enqueues this many launches, one after the other. Calls [`Self::launch`] by default.
    ///
    /// # Errors
    /// Returns the first error of the launch function.
    fn launch_times(&mut self, times: usize) -> Result<(), Failure> {
        (0..times).try_for_each(|_| self.launch())
    }

    /// Drops the output that is kept from an earlier launch. From now on, the output of each launch is kept
    /// until the next launch if `keeps` is true, and dropped right after the launch if `keeps` is false. The
    /// default does nothing.
    fn keep_output(&mut self, keeps: bool) {}

    /// Calls `set_allocation_seed`, and then makes new inputs, at other addresses. Returns true if later
    /// launches use the new inputs. Returns false, the default, if new inputs cannot be made or have other
    /// sizes; later launches then use the first inputs. The first inputs are kept for
    /// [`Self::restore_inputs`].
    fn relocate_inputs(&mut self, set_allocation_seed: &mut dyn FnMut()) -> bool {
        false
    }

    /// Makes later launches use the first inputs again, and drops all other inputs. The default does nothing.
    fn restore_inputs(&mut self) {}

    /// Returns the shortest host time of a call of the launch function so far; `None`, the default, if calls
    /// are not timed.
    #[doc(hidden)]
    fn min_host_call_time(&self) -> Option<Nanoseconds> {
        None
    }

    /// Calls `visit` with each piece of host memory that the inputs consist of, and returns true. Returns
    /// false, the default, if some memory of the inputs is unknown.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
        false
    }
}

/// A closure that enqueues one launch, of work that needs no reset.
impl<F: FnMut() -> Result<(), Failure>> Work for F {
    fn launch(&mut self) -> Result<(), Failure> {
        self()
    }
}

/// The reason why a device cannot be used: a sentence, or an error type of the device.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct DeviceError(Arc<dyn Error + Send + Sync>);

impl DeviceError {
    /// Returns an error with this sentence, or with this error type of the device.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }
}

/// The failure of a case whose device failed while it was sampled.
impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::new(Stage::Sampling, error)
    }
}
