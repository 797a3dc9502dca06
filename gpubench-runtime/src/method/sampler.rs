//! The sampler of devices with a queue: takes groups on the path that the device chose, calibrates its timer,
//! and times launches in other ways after the samples. Also chooses the flush before cold samples, and verifies on this
//! device that it empties the last-level cache.

use std::any::Any;
use std::time::{Duration, Instant};

use gpubench_records::{Cache, Failure, Flush, FlushVerification, Method, Path, Stage, Timer};
use gpubench_stats::{Nanoseconds, median};

use crate::device::{
    LaunchMode, OtherTimes, OwnLaunch, Queue, QueueProperties, SampleOptions, SampledGroup, Sampler,
    SamplerResult,
};
use crate::method::calibration::{COUNTED_GROUPS, SAMPLES_PER_GROUP, median_time, timer};
use crate::method::group::{AnyWork, GroupRunner, Partner, WorkWithPartner, require_own_launch};
use crate::method::path::{SamplingPath, StreamPath};
use crate::method::{LONG_LAUNCH, SHORT_LAUNCH};

/// Samples the launches of a case, or of a pair of cases, on a queue.
struct QueueSampler<'a> {
    path: SamplingPath<'a>,
    /// The method of the samples; for a pair, that of the first work.
    method: Method,
    /// The method of the second work of a pair; `None` for a single case.
    partner: Option<Method>,
    /// True if the user allows relocation of inputs; false for a pair.
    relocates_inputs: bool,
    /// A setting of the device that is reset when the sampler is dropped.
    _setting: Option<Box<dyn Any>>,
}

/// What a device chooses for the samples of a case: the launch mode, the method with the flush, and a setting
/// of the device. [`sampler`] and [`pair_sampler`] take it.
pub struct Chosen {
    /// How launches run and are timed.
    pub mode: LaunchMode,
    /// The method of the samples, with its flush.
    pub method: Method,
    /// A setting of the device for the samples, which ends when this value is dropped; `None` if none is
    /// needed.
    pub setting: Option<Box<dyn Any>>,
}

/// Returns a sampler of `work`, whose samples are interleaved with empty launches. `chosen` has the choices
/// of the device; `wanted` has the state of the cache and other options.
///
/// # Errors
/// Returns an error if the device fails, or if it has no empty launches.
pub fn sampler<'a>(
    queue: &'a mut dyn Queue,
    work: AnyWork<'a>,
    wanted: &SampleOptions,
    chosen: Chosen,
) -> SamplerResult<'a> {
    let empty = require_own_launch(queue, OwnLaunch::Empty(chosen.mode, wanted.cache))?;
    let works = WorkWithPartner { first: work, partner: Partner::Empty(empty) };
    Ok(new_sampler(queue, works, wanted, chosen, None))
}

/// Returns a sampler of two interleaved works. `chosen` has the choices of the device, with the method of the
/// first work; `partner` is the method of the second. `wanted` has the state of the cache and other options.
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
                groups.works.first().launch_times(launches)?;
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

/// The host time for timing a case on the stream whose samples are recorded (0.1 s). At least one group
/// counts, even if it takes longer.
const STREAM_TIME_BUDGET: Duration = Duration::from_millis(100);

/// Returns the median time of a launch on the stream, with the overhead subtracted. The time includes the
/// gaps between the launch's kernels, which a recorded batch does not have. Takes launches for about
/// [`STREAM_TIME_BUDGET`], and at least two groups.
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

/// The number of timed reads of one measurement in the verification of a flush. Before them, the same number
/// of reads is discarded.
const READS_PER_MEASUREMENT: usize = 16;
/// The size of the read that tests whether a flush evicted lines, in quarters of the size of the L2. One
/// quarter fits as a whole even into an L2 of two halves that keep copies of the same lines.
const EVICTION_TEST_QUARTERS: usize = 1;
/// The size of the read that tests whether a flush left dirty lines, in quarters of the size of the L2. A
/// large read takes longer if dirty lines must be written back first. A read of four quarters would evict
/// part of its own data.
const DIRTY_TEST_QUARTERS: usize = 3;

/// The number of verifications of the usual flush that must fail before it is rejected, on devices with
/// another flush. Other flushes are verified once. On two H200s, one of six first verifications failed, on a
/// GPU that had been idle: it found 83.6 % of the lines evicted.
const VERIFICATION_ATTEMPTS: usize = 3;

