//! The untimed steps of a case: set-up, reset, counts and one checked launch; the actions that only test, detect writes or serve a
//! profiler; and the checks after sampling.

use std::time::{Duration, Instant};

use super::{Reply, Request, pipe::exit_if_forked_child};
use crate::device::{Device, Inputs, Memory, Work, check_context_unchanged};
use crate::registry::{BenchmarkOptions, CaughtCase, Entry, failure_at, select_args, visit_case};
use crate::{catch::catch, job::Job};
use gpubench_core::Variant;
use gpubench_records::verdict::{launched, observed};
use gpubench_records::{
    Failure, LaunchInfo, Measurement, Observation, Reason, Relaunch, Reuse, Stage, Step,
    work::{Counts, UserMetric},
};
use gpubench_stats::{Bytes, Nanoseconds, median};

/// The results of the untimed steps of a job, which all of its cases share.
pub(super) struct PreparedCase {
    pub counts: Counts,
    /// The benchmark's own metrics, of one launch.
    pub metrics: Vec<UserMetric>,
    pub checked: bool,
    pub launch_info: LaunchInfo,
    /// The peak of the device memory that `setup` allocated; `None` if unknown, and in a comparison.
    pub setup_memory: Option<Bytes>,
    /// The time that creating the inputs took; zero in a comparison.
    pub setup_time: Duration,
    /// The time of the first launch, including everything that observes it.
    pub first_launch_time: Duration,
}

