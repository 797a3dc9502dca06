//! The launches after the samples of a case. They find launches that work only once, that consume their inputs or that depend on
//! state outside of them, and time the host's call.

use std::time::{Duration, Instant};

use super::prepared::{
    drop_output, make_inputs, restore_inputs, run_user_step, time_until, with_driver_message,
};
use crate::catch::{catch, catch_panic};
use crate::device::{Device, InputState, Work};
use crate::registry::CaughtCase;
use gpubench_records::verdict::launches;
use gpubench_records::{DeviceInfo, Failure, Reason, Relaunch, Reuse, Samples, Stage, Step};
use gpubench_stats::{Bytes, Nanoseconds, median};

/// The number of pairs of launches, on fresh and on used inputs, that are timed while all earlier pairs are
/// suspicious, however long they take. Also the most launches on the inputs as the samples left them.
const MIN_PAIRS: usize = 3;
/// The number of pairs that are timed within [`TIME_FOR_MORE_PAIRS`] while all earlier pairs are suspicious:
/// other programs slow single launches of microseconds by any factor.
const MAX_PAIRS: usize = 24;
/// The time in which pairs beyond [`MIN_PAIRS`] may begin.
const TIME_FOR_MORE_PAIRS: Duration = Duration::from_millis(20);
/// The factor by which a launch on recreated inputs may be slower, because their addresses are new. It
/// applies to devices that cannot restore memory. On an AMD EPYC, a cold copy of 256 KiB takes 16 µs on the
/// first inputs of a process and 34 µs on later inputs.
const NEW_ADDRESS_SLOWDOWN: f64 = 2.5;

/// The host time of a call is measured only for launches that take the device at most this time (7 ms).
const LONGEST_TIMED_CALL: Nanoseconds = Nanoseconds::from_seconds(0.007);
/// The device time of all launches whose calls are timed on the host. It determines the number of calls, from
/// [`MIN_TIMED_CALLS`] to [`MAX_TIMED_CALLS`].
const TIMED_CALLS_DEVICE_TIME: Nanoseconds = Nanoseconds::from_seconds(0.001);
/// The fewest calls of the launch function that are timed on the host.
const MIN_TIMED_CALLS: usize = 3;
/// The most calls of the launch function that are timed on the host.
const MAX_TIMED_CALLS: usize = 15;

/// The time reserved for launches on fresh inputs, in launches: two launches and a margin of half a launch.
const FRESH_CHECK_LAUNCHES: f64 = 2.5;
/// The end of a failure message, with the likely cause: a launch on the first inputs fails after launches on
/// relocated inputs.
const SETUP_KEEPS_STATE_HINT: &str = "; this launch used the first inputs, and `setup` made others between samples: let `setup` keep nothing outside of the inputs";

/// The end of a failure message, with the likely cause: a check fails after the samples that passed before
/// them.
const LAUNCH_KEEPS_STATE_HINT: &str = "; the first launch passed: the launch function seems to keep state outside of its inputs: restore that in `reset`";

/// Launches a case again after its samples. Finds launches that work only once, that consume their inputs or
/// that depend on state outside of them, and times the host's call.
pub(super) struct FollowUpLaunches<'a> {
    case: CaughtCase<'a>,
    device: &'a mut dyn Device,
    /// True if host work belongs to the launch. Launches are then not timed, since host times do not depend
    /// on the inputs.
    host_work: bool,
    /// The last samples of the case.
    samples: &'a Samples,
    /// The results of the launches so far.
    found: Findings,
}

/// The results of the launches after the samples.
#[derive(Default)]
pub(super) struct Findings {
    /// The reasons against the case. After [`Reason::SetupNotRepeatable`] it has no inputs.
    pub reasons: Vec<Reason>,
    pub relaunch: Option<Relaunch>,
    /// The median time of a call on the host; `None` if it was not measured.
    pub call_time: Option<Nanoseconds>,
}

impl<'a> FollowUpLaunches<'a> {
    /// Returns the launches of a case with these samples. No launch has run yet.
    pub(super) fn new(
        case: CaughtCase<'a>,
        device: &'a mut dyn Device,
        host_work: bool,
        samples: &'a Samples,
    ) -> Self {
        Self { case, device, host_work, samples, found: Findings::default() }
    }

