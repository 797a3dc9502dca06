//! The seam between a measurement and what it runs on. A [`Device`] opens, tells its [`Facts`] and samples launches;
//! the stream types that launch functions take name their device through [`LaunchStream`]. Called by `worker` and
//! `measure`; knows nothing of benchmarks.

mod available;
mod clock_target;
pub mod cuda;
pub mod host;
pub mod kind;
pub mod kinds;
mod monitor;
pub mod select;
pub mod turns;

use std::any::Any;

pub use available::{Available, Missing};
pub use clock_target::ClockTarget;
pub use monitor::Monitor;

use gpubench_records::facts::Facts;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::launch::LaunchFacts;
use gpubench_records::method::{Cache, Flush, Method, Path, Timer};
use gpubench_stats::units::Nanoseconds;

/// Why a device cannot be used: what happened, and where.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct DeviceError(pub String);

/// A stream type that launch functions take, and the device it belongs to.
///
/// Implemented for `cust::stream::Stream` and [`host::Stream`]; implement it for a stream of your own and any function that takes one
/// can be annotated.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stream that gpubench can measure",
    label = "expected a stream such as `cust::stream::Stream` or `gpubench::host::Stream`",
    note = "the stream is the parameter named `stream`, else the last one",
    note = "implement `gpubench::LaunchStream` for a stream type of your own"
)]
pub trait LaunchStream: Sized + 'static {
    /// The device that such a stream launches work on.
    type Device: DeviceType;

    /// A stream of `device`, on which everything of one case is launched.
    ///
    /// # Errors
    /// Where the device refuses one.
    fn over(device: &mut Self::Device) -> Result<Self, DeviceError>;
}

/// A stream that a launch function takes last under another name than `stream`, so that `#[gpu_bench]` assumes that it is
/// one. It is every [`LaunchStream`]; it has a name of its own so that the compiler says what was assumed of any other type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stream that gpubench can measure",
    label = "this last parameter was taken as the stream, since none is named `stream`",
    note = "a launch function takes a stream such as `cust::stream::Stream` or `gpubench::host::Stream`: add one, or say \
            which parameter it is with `stream = name`",
    note = "implement `gpubench::LaunchStream` for a stream type of your own"
)]
pub trait LastParameter: LaunchStream {}

#[diagnostic::do_not_recommend]
impl<S: LaunchStream> LastParameter for S {}

/// A [`Device`] that can be found and opened by its type.
pub trait DeviceType: Device + Sized {
    /// The word for it on the command line and in records.
    const KIND: &'static str;

    /// Opens device `ordinal` of this kind, the first being 0.
    ///
    /// # Errors
    /// Where it is not there or cannot be used.
    fn open(ordinal: usize) -> Result<Self, DeviceError>;
}

/// Something that runs launches and can time them.
pub trait Device: Any {
    /// What is known of the device, its peaks measured where nothing states them. May take a second.
    ///
    /// # Errors
    /// Where a peak's measurement fails.
    fn facts(&mut self) -> Result<Facts, DeviceError>;

    /// Waits for everything that was launched, so that its errors are told now and not to somebody later.
    ///
    /// # Errors
    /// What had gone wrong on the device.
    fn settle(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Makes this device the one that calls of this thread go to, where that can be changed: by the user's code, or by another
    /// device of this process. Returns what was found in its place, in words.
    ///
    /// # Errors
    /// Where that cannot be found out or restored.
    fn make_current(&mut self) -> Result<Option<String>, DeviceError> {
        Ok(None)
    }

    /// Has `work` launch once, outside of any measurement, waits for it and tells what it did.
    ///
    /// # Errors
    /// What the launch returned, what had gone wrong on the device, or why what would be timed is not all of the launch.
    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchFacts, Failure> {
        work.launch()?;
        self.settle().map_err(|error| Failure::new(Stage::Launch, error))?;
        Ok(LaunchFacts::default())
    }

    /// Whether launches of `work`, which left all memory as it was, write anything where that holds something else. The
    /// inputs are of no use afterwards, and perhaps the process: launches may go astray on what they do not expect.
    ///
    /// # Errors
    /// What a launch returned, or what went wrong on the device.
    fn writes(&mut self, work: &mut dyn Work) -> Result<Option<bool>, Failure> {
        _ = work;
        Ok(None)
    }

    /// What the device knows of an error that the user's code has just returned, to stand beside it.
    fn remark(&mut self) -> Option<String> {
        None
    }

    /// What reads the device's sensors.
    ///
    /// # Errors
    /// Why there are none, in a few words.
    fn monitor(&mut self) -> Result<Box<dyn Monitor>, String> {
        Err("the device has none".to_owned())
    }

    /// Prepares to time `work` as `wanted`. All samples of a case come from one sampler.
    ///
    /// # Errors
    /// Where the work cannot be sampled at all, or not so.
    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &Wanted,
    ) -> Result<Box<dyn Sampler + 'a>, Failure>;

