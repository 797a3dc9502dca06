//! The sampler of devices with a queue: takes groups on the path that the device chose, calibrates its timer, and times launches in other
//! ways after the samples.

use std::any::Any;

use super::calibration::{own_launch, stream_time, timer};
use super::group::{Groups, Partner, Works};
use super::recorded_path::RecordedPath;
use super::stream_path::StreamPath;
use crate::device::{LaunchMode, OwnLaunch, Queue, SampleOptions, SampledGroup, Sampler, Work};
use gpubench_records::{Cache, Failure, Method, Timer};
use gpubench_stats::Nanoseconds;

/// The path on which a case is sampled.
pub(super) enum SamplingPath<'a> {
    Recorded(RecordedPath<'a>),
    Stream(Groups<'a>, StreamPath),
}

impl<'a> SamplingPath<'a> {
    pub(super) fn new(groups: Groups<'a>) -> Self {
        match groups.mode.recorded {
            true => Self::Recorded(RecordedPath::new(groups)),
            false => Self::Stream(groups, StreamPath::default()),
        }
    }

    /// Takes a group of this many samples, or of as many as the path takes at once.
    pub(super) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        match self {
            Self::Recorded(path) => path.group(samples),
            Self::Stream(groups, path) => path.group(groups, samples),
        }
    }

    fn groups(&mut self) -> &mut Groups<'a> {
        match self {
            Self::Recorded(path) => &mut path.groups,
            Self::Stream(groups, _) => groups,
        }
    }
}

struct QueueSampler<'a> {
    path: SamplingPath<'a>,
    method: Method,
    /// The method of the second of two works.
    partner: Option<Method>,
    relocates_inputs: bool,
    /// Kept until the last sample.
    _setting: Option<Box<dyn Any>>,
}

/// The way in which a device samples launches.
pub struct Chosen {
    /// How launches run and are timed.
    pub mode: LaunchMode,
    /// The method of the samples, with its flush.
    pub method: Method,
    /// A setting of the device that lasts as long as the samples, and ends when it is dropped.
    pub setting: Option<Box<dyn Any>>,
}

/// Prepares to sample `work` as `chosen`, interleaved with empty launches.
///
/// # Errors
/// Returns an error if the device fails.
pub fn sampler<'a>(
    queue: &'a mut dyn Queue,
    work: Box<dyn Work + 'a>,
    wanted: &SampleOptions,
    chosen: Chosen,
) -> Result<Box<dyn Sampler + 'a>, Failure> {
    let empty = own_launch(queue, OwnLaunch::Empty(chosen.mode, wanted.cache))?;
    let works = Works { first: work, partner: Partner::Empty(empty) };
    Ok(with_works(queue, works, wanted, chosen, None))
}

/// Prepares to sample two interleaved `works` as `chosen`. The second has the method `partner`.
pub fn pair_sampler<'a>(
    queue: &'a mut dyn Queue,
    [work, other]: [Box<dyn Work + 'a>; 2],
    wanted: &SampleOptions,
    chosen: Chosen,
    partner: Method,
) -> Box<dyn Sampler + 'a> {
    let works = Works { first: work, partner: Partner::Case(other) };
    with_works(queue, works, wanted, chosen, Some(partner))
}

fn with_works<'a>(
    queue: &'a mut dyn Queue,
    works: Works<'a>,
    wanted: &SampleOptions,
    Chosen { mode, method, setting }: Chosen,
    partner: Option<Method>,
) -> Box<dyn Sampler + 'a> {
    let path = SamplingPath::new(Groups::new(queue, works, mode, method.flush, wanted));
    let relocates_inputs = wanted.relocates_inputs && partner.is_none();
    Box::new(QueueSampler { path, method, partner, relocates_inputs, _setting: setting })
}

impl Sampler for QueueSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        self.path.group(if self.partner.is_some() { 2 * samples } else { samples })
    }

    fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        match &mut self.path {
            // A launch of several kernels is also timed on the stream, and compared with its time in the graph.
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
                path.take_stamps()
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
        if groups.works.first.resets() {
            return Ok(None);
        }
        match &mut self.path {
            SamplingPath::Recorded(path) => path.back_to_back(launches).map(Some),
            SamplingPath::Stream(groups, _) => {
                (0..launches).try_for_each(|_| groups.works.first.launch())?;
                groups.queue.wait()?;
                Ok(Some(launches))
            }
        }
    }

    fn min_host_call_time(&mut self) -> Option<Nanoseconds> {
        let groups = self.path.groups();
        groups.works.first.min_host_call_time().filter(|_| !groups.host_work)
    }

    fn marginal_launch_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let SamplingPath::Recorded(path) = &mut self.path else { return Ok(None) };
        // Inputs that need a reset do not allow back-to-back launches.
        let repeats = path.groups.cache == Cache::Hot && !path.groups.works.first.resets();
        if repeats { path.marginal_launch_time().map(Some) } else { Ok(None) }
    }

    fn prequeued_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let overhead = self.timer()?.overhead;
        let SamplingPath::Stream(groups, path) = &mut self.path else { return Ok(None) };
        Ok(path.prequeued_time(groups)?.map(|event| event - overhead))
    }

    fn stream_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let several = self.method.operations.is_some_and(|operations| operations > 1);
        match &mut self.path {
            SamplingPath::Recorded(path) if several => stream_time(&mut path.groups).map(Some),
            _ => Ok(None),
        }
    }
}