    /// Launches on used and on fresh inputs, and times the call on the host. Without time for them, skips the
    /// launches on used inputs. `relocated` is true if inputs were relocated between samples, `setup_time` is
    /// the time to make inputs, and the worker is killed at `deadline`.
    pub(super) fn run(
        mut self,
        (on_used_inputs, relocated): (bool, bool),
        (setup_time, deadline): (Duration, Instant),
        info: &DeviceInfo,
    ) -> Findings {
        let on_sampled_inputs = if on_used_inputs { self.time_on_sampled_inputs() } else { Ok(None) };
        restore_inputs(&mut self.case, self.device);
        let used = on_sampled_inputs.and_then(|on_sampled_inputs| {
            let check_failed = if on_used_inputs { self.relaunch_on_used_inputs()? } else { None };
            Ok((on_sampled_inputs, check_failed))
        });
        let (on_sampled_inputs, check_failed) = match used {
            Ok(used) => used,
            Err(failure) => {
                let mut failure = with_driver_message(self.at_this_step(failure), self.device);
                if relocated {
                    failure.message.push_str(SETUP_KEEPS_STATE_HINT);
                }
                self.found.reasons.push(Reason::FailedAfterwards(failure));
                return self.found;
            }
        };
        self.check_on_fresh_inputs((setup_time, time_until(deadline)), on_sampled_inputs, check_failed);
        // The host's time of a launch on the CPU is the time itself.
        if self.found.reasons.is_empty() && !info.runs_program_code {
            match self.call_time() {
                Ok(time) => self.found.call_time = time,
                // No measured time depends on these calls.
                Err(failure) if self.device.synchronize().is_err() => {
                    self.found.reasons.push(Reason::FailedAfterwards(failure));
                }
                Err(_) => {}
            }
        }
        self.found
    }

    /// Launches on fresh inputs only, as described for [`Self::check_on_fresh_inputs`].
    pub(super) fn run_on_fresh_inputs(mut self, time: (Duration, Duration)) -> Findings {
        self.check_on_fresh_inputs(time, None, None);
        self.found
    }

    /// Returns `failure` with the step of these launches.
    fn at_this_step(&self, failure: Failure) -> Failure {
        failure.at(Step::Afterwards(self.samples.event_times.len()))
    }

    /// Returns the slowest time of one to [`MIN_PAIRS`] cold launches on the inputs as the samples left them.
    /// Launches again only while that time is suspiciously shorter than the median of the samples: other
    /// programs may have slowed the samples but not these launches. Returns `None` if the device cannot time
    /// a launch, or if host work belongs to the launch.
    fn time_on_sampled_inputs(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let median = self.samples.time.median;
        let Some(mut slowest) = self.time_cold_launch(InputState::Used)? else { return Ok(None) };
        for _ in 1..MIN_PAIRS {
            if !(Reuse { fresh: median, used: slowest }).is_faster() {
                break;
            }
            slowest = self.time_cold_launch(InputState::Used)?.map_or(slowest, |time| time.max(slowest));
        }
        Ok(Some(slowest))
    }

    /// Launches again on the inputs of the checked launch, to see whether a launch on restored memory has the
    /// same outputs, and whether later launches still write them. If outputs differ, runs the benchmark's
    /// check, and returns its failure or `None` if it passes.
    fn relaunch_on_used_inputs(&mut self) -> Result<Option<Failure>, Failure> {
        self.case.0.keep_output(true);
        let relaunch = catch(Stage::Launch, || self.device.relaunch(&mut self.case))?;
        let differs = relaunch.as_ref().is_some_and(|relaunch| relaunch.differs != Bytes::ZERO);
        self.found.relaunch = relaunch;
        if !differs {
            return Ok(None);
        }
        let check_failed = run_user_step(self.device, Stage::Check, || self.case.check()).err();
        drop_output(&mut self.case, self.device)?;
        Ok(check_failed)
    }

    /// Recreates the inputs, launches twice on them and checks the outputs of the first launch. Skips this,
    /// with a reason against the case, if `time_left` until the timeout is shorter than `setup_time` and the
    /// launches. `on_sampled_inputs` is the time of a launch on the inputs as the samples left them: a launch
    /// function that consumes its inputs is faster on used inputs. Also adds the reasons of
    /// [`Self::relaunch_on_used_inputs`], with `check_failed` among them.
    fn check_on_fresh_inputs(
        &mut self,
        (setup_time, time_left): (Duration, Duration),
        on_sampled_inputs: Option<Nanoseconds>,
        check_failed: Option<Failure>,
    ) {
        let launches = self.samples.event_times.len();
        let each = self.samples.wall_time / launches.max(1) as f64;
        let (needed, time_left) =
            (Nanoseconds::from(setup_time) + FRESH_CHECK_LAUNCHES * each, time_left.into());
        let unchecked = if needed >= time_left {
            Some(Reason::NoTimeForFreshInputs { needed, left: time_left })
        } else if let Err(failure) = self.recreate_inputs() {
            Some(Reason::SetupNotRepeatable(failure))
        } else {
            self.launch_fresh_and_used(on_sampled_inputs).err().map(|failure| {
                let mut failure = self.at_this_step(failure);
                failure.message.push_str(LAUNCH_KEEPS_STATE_HINT);
                Reason::FailedAfterwards(failure)
            })
        };
        let Findings { reasons, relaunch, .. } = &mut self.found;
        reasons.extend(relaunch.iter().flat_map(launches::relaunched));
        // Outputs that fail the check also on fresh inputs need one reason, not two.
        let is_reported =
            matches!(&unchecked, Some(Reason::FailedAfterwards(failure)) if failure.stage == Stage::Check);
        reasons.extend(check_failed.filter(|_| !is_reported).map(Reason::LaterOutputsFail));
        reasons.extend(unchecked);
    }