impl PreparedCase {
    /// Opens a stream, creates the inputs, launches once and checks the outputs. If `options` is `None`,
    /// neither observes the launch nor checks its outputs.
    pub(super) fn new(
        case: &mut CaughtCase<'_>,
        options: Option<&BenchmarkOptions>,
        device: &mut dyn Device,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Self, Failure> {
        let mut report_step = |step| reply(Reply::Step(step));
        report_step(Step::Setup);
        case.open_stream(device)?;
        _ = device.memory_growth();
        let begin = Instant::now();
        make_inputs(case, device)?;
        let (setup_time, setup_memory) = (begin.elapsed(), device.memory_growth());
        Ok(Self {
            setup_time,
            setup_memory,
            ..Self::launch_and_check(case, options, device, &mut report_step)?
        })
    }

    /// Resets the inputs, launches once on them, and checks the outputs. Returns an error if the launch makes
    /// driver calls that invalidate any measured time. If `options` is `None`, neither observes the launch
    /// nor checks its outputs.
    pub(super) fn launch_and_check(
        case: &mut CaughtCase<'_>,
        options: Option<&BenchmarkOptions>,
        device: &mut dyn Device,
        report_step: &mut dyn FnMut(Step),
    ) -> Result<Self, Failure> {
        // Counts describe the inputs before the launch.
        report_step(Step::Reset);
        reset(case, device)?;
        report_step(Step::Counts);
        let counts = run_user_step(device, Stage::Counts, || case.counts())?;
        let metrics = run_user_step(device, Stage::Counts, || case.metrics())?;
        report_step(Step::CheckedLaunch);
        let begin = Instant::now();
        let prepared = |launch_info| Self {
            counts,
            metrics,
            checked: false,
            launch_info,
            setup_memory: None,
            setup_time: Duration::ZERO,
            first_launch_time: begin.elapsed(),
        };
        let Some(options) = options else {
            launch_and_wait(case, device).map_err(|failure| failure.at(Step::CheckedLaunch))?;
            return Ok(prepared(LaunchInfo::default()));
        };
        case.0.keep_output(true);
        let mut prepared = prepared(
            catch(Stage::Launch, || device.observe(case))
                .map_err(|failure| with_driver_message(failure, device).at(Step::CheckedLaunch))?,
        );
        let launch_info = &mut prepared.launch_info;
        let refusal = |launch_info: &LaunchInfo| {
            observed::first_invalid(launch_info, options.host_work)
                .map(|why| Failure::new(Stage::Launch, why))
        };
        if let (Some(Observation::IgnoresError { .. }), Some(failure)) =
            (launch_info.observations.first(), refusal(launch_info))
        {
            return Err(failure);
        }
        report_step(Step::Check);
        prepared.checked = run_user_step(device, Stage::Check, || case.check())
            .map_err(|failure| with_driver_message(failure, device))?;
        drop_output(case, device)?;
        if observed::needs_another_look(launch_info, options.host_work) {
            // Libraries load code and allocate in the first launch alone.
            report_step(Step::CheckedLaunch);
            launch_info.observations = catch(Stage::Launch, || device.observe_again(case))
                .map_err(|failure| with_driver_message(failure, device).at(Step::CheckedLaunch))?;
        }
        refusal(launch_info).map_or(Ok(prepared), Err)
    }
}

/// Runs `step`, which calls the user's code, then makes `device` current again. Returns an error if `step`
/// left another device current.
fn run_user_step<T>(
    device: &mut dyn Device,
    stage: Stage,
    step: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let done = step();
    check_context_unchanged(stage, done, device.make_current())
}

/// Runs `step`, which calls the user's code, and synchronizes, so that no work of the step overlaps later
/// steps and asynchronous errors are failures of this step. Adds the driver's message to a failure.
fn run_and_synchronize<T>(
    device: &mut dyn Device,
    stage: Stage,
    step: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let done = run_user_step(device, stage, step).map_err(|failure| with_driver_message(failure, device))?;
    synchronize(device, stage)?;
    Ok(done)
}

/// Calls the benchmark's `setup`, which creates the inputs, and synchronizes.
pub(super) fn make_inputs(case: &mut CaughtCase<'_>, device: &mut dyn Device) -> Result<(), Failure> {
    run_and_synchronize(device, Stage::Setup, || case.setup())
}

/// Resets the inputs if the benchmark has a `reset`, and synchronizes, so that the reset does not overlap the next launch.
fn reset(case: &mut CaughtCase<'_>, device: &mut dyn Device) -> Result<(), Failure> {
    if case.resets() { run_and_synchronize(device, Stage::Reset, || case.reset()) } else { Ok(()) }
}

/// Resets the inputs, launches once, and waits for the launch.
pub(super) fn launch_and_wait(case: &mut CaughtCase<'_>, device: &mut dyn Device) -> Result<(), Failure> {
    reset(case, device)?;
    run_and_synchronize(device, Stage::Launch, || catch(Stage::Launch, || case.launch()))
}

/// Drops the value that the launch function returned, and synchronizes.
fn drop_output(case: &mut CaughtCase<'_>, device: &mut dyn Device) -> Result<(), Failure> {
    run_user_step(device, Stage::Check, || case.drop_output())?;
    synchronize(device, Stage::Check)
}

/// Waits for the device, and reports late errors as failures of `stage`.
pub(super) fn synchronize(device: &mut dyn Device, stage: Stage) -> Result<(), Failure> {
    device.synchronize().map_err(|error| Failure::new(stage, error))
}

/// Returns `failure` with the driver's last message added to its text, if there is one. Failures of a sampler
/// already contain it.
pub(super) fn with_driver_message(mut failure: Failure, device: &mut dyn Device) -> Failure {
    if let Some(remark) = device.remark().filter(|_| failure.stage != Stage::Sampling) {
        failure.message += &format!("; the driver says: {remark}");
    }
    failure
}

/// Returns true, and replies [`Reply::DeviceLost`], if `device` is lost after a failure. A worker process
/// exits within that reply, because objects of a lost device must not be dropped: only an in-process worker
/// returns true.
pub(super) fn report_lost_device(device: &mut dyn Device, reply: &mut dyn FnMut(Reply)) -> bool {
    let lost = device.synchronize().is_err();
    if lost {
        reply(Reply::DeviceLost);
    }
    lost
}

/// The launches of a case, as work to be sampled.
impl Work for CaughtCase<'_> {
    fn resets(&self) -> bool {
        self.0.resets()
    }

    fn is_checked(&self) -> bool {
        self.0.is_checked()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        let reset = catch(Stage::Reset, || self.0.reset().map_err(failure_at(Stage::Reset)));
        exit_if_forked_child();
        reset
    }

    fn launch(&mut self) -> Result<(), Failure> {
        let launched = self.0.launch().map_err(failure_at(Stage::Launch));
        exit_if_forked_child();
        launched
    }

    fn keep_output(&mut self, keeps: bool) {
        self.0.keep_output(keeps);
    }

