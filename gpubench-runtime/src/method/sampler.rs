//! The sampler of devices with a queue: takes groups on the path that the device chose, calibrates its timer,
//! and times launches in other ways after the samples.

use std::any::Any;
use std::time::{Duration, Instant};

use super::calibration::{COUNTED_GROUPS, SAMPLES_PER_GROUP, timer};
use super::group::{AnyWork, GroupRunner, Partner, WorkWithPartner, require_own_launch};
use super::path::SamplingPath;
use super::stream_path::StreamPath;
use super::{LONG_LAUNCH, SHORT_LAUNCH};
use crate::device::{LaunchMode, OtherTimes, OwnLaunch, Queue, SampleOptions, SampledGroup, Sampler};
use gpubench_records::{Cache, Failure, Method, Timer};
use gpubench_stats::{Nanoseconds, median};

/// Samples the launches of a case, or of a pair of cases, on a queue.
struct QueueSampler<'a> {
    path: SamplingPath<'a>,
    /// The method of the samples, of the first work for a pair.
    method: Method,
    /// The method of the second work of a pair; `None` for a single case.
    partner: Option<Method>,
    /// True if the user allows relocation of inputs; false for a pair.
    relocates_inputs: bool,
    /// A setting of the device that is reset when the sampler is dropped.
    _setting: Option<Box<dyn Any>>,
}

/// The way in which a device samples a case: the choice of its path and flush.
pub struct Chosen {
    /// How launches run and are timed.
    pub mode: LaunchMode,
    /// The method of the samples, with its flush.
    pub method: Method,
    /// A setting of the device that lasts as long as the samples, and ends when it is dropped.
    pub setting: Option<Box<dyn Any>>,
}

/// Returns a sampler of `work` in the way `chosen`. Its samples are interleaved with empty launches. `wanted`
/// has the state of the cache and other options.
///
/// # Errors
/// Returns an error if the device fails.
pub fn sampler<'a>(
    queue: &'a mut dyn Queue,
    work: AnyWork<'a>,
    wanted: &SampleOptions,
    chosen: Chosen,
) -> Result<Box<dyn Sampler + 'a>, Failure> {
    let empty = require_own_launch(queue, OwnLaunch::Empty(chosen.mode, wanted.cache))?;
    let works = WorkWithPartner { first: work, partner: Partner::Empty(empty) };
    Ok(new_sampler(queue, works, wanted, chosen, None))
}

/// Returns a sampler of two interleaved works in the way `chosen`. `chosen` has the method of the first work,
/// and `partner` is the method of the second.
pub fn pair_sampler<'a>(
    queue: &'a mut dyn Queue,
    [first, other]: [AnyWork<'a>; 2],
    wanted: &SampleOptions,
    chosen: Chosen,
    partner: Method,
) -> Box<dyn Sampler + 'a> {
    let works = WorkWithPartner { first, partner: Partner::Case(other) };
    new_sampler(queue, works, wanted, chosen, Some(partner))
}

/// Returns a sampler of `works`. `partner` is the method of the second work of a pair, otherwise `None`.
fn new_sampler<'a>(
    queue: &'a mut dyn Queue,
    works: WorkWithPartner<'a>,
    wanted: &SampleOptions,
    Chosen { mode, method, setting }: Chosen,
    partner: Option<Method>,
) -> Box<dyn Sampler + 'a> {
    let path = SamplingPath::new(GroupRunner::new(queue, works, mode, method.flush, wanted));
    let relocates_inputs = wanted.relocates_inputs && partner.is_none();
    Box::new(QueueSampler { path, method, partner, relocates_inputs, _setting: setting })
}

impl Sampler for QueueSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        self.path.group(if self.partner.is_some() { 2 * samples } else { samples })
    }

    fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        match &mut self.path {
            // A launch of several kernels is also timed on the stream, and compared with its time in the
            // graph.
            SamplingPath::Recorded(path) if self.relocates_inputs && self.method.operations == Some(1) => {
                path.relocate_inputs(allocation_seed)
            }
            _ => Ok(false),
        }
    }

    fn restore_inputs(&mut self) {
        if let SamplingPath::Recorded(path) = &mut self.path {
            path.restore_inputs();
        }
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        let groups = self.path.groups();
        timer(groups.queue, groups.mode, groups.cache)
    }

    fn begin(&mut self, timer: Timer) -> Result<Timer, Failure> {
        self.restart()?;
        Ok(timer)
    }

    fn restart(&mut self) -> Result<(), Failure> {
        match &mut self.path {
            // Stamps are no clock for the start of a copy engine.
            SamplingPath::Recorded(path) if self.method.kernel_count == self.method.operations => {
                path.enable_stamps()
            }
            _ => Ok(()),
        }
    }

    fn method(&self) -> Method {
        self.method.clone()
    }

    fn partner_method(&self) -> Option<Method> {
        self.partner.clone()
    }

    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        let groups = self.path.groups();
        if groups.works.first().resets() {
            return Ok(None);
        }
        match &mut self.path {
            SamplingPath::Recorded(path) => path.back_to_back(launches).map(Some),
            SamplingPath::Stream(groups, _) => {
                (0..launches).try_for_each(|_| groups.works.first().launch())?;
                groups.queue.wait()?;
                Ok(Some(launches))
            }
        }
    }

    fn other_times(&mut self, time: Nanoseconds) -> Result<OtherTimes, Failure> {
        let overhead = self.timer()?.overhead;
        let mut times = OtherTimes::default();
        let several = self.method.operations.is_some_and(|operations| operations > 1);
        let groups = self.path.groups();
        times.host_call = groups.works.first().min_host_call_time().filter(|_| !groups.host_work);
        // Inputs that need a reset do not allow back-to-back launches.
        let repeats = groups.cache == Cache::Hot && !groups.works.first().resets();
        match &mut self.path {
            SamplingPath::Recorded(path) => {
                if time < SHORT_LAUNCH && repeats {
                    times.back_to_back = Some(path.marginal_launch_time()?);
                }
                if time < LONG_LAUNCH && several {
                    times.stream = Some(stream_time(&mut path.groups)?);
                }
            }
            SamplingPath::Stream(groups, path) if time < LONG_LAUNCH => {
                times.prequeued = path.prequeued_time(groups)?.map(|event| event - overhead);
            }
            SamplingPath::Stream(..) => {}
        }
        Ok(times)
    }
}

/// The time for the additional launches on the stream of a case whose samples are recorded.
const STREAM_TIME_BUDGET: Duration = Duration::from_millis(500);

/// Returns the median time of a launch on the stream, including the gaps between its kernels, which a
/// recorded batch does not have. The overhead is subtracted.
pub(super) fn stream_time(groups: &mut GroupRunner<'_>) -> Result<Nanoseconds, Failure> {
    let timer = timer(groups.queue, LaunchMode::AT_ONCE, groups.cache)?;
    let mut path = StreamPath::default();
    let begin = Instant::now();
    // The first group measures how long the others take to enqueue, and how many there is time for.
    path.group(groups, 1)?;
    let fitting =
        (STREAM_TIME_BUDGET.as_secs_f64() / COUNTED_GROUPS as f64 / begin.elapsed().as_secs_f64()) as usize;
    let mut events = Vec::new();
    for _ in 0..COUNTED_GROUPS {
        if events.is_empty() || begin.elapsed() < STREAM_TIME_BUDGET {
            events.extend(path.group(groups, fitting.clamp(1, SAMPLES_PER_GROUP))?.events);
        }
    }
    Ok(median(&events).unwrap_or_default() - timer.overhead)
}
