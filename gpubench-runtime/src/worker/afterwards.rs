//! Launches after the samples of a case. They answer two questions: does a sampled launch still do the work that was checked, and
//! does the launch function behave the same on fresh inputs?

use std::time::Duration;

use super::prepared::{Launches, on, remarked, set_up, synchronize};
use crate::catch::catch;
use crate::device::{Device, Inputs};
use crate::registry::Case;
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::record::Measurement;
use gpubench_records::relaunch::{Relaunch, Reuse};
use gpubench_records::verdict::{Reason, launched};
use gpubench_stats::units::{Bytes, Nanoseconds};

/// The most pairs of launches on fresh and on used inputs. A second pair is timed only if the first one looks suspicious.
const PAIRS: usize = 3;
/// On a device that cannot restore memory, fresh inputs lie elsewhere than the inputs that the samples left, and a launch may take longer
/// there by this factor. On an AMD EPYC, a cold copy of 256 KiB takes 16 µs on the first inputs of a process and 34 µs on later ones.
const ELSEWHERE: f64 = 2.5;

/// The case that is launched, and its device.
pub(super) struct Afterwards<'a> {
    pub(super) case: &'a mut dyn Case,
    pub(super) device: &'a mut dyn Device,
    /// True if the host's part belongs to the launch, whose time then says nothing about its inputs.
    pub(super) host_work: bool,
}

/// Launches on the first inputs, after the samples.
#[derive(Default)]
pub(super) struct OnUsedInputs {
    /// Their findings. Nothing if the device makes none.
    pub(super) relaunch: Option<Relaunch>,
    /// The failure of the check after a launch on restored memory.
    check_failed: Option<Failure>,
}

/// The launches on fresh inputs, and room for another half.
const FRESH_LAUNCHES: f64 = 2.5;
/// The likely reason that a check which passed before the samples fails after them.
const STATE_OUTSIDE: &str =
    "; the launch before the samples passed: does the launch function keep state outside of its inputs?";