    fn relocate_inputs(&mut self, set_allocation_seed: &mut dyn FnMut()) -> bool {
        let moved = catch(Stage::Setup, || {
            let counts = self.counts()?;
            self.0.stash_inputs();
            set_allocation_seed();
            self.setup()?;
            Ok(self.counts()? == counts)
        });
        // Inputs of another size would make this another case.
        let moved = moved.unwrap_or(false);
        if !moved {
            self.restore_inputs();
        }
        moved
    }

    fn restore_inputs(&mut self) {
        // Ignore a panic in the `drop` of the inputs.
        _ = catch(Stage::Setup, || {
            self.0.restore_inputs();
            Ok(())
        });
    }

    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
        catch(Stage::Counts, || Ok(self.0.memory(visit))).unwrap_or(false)
    }
}

/// Executes a request to test, to detect writes or to profile `job`, and replies with the result. Reports a
/// lost device after a failure.
pub(super) fn run_action(
    request: &Request,
    job: &Job,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let failed = |failure| match request {
        // A launch on unexpected values may fail: its writes are then unknown.
        Request::Writes { .. } => Reply::Writes(None),
        _ => Reply::Tested(Err(failure)),
    };
    let shown = visit_case(variant, |sweeps, case| {
        let done = select_args(&job.args, sweeps).and_then(|()| perform(request, entry, case, device, reply));
        let has_failed = done.is_err();
        reply(done.unwrap_or_else(failed));
        if has_failed {
            report_lost_device(device, reply);
        }
        Ok(())
    });
    if let Err(failure) = shown {
        reply(failed(failure));
    }
}

fn perform(
    request: &Request,
    entry: &Entry,
    case: &mut CaughtCase<'_>,
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) -> Result<Reply, Failure> {
    match request {
        // Launches on memory with other values, until `enough` of it has changed.
        Request::Writes { enough, .. } => {
            reply(Reply::Step(Step::Setup));
            case.open_stream(device)?;
            make_inputs(case, device)?;
            catch(Stage::Launch, || device.writes(case, *enough)).map(Reply::Writes)
        }
        Request::Profile { number, launches, .. } => {
            case.open_stream(device)?;
            make_inputs(case, device)?;
            // What only a first launch does is not profiled.
            launch_and_wait(case, device)?;
            catch(Stage::Launch, || device.profile(case, *number, *launches))?;
            Ok(Reply::Tested(Ok(false)))
        }
        _ => {
            let options = Some(&entry.options);
            let prepared = catch(Stage::Device, || PreparedCase::new(case, options, device, reply))?;
            Ok(Reply::Tested(Ok(prepared.checked)))
        }
    }
}

/// The number of pairs of launches, on fresh and on used inputs, that are timed while all earlier pairs are
/// suspicious, however long they take.
const MIN_PAIRS: usize = 3;
/// The number of pairs that are timed within [`TIME_FOR_MORE_PAIRS`] while all earlier pairs are suspicious:
/// other programs slow single launches of microseconds by any factor.
const MAX_PAIRS: usize = 24;
const TIME_FOR_MORE_PAIRS: Duration = Duration::from_millis(20);
/// The factor by which a launch on recreated inputs may be slower, because their addresses are new. It
/// applies to devices that cannot restore memory. On an AMD EPYC, a cold copy of 256 KiB takes 16 µs on the
/// first inputs of a process and 34 µs on later inputs.
const NEW_ADDRESS_SLOWDOWN: f64 = 2.5;

/// Launches a case again after its samples. Finds launches that work only once, that consume their inputs or
/// that depend on state outside of them, and times the host's call.
pub(super) struct FollowUpLaunches<'a> {
    pub case: CaughtCase<'a>,
    pub device: &'a mut dyn Device,
    /// True if host work belongs to the launch. Launches are then not timed, since host times do not depend
    /// on the inputs.
    pub host_work: bool,
}

/// The findings of [`FollowUpLaunches::relaunch_on_used_inputs`].
#[derive(Default)]
pub(super) struct UsedInputsFindings {
    /// The outputs of these launches, compared with the checked launch; `None` if the device cannot see them.
    pub relaunch: Option<Relaunch>,
    /// The failure of the check after a launch on restored memory.
    check_failed: Option<Failure>,
}