    /// Prepares to time two `works` in turn, each as `wanted`. Both are launched on one stream.
    ///
    /// # Errors
    /// Where one of them cannot be sampled so; and where the device has no way to, as it has not unless it says so.
    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &Wanted,
    ) -> Result<Box<dyn PairSampler + 'a>, Failure> {
        _ = (works, wanted);
        Err(Failure::new(Stage::Device, "this device does not time two benchmarks in turn"))
    }

    /// Has the inputs that are made next lie elsewhere in the device's memory than those of other rounds, as far as the device
    /// can: where depends on `round` alone, and is the same for a round of an even number and the next. Called when there
    /// are no inputs.
    fn displace(&mut self, round: usize) {
        _ = round;
    }
}

/// How samples are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Hot or cold.
    pub cache: Cache,
    /// What to flush with, rather than what suits the device.
    pub flush: Option<Flush>,
    /// What to time with, rather than what suits the launch.
    pub path: Option<Path>,
}

/// What came of a step of the user's code, behind which the device was made current again and `left` was found in its place:
/// such a step fails, since without that all that follows would go elsewhere.
pub(crate) fn not_left<T>(
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
        Err(failure) => Err(Failure { message: format!("{}; it {left}", failure.message), ..failure }),
    }
}

/// What a device samples: the launches of one case.
pub trait Work {
    /// Whether there is anything to reset.
    fn resets(&self) -> bool {
        false
    }

    /// Enqueues what makes the inputs fresh again, if anything: before each sample and its flush, untimed.
    ///
    /// # Errors
    /// What the benchmark's `reset` returned.
    fn reset(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Enqueues one launch on the case's stream.
    ///
    /// # Errors
    /// What the launch function returned.
    fn launch(&mut self) -> Result<(), Failure>;
}

/// Times the launches of one case.
pub trait Sampler {
    /// Takes a group: `samples` samples, or as many of them as can be submitted together, read after one
    /// synchronisation. Their event times go to the end of `events`, in the order they ran; what comes back is what the
    /// whole group took on the device, flushes included. A group of a size that has been taken before should allocate
    /// nothing: it runs between the samples of a measurement.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    fn group(&mut self, samples: usize, events: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure>;

    /// What the timer reads around nothing on the path that these samples take, and how fine it is.
    ///
    /// # Errors
    /// Where the timer does not work.
    fn timer(&mut self) -> Result<Timer, Failure>;

    /// How the samples are taken.
    fn method(&self) -> Method;

    /// The clock of the multiprocessors right behind the last group, in hertz, by the device's own counters; `None` where it
    /// has none, or nothing was taken since this was last asked.
    fn clock(&mut self) -> Option<u64> {
        None
    }

    /// Launches about so often, with nothing between the launches, and waits: how often it was. `None` where a launch cannot
    /// follow another, since it needs fresh inputs.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        _ = launches;
        Ok(None)
    }

    /// The time of one more launch in a row of launches, with no event between them; `None` where that says nothing.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        Ok(None)
    }

    /// The time of a launch of several kernels with the gaps between them that a stream has, which those in a graph have
    /// not; `None` where that says nothing.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    fn on_stream(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        Ok(None)
    }
}

/// Times the launches of two cases in turn.
pub trait PairSampler {
    /// Takes a group of pairs: for each a sample of the one and a sample of the other, in the order of [`turns`], `pairs` of
    /// them or as many as can be submitted together. The event times go to the end of `events`, those of the first case
    /// first whichever ran first; what comes back is what the whole group took on the device.
    ///
    /// A hot sample has a launch of its own case before it, which is not timed.
    ///
    /// # Errors
    /// Where a launch or the device fails.
    fn group(&mut self, pairs: usize, events: &mut Vec<[Nanoseconds; 2]>) -> Result<Nanoseconds, Failure>;

    /// As [`Sampler::timer`].
    ///
    /// # Errors
    /// Where the timer does not work.
    fn timer(&mut self) -> Result<Timer, Failure>;

    /// How the samples of each are taken: on one path, behind one flush.
    fn methods(&self) -> [Method; 2];

    /// As [`Sampler::clock`].
    fn clock(&mut self) -> Option<u64> {
        None
    }
}