impl Afterwards<'_> {
    /// Times a launch on the inputs that the samples left. One that is faster than their median is repeated, and the slowest
    /// counts: other programs may have slowed most samples, and not this launch.
    pub(super) fn on_left_inputs(&mut self, median: Nanoseconds) -> Result<Option<Nanoseconds>, Failure> {
        let Some(mut slowest) = self.timed(Inputs::Used)? else { return Ok(None) };
        for _ in 1..PAIRS {
            if !(Reuse { fresh: median, used: slowest }).is_faster() {
                break;
            }
            slowest = self.timed(Inputs::Used)?.map_or(slowest, |time| time.max(slowest));
        }
        Ok(Some(slowest))
    }

    /// Launches on the inputs of the checked launch, to see whether later launches still write their outputs.
    pub(super) fn on_used_inputs(&mut self) -> Result<OnUsedInputs, Failure> {
        let relaunch = catch(Stage::Launch, || self.device.relaunch(&mut Launches(self.case)))?;
        let mut check_failed = None;
        if relaunch.as_ref().is_some_and(|relaunch| relaunch.differs > Bytes::ZERO) {
            check_failed = on(self.device, Stage::Check, || self.case.check()).err();
            synchronize(self.device, Stage::Check)?;
        }
        Ok(OnUsedInputs { relaunch, check_failed })
    }

    /// Drops the inputs, makes them anew and launches twice, unless the case would be killed with its samples meanwhile: making inputs
    /// takes as long as `set_up`, and `time_left` is left. The check sees the outputs of the first launch. A launch function that
    /// consumes its inputs is faster on used ones, among them those that the samples `left`. Adds the findings to those of the launches
    /// on used inputs, and stores them. Returns the reasons against the case; after [`Reason::SetupNotRepeatable`] it has no
    /// inputs.
    pub(super) fn on_fresh_inputs(
        &mut self,
        (set_up, time_left): (Duration, Duration),
        left: Option<Nanoseconds>,
        OnUsedInputs { mut relaunch, check_failed }: OnUsedInputs,
        measurement: &mut Measurement,
    ) -> Vec<Reason> {
        let samples = &measurement.samples;
        let launches = samples.event_times.len();
        let each = samples.wall_time / launches.max(1) as f64;
        let (needed, time_left) = (Nanoseconds::from(set_up) + FRESH_LAUNCHES * each, time_left.into());
        let unchecked = if needed >= time_left {
            Some(Reason::NoTimeForFreshInputs { needed, left: time_left })
        } else if let Err(failure) = self.renew() {
            Some(Reason::SetupNotRepeatable(failure))
        } else {
            match self.launched_twice(left, relaunch.clone().unwrap_or_default()) {
                Ok(launched) => {
                    relaunch = Some(launched);
                    None
                }
                Err(failure) => {
                    let mut failure = failure.at(Step::Afterwards(launches));
                    failure.message.push_str(STATE_OUTSIDE);
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

    fn launched_twice(&mut self, left: Option<Nanoseconds>, relaunch: Relaunch) -> Result<Relaunch, Failure> {
        let fresh = self.timed(Inputs::Fresh)?;
        let checked = on(self.device, Stage::Check, || self.case.check())?;
        synchronize(self.device, Stage::Check)?;
        let used = self.timed(Inputs::Used)?;
        // The second launch is the freshest where the first one met new memory.
        let reuse = match (fresh.or(used), used) {
            (Some(fresh), Some(used)) => Some(self.confirmed(Reuse { fresh, used }, left)?),
            _ => None,
        };
        Ok(Relaunch { checked: checked.then_some(true), reuse, ..relaunch })
    }

    /// Times more pairs as long as the launch on used inputs is faster. The first launch on fresh inputs may also load code or
    /// meet memory that nothing has touched, so that its fastest time counts, and the slowest of the others.
    fn confirmed(&mut self, first: Reuse, left: Option<Nanoseconds>) -> Result<Reuse, Failure> {
        let (mut reuse, mut left) = (first, left);
        let with_left = |reuse: Reuse, left: Option<Nanoseconds>| Reuse {
            used: left.map_or(reuse.used, |left| left.min(reuse.used)),
            ..reuse
        };
        let mut renewed = false;
        for _ in 1..PAIRS {
            if !with_left(reuse, left).is_faster() {
                break;
            }
            let mut inputs = Inputs::Used;
            if !self.device.restore_inputs()? {
                self.renew()?;
                inputs = Inputs::Fresh;
                if !std::mem::replace(&mut renewed, true) {
                    left = left.map(|left| ELSEWHERE * left);
                }
            }
            let (fresh, used) = (self.timed(inputs)?, self.timed(Inputs::Used)?);
            let (Some(fresh), Some(used)) = (fresh.or(used), used) else { break };
            reuse = Reuse { fresh: reuse.fresh.min(fresh), used: reuse.used.max(used) };
        }
        Ok(with_left(reuse, left))
    }

    /// Times a launch after a flush; nothing if the device cannot, or if the time would mean nothing.
    fn timed(&mut self, inputs: Inputs) -> Result<Option<Nanoseconds>, Failure> {
        let time = catch(Stage::Launch, || self.device.launch_cold(&mut Launches(self.case), inputs))
            .map_err(|failure| remarked(failure, self.device))?;
        Ok(time.filter(|time| !self.host_work && time.is_finite()))
    }

    /// Drops the inputs, then makes them anew, so that no two sets of them need to fit.
    fn renew(&mut self) -> Result<(), Failure> {
        // A panic of the inputs' `drop` loses nothing that is still needed.
        _ = catch(Stage::Setup, || {
            self.case.clear();
            Ok(())
        });
        _ = self.device.make_current();
        set_up(self.case, self.device)
    }
}