/// The device time of the launches whose calls are timed on the host. It determines the number of calls, from
/// [`MIN_TIMED_CALLS`] to [`MAX_TIMED_CALLS`].
const TIMED_CALLS_DEVICE_TIME: Nanoseconds = Nanoseconds::from_seconds(0.02);
const MIN_TIMED_CALLS: usize = 3;
const MAX_TIMED_CALLS: usize = 15;

/// The time reserved for launches on fresh inputs, in launches: two launches and a margin of half a launch.
const FRESH_CHECK_LAUNCHES: f64 = 2.5;
/// The end of a failure message, with the likely cause: a check fails after the samples that passed before
/// them.
const LAUNCH_KEEPS_STATE_HINT: &str =
    "; the launch before the samples passed: does the launch function keep state outside of its inputs?";

impl FollowUpLaunches<'_> {
    /// Times a launch on the inputs that the samples used. Returns `None` if the device cannot time it.
    /// Repeats a launch that is faster than the samples' `median` and returns the slowest time: other
    /// programs may have slowed the samples but not this launch.
    pub(super) fn time_on_sampled_inputs(
        &mut self,
        median: Nanoseconds,
    ) -> Result<Option<Nanoseconds>, Failure> {
        let Some(mut slowest) = self.time_cold_launch(Inputs::Used)? else { return Ok(None) };
        for _ in 1..MIN_PAIRS {
            if !(Reuse { fresh: median, used: slowest }).is_faster() {
                break;
            }
            slowest = self.time_cold_launch(Inputs::Used)?.map_or(slowest, |time| time.max(slowest));
        }
        Ok(Some(slowest))
    }

    /// Launches again on the inputs of the checked launch, to see whether a launch on restored memory has the
    /// same outputs, and whether later launches still write them. Runs the benchmark's check if outputs
    /// differ.
    pub(super) fn relaunch_on_used_inputs(&mut self) -> Result<UsedInputsFindings, Failure> {
        self.case.0.keep_output(true);
        let relaunch = catch(Stage::Launch, || self.device.relaunch(&mut self.case))?;
        let mut check_failed = None;
        if relaunch.as_ref().is_some_and(|relaunch| relaunch.differs > Bytes::ZERO) {
            check_failed = run_user_step(self.device, Stage::Check, || self.case.check()).err();
            drop_output(&mut self.case, self.device)?;
        }
        Ok(UsedInputsFindings { relaunch, check_failed })
    }

    /// Recreates the inputs, launches twice on them and checks the outputs of the first launch. Skips this if
    /// `time_left` until the timeout is shorter than `setup_time` and the launches. `left` is the time of a
    /// launch on the inputs of the samples: a launch function that consumes its inputs is faster on used
    /// inputs. Merges the findings into `relaunch`, and stores that in `measurement`. Returns the reasons
    /// against the case; after [`Reason::SetupNotRepeatable`] it has no inputs.
    pub(super) fn check_on_fresh_inputs(
        &mut self,
        (setup_time, time_left): (Duration, Duration),
        left: Option<Nanoseconds>,
        UsedInputsFindings { mut relaunch, check_failed }: UsedInputsFindings,
        measurement: &mut Measurement,
    ) -> Vec<Reason> {
        let samples = &measurement.samples;
        let launches = samples.event_times.len();
        let each = samples.wall_time / launches.max(1) as f64;
        let (needed, time_left) =
            (Nanoseconds::from(setup_time) + FRESH_CHECK_LAUNCHES * each, time_left.into());
        let unchecked = if needed >= time_left {
            Some(Reason::NoTimeForFreshInputs { needed, left: time_left })
        } else if let Err(failure) = self.recreate_inputs() {
            Some(Reason::SetupNotRepeatable(failure))
        } else {
            match self.launch_fresh_and_used(left, relaunch.clone().unwrap_or_default()) {
                Ok(launched) => {
                    relaunch = Some(launched);
                    None
                }
                Err(failure) => {
                    let mut failure = failure.at(Step::Afterwards(launches));
                    failure.message.push_str(LAUNCH_KEEPS_STATE_HINT);
                    Some(Reason::FailedAfterwards(failure))
                }
            }
        };
        let mut reasons = relaunch.as_ref().map(launched::relaunched).unwrap_or_default();
        reasons.extend(check_failed.map(Reason::LaterOutputsFail));
        reasons.extend(unchecked);
        measurement.relaunch = relaunch;
        reasons
    }

    /// Calls the launch function several times, each after a reset if there is one, and synchronizes at the
    /// end. Returns the median time of a call on the host. Returns `None` if host work belongs to the launch,
    /// or if `each` launch takes the device too long.
    pub(super) fn call_time(&mut self, each: Nanoseconds) -> Result<Option<Nanoseconds>, Failure> {
        let calls = ((TIMED_CALLS_DEVICE_TIME / each) as usize).min(MAX_TIMED_CALLS);
        if self.host_work || calls < MIN_TIMED_CALLS {
            return Ok(None);
        }
        self.case.0.keep_output(false);
        let case = &mut self.case;
        let timed = || {
            (0..calls)
                .map(|_| {
                    case.reset()?;
                    let begin = Instant::now();
                    case.launch().map(|()| Nanoseconds::from(begin.elapsed()))
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let times = run_user_step(self.device, Stage::Launch, || catch(Stage::Launch, timed))?;
        synchronize(self.device, Stage::Launch)?;
        Ok(median(&times))
    }

    fn launch_fresh_and_used(
        &mut self,
        left: Option<Nanoseconds>,
        relaunch: Relaunch,
    ) -> Result<Relaunch, Failure> {
        self.case.0.keep_output(true);
        let fresh = self.time_cold_launch(Inputs::Fresh)?;
        let checked = run_user_step(self.device, Stage::Check, || self.case.check())?;
        drop_output(&mut self.case, self.device)?;
        let used = self.time_cold_launch(Inputs::Used)?;
        // If the first launch has no time, the second one is the freshest.
        let reuse = match (fresh.or(used), used) {
            (Some(fresh), Some(used)) => Some(self.confirm_reuse(Reuse { fresh, used }, left)?),
            _ => None,
        };
        Ok(Relaunch { checked: checked.then_some(true), reuse, ..relaunch })
    }

    /// Times more pairs of launches while launches on used inputs are faster than on fresh inputs. Returns
    /// the fastest time on fresh inputs and the slowest on used inputs, of all pairs, so that one disturbed
    /// launch does not count.
    fn confirm_reuse(&mut self, first: Reuse, left: Option<Nanoseconds>) -> Result<Reuse, Failure> {
        let (mut reuse, mut left) = (first, left);
        let with_left = |reuse: Reuse, left: Option<Nanoseconds>| Reuse {
            used: left.map_or(reuse.used, |left| left.min(reuse.used)),
            ..reuse
        };
        let mut renewed = false;
        let begin = Instant::now();
        for pair in 1..MAX_PAIRS {
            let is_enough = pair >= MIN_PAIRS && begin.elapsed() > TIME_FOR_MORE_PAIRS;
            if is_enough || !with_left(reuse, left).is_faster() {
                break;
            }
            let mut inputs = Inputs::Used;
            if !self.device.restore_inputs()? {
                self.recreate_inputs()?;
                inputs = Inputs::Fresh;
                if !std::mem::replace(&mut renewed, true) {
                    left = left.map(|left| NEW_ADDRESS_SLOWDOWN * left);
                }
            }
            let (fresh, used) = (self.time_cold_launch(inputs)?, self.time_cold_launch(Inputs::Used)?);
            let (Some(fresh), Some(used)) = (fresh.or(used), used) else { break };
            reuse = Reuse { fresh: reuse.fresh.min(fresh), used: reuse.used.max(used) };
        }
        Ok(with_left(reuse, left))
    }

    /// Times a launch after a flush of the cache. Returns `None` if the device cannot time it, or if host
    /// work belongs to the launch.
    fn time_cold_launch(&mut self, inputs: Inputs) -> Result<Option<Nanoseconds>, Failure> {
        let time = catch(Stage::Launch, || self.device.launch_cold(&mut self.case, inputs))
            .map_err(|failure| with_driver_message(failure, self.device))?;
        Ok(time.filter(|time| !self.host_work && time.is_finite()))
    }

    /// Drops the inputs, then calls `setup` again: the device needs memory for one set of inputs only.
    fn recreate_inputs(&mut self) -> Result<(), Failure> {
        // Ignore a panic in the `drop` of the inputs.
        _ = catch(Stage::Setup, || {
            self.case.0.clear();
            Ok(())
        });
        _ = self.device.make_current();
        make_inputs(&mut self.case, self.device)
    }
}