    /// Calls the launch function several times, each after a reset if there is one, and synchronizes at the
    /// end. Returns the median time of a call on the host. Returns `None` if host work belongs to the launch,
    /// or if each launch takes the device too long.
    fn call_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let each = self.samples.time.median;
        if self.host_work || each > LONGEST_TIMED_CALL {
            return Ok(None);
        }
        let calls = ((TIMED_CALLS_DEVICE_TIME / each) as usize).clamp(MIN_TIMED_CALLS, MAX_TIMED_CALLS);
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
        self.device.synchronize_in(Stage::Launch)?;
        Ok(median(&times))
    }

    /// Launches on fresh inputs, checks the outputs, and launches on the used inputs. Adds the results to the
    /// findings.
    fn launch_fresh_and_used(&mut self, on_sampled_inputs: Option<Nanoseconds>) -> Result<(), Failure> {
        self.case.0.keep_output(true);
        let fresh = self.time_cold_launch(InputState::Fresh)?;
        let checked = run_user_step(self.device, Stage::Check, || self.case.check())?;
        drop_output(&mut self.case, self.device)?;
        let used = self.time_cold_launch(InputState::Used)?;
        // If the first launch has no time, the second one is the freshest.
        let reuse = match (fresh.or(used), used) {
            (Some(fresh), Some(used)) => Some(self.confirm_reuse(Reuse { fresh, used }, on_sampled_inputs)?),
            _ => None,
        };
        let earlier = self.found.relaunch.take().unwrap_or_default();
        self.found.relaunch = Some(Relaunch { checked: checked.then_some(true), reuse, ..earlier });
        Ok(())
    }

    /// Times more pairs of launches while launches on used inputs are faster than on fresh inputs, at most
    /// [`MAX_PAIRS`] with the `first` pair. Returns the fastest time on fresh inputs and the slowest on used
    /// inputs, of all pairs, so that one disturbed launch does not count. The time `on_sampled_inputs`
    /// replaces the time on used inputs if it is shorter.
    fn confirm_reuse(
        &mut self,
        first: Reuse,
        on_sampled_inputs: Option<Nanoseconds>,
    ) -> Result<Reuse, Failure> {
        let (mut reuse, mut on_sampled_inputs) = (first, on_sampled_inputs);
        let with_sampled = |reuse: Reuse, on_sampled_inputs: Option<Nanoseconds>| Reuse {
            used: on_sampled_inputs.map_or(reuse.used, |on_sampled_inputs| on_sampled_inputs.min(reuse.used)),
            ..reuse
        };
        let mut renewed = false;
        let begin = Instant::now();
        for pair in 1..MAX_PAIRS {
            let is_enough = pair >= MIN_PAIRS && begin.elapsed() > TIME_FOR_MORE_PAIRS;
            if is_enough || !with_sampled(reuse, on_sampled_inputs).is_faster() {
                break;
            }
            let mut inputs = InputState::Used;
            if !self.device.restore_inputs()? {
                self.recreate_inputs()?;
                inputs = InputState::Fresh;
                if !std::mem::replace(&mut renewed, true) {
                    on_sampled_inputs =
                        on_sampled_inputs.map(|on_sampled_inputs| NEW_ADDRESS_SLOWDOWN * on_sampled_inputs);
                }
            }
            let (fresh, used) = (self.time_cold_launch(inputs)?, self.time_cold_launch(InputState::Used)?);
            let (Some(fresh), Some(used)) = (fresh.or(used), used) else { break };
            reuse = Reuse { fresh: reuse.fresh.min(fresh), used: reuse.used.max(used) };
        }
        Ok(with_sampled(reuse, on_sampled_inputs))
    }

    /// Times a launch after a flush of the cache. Returns `None` if the device cannot time it, or if host
    /// work belongs to the launch.
    fn time_cold_launch(&mut self, inputs: InputState) -> Result<Option<Nanoseconds>, Failure> {
        let time = catch(Stage::Launch, || self.device.time_cold_launch(&mut self.case, inputs))
            .map_err(|failure| with_driver_message(failure, self.device))?;
        Ok(time.filter(|time| !self.host_work && time.is_finite()))
    }

    /// Drops the inputs, then calls `setup` again: the device needs memory for one set of inputs only.
    fn recreate_inputs(&mut self) -> Result<(), Failure> {
        // Ignore a panic in the `drop` of the inputs.
        _ = catch_panic(Stage::Setup, || self.case.0.clear());
        _ = self.device.make_current();
        make_inputs(&mut self.case, self.device)
    }
}
