//! The untimed steps of a case: set-up, reset, counts and one checked launch; and the actions that only test, detect writes or serve a
//! profiler.

use std::time::{Duration, Instant};

use crate::cases::Job;
use crate::catch::catch;
use crate::device::{Device, Work, check_context_unchanged};
use crate::registry::{BenchmarkOptions, CaughtCase, Entry, select_args, visit_case};
use crate::worker::{Reply, Request};
use gpubench_core::Variant;
use gpubench_records::{
    Counts, Failure, LaunchInfo, Observation, Stage, Step, UserMetric, verdict::launches,
};
use gpubench_stats::Bytes;

/// The results of the untimed steps of a job, which all of its cases share.
#[derive(Default)]
pub(super) struct PreparedCase {
    pub counts: Counts,
    /// The benchmark's own metrics, of one launch.
    pub metrics: Vec<UserMetric>,
    /// True if the outputs passed the benchmark's check; false if they were not checked.
    pub checked: bool,
    /// The observations of the checked launch; empty if it was not observed.
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

    /// Resets the inputs, launches once on them, and checks the outputs. Launches and observes once more if
    /// the launch did something that only first launches may do, such as loading code. Returns an error if
    /// the launch makes driver calls that invalidate any measured time. If `options` is `None`, neither
    /// observes the launch nor checks its outputs.
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
        let mut prepared = Self { counts, metrics, ..Self::default() };
        let Some(options) = options else {
            launch_and_wait(case, device).map_err(|failure| failure.at(Step::CheckedLaunch))?;
            return Ok(Self { first_launch_time: begin.elapsed(), ..prepared });
        };
        case.0.keep_output(true);
        prepared.launch_info = catch(Stage::Launch, || device.observe(case))
            .map_err(|failure| with_driver_message(failure, device).at(Step::CheckedLaunch))?;
        prepared.first_launch_time = begin.elapsed();
        let launch_info = &mut prepared.launch_info;
        let refusal = |launch_info: &LaunchInfo| {
            launches::first_invalid_observation(launch_info, options.host_work)
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
        if launches::needs_another_launch(launch_info, options.host_work) {
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
pub(super) fn run_user_step<T>(
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
    device.synchronize_in(stage)?;
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
pub(super) fn drop_output(case: &mut CaughtCase<'_>, device: &mut dyn Device) -> Result<(), Failure> {
    run_user_step(device, Stage::Check, || case.drop_output())?;
    device.synchronize_in(Stage::Check)
}

/// Returns `failure` with the driver's last message added to its text, if there is one. Failures of a sampler
/// already contain it.
pub(super) fn with_driver_message(mut failure: Failure, device: &mut dyn Device) -> Failure {
    if let Some(remark) = device.remark().filter(|_| failure.stage != Stage::Sampling) {
        failure.message += &format!("; the driver says: {remark}");
    }
    failure
}

/// Synchronizes `device`. If that fails, the device is lost: replies [`Reply::DeviceLost`], and returns true.
/// A worker process exits within that reply, because objects of a lost device must not be dropped: only an
/// in-process worker returns true.
pub(super) fn report_lost_device(device: &mut dyn Device, reply: &mut dyn FnMut(Reply)) -> bool {
    let lost = device.synchronize().is_err();
    if lost {
        reply(Reply::DeviceLost);
    }
    lost
}

/// Puts the first inputs back in place of relocated ones, and makes the device current again.
pub(super) fn restore_inputs(work: &mut dyn Work, device: &mut dyn Device) {
    work.restore_inputs();
    // Dropping inputs may have left another device current.
    _ = device.make_current();
}

/// Returns the time left until `deadline`, or zero after it.
pub(super) fn time_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
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

/// Performs the action of a request on the case of `entry`, and returns its reply: detects writes, launches for a profiler,
/// or launches once and checks the outputs.
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