/// Chooses and verifies the flush before cold samples. Returns the method of samples on `path`, which
/// contains the flush, its verification, and the reason for the choice or doubts about it.
///
/// If `wanted` names a flush, uses it even if its verification fails. Otherwise uses the first flush that
/// passes verification, or the usual flush if none passes. Hot samples have no flush and no verification;
/// neither have cold samples for which `wanted` names [`Flush::None`].
///
/// # Errors
/// Returns an error if the device refuses the flush that `wanted` names, or if a read fails.
pub fn choose_flush(queue: &mut dyn Queue, path: Path, wanted: &SampleOptions) -> Result<Method, Failure> {
    let method = Method::new(path);
    let (flush, verification, reason) = match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => return Ok(method),
        (Cache::Cold, Some(flush)) => {
            if let Some(why) = queue.refuses(flush) {
                return Err(Failure::new(Stage::Device, why));
            }
            let verification = verify_flush(queue, flush)?;
            let QueueProperties { cache_name, other_flushes, .. } = queue.properties();
            let objection = verification.objection(flush, cache_name);
            // Of a device with other flushes, only a failed eviction is reported: the user may want a flush that leaves dirty lines.
            let is_told = other_flushes.is_empty() || !verification.evicts_cache();
            (flush, verification, objection.filter(|_| is_told))
        }
        (Cache::Cold, None) => first_working_flush(queue)?,
    };
    let doubts: Vec<String> = reason.into_iter().chain(queue.doubt()).collect();
    let mut method = method.with_flush(flush);
    method.flush_verification = Some(verification);
    method.flush_reason = (!doubts.is_empty()).then(|| doubts.join("; "));
    Ok(method)
}

/// Finds the flush for cold samples. Returns it with its verification and the objection to the usual flush,
/// which is `None` if the usual flush passes. A flush passes if it evicts the cache and leaves it clean.
///
/// 1. Verifies the usual flush, up to [`VERIFICATION_ATTEMPTS`] times if the device has other flushes,
///    otherwise once. Returns the usual flush if it passes.
/// 2. Verifies each other flush once, in the order of the device, and returns the first that passes. Here
///    [`Flush::Write`] may leave the cache dirty.
/// 3. Falls back to the usual flush, although its last verification failed.
fn first_working_flush(queue: &mut dyn Queue) -> Result<(Flush, FlushVerification, Option<String>), Failure> {
    let QueueProperties { usual_flush: usual, other_flushes, cache_name, .. } = queue.properties();
    let mut verification = verify_flush(queue, usual)?;
    // Without another flush, this one is taken whatever its verification says.
    for _ in 1..if other_flushes.is_empty() { 1 } else { VERIFICATION_ATTEMPTS } {
        if verification.evicts_cache() && verification.is_clean() {
            break;
        }
        // The clock of an idle GPU rises during the verification, and shifts the times that it compares: try
        // again.
        queue.calibration().flushes.remove(&usual);
        verification = verify_flush(queue, usual)?;
    }
    let Some(why) = verification.objection(usual, cache_name) else { return Ok((usual, verification, None)) };
    for flush in other_flushes.iter().copied() {
        let verification = verify_flush(queue, flush)?;
        if flush != usual && verification.evicts_cache() && (verification.is_clean() || flush == Flush::Write)
        {
            return Ok((flush, verification, Some(why)));
        }
    }
    let nor = if other_flushes.is_empty() { "" } else { "; no other flush could be verified either" };
    Ok((usual, verification, Some(why + nor)))
}

/// Returns the verification of `flush` that is stored in the calibration of `queue`. If there is none,
/// verifies `flush` with timed reads, and stores the verification there.
fn verify_flush(queue: &mut dyn Queue, flush: Flush) -> Result<FlushVerification, Failure> {
    if let Some(verification) = queue.calibration().flushes.get(&flush) {
        return Ok(*verification);
    }
    let mut canary = require_own_launch(queue, OwnLaunch::ReadQuarters(EVICTION_TEST_QUARTERS))?;
    let mut sweep = require_own_launch(queue, OwnLaunch::ReadQuarters(DIRTY_TEST_QUARTERS))?;
    let reference = Flush::Read;
    let mut verification = FlushVerification::default();
    verification.cached_read = median_time(queue, &mut *canary, Flush::None, READS_PER_MEASUREMENT)?;
    verification.flushed_read = median_time(queue, &mut *canary, flush, READS_PER_MEASUREMENT)?;
    verification.reference_read = median_time(queue, &mut *canary, reference, READS_PER_MEASUREMENT)?;
    verification.large_read = median_time(queue, &mut *sweep, flush, READS_PER_MEASUREMENT)?;
    verification.reference_large_read = median_time(queue, &mut *sweep, reference, READS_PER_MEASUREMENT)?;
    queue.calibration().flushes.insert(flush, verification);
    Ok(verification)
}
