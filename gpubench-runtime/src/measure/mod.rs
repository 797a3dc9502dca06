//! The protocol of a measurement: warm-up, groups of samples, the stop rule. In: a [`Sampler`] of one case, and its
//! sampling options; out: the samples, and the facts of how they were taken. Judges nothing.

mod clock;
mod energy;
mod groups;
#[cfg(test)]
mod tests;
mod turns;
mod warm_up;
mod watch;

use std::time::Instant;

use crate::device::{Monitor, Sampler};
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::method::Timer;
use gpubench_records::sampling::Sampling;
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Decision, StopRule, Summary};

use self::clock::ClockReadings;
use gpubench_records::samples::{Samples, times};

pub use self::energy::energy;
use self::groups::GroupSize;
pub use self::turns::{ComparedSamples, Rounds, compare};
use self::watch::Watch;

/// The fewest samples that the stop rule may end on.
pub const MIN_SAMPLES: usize = 30;
/// The most samples that a case keeps: more would cost memory and tell nothing new.
pub const MAX_SAMPLES: usize = 1 << 16;

/// The stop rule is checked again once the number of samples has grown by this factor: each check costs a sort, and
/// each is a chance to stop by luck.
const NEXT_LOOK: f64 = 1.1;

/// A launch shorter than this is also timed back-to-back.
const SHORT: Nanoseconds = Nanoseconds(5000.0);

/// Follows the measurement of a case.
pub trait StepObserver {
    /// Called before the warm-up, before every group and after the last.
    fn step_reached(&mut self, step: Step);
    /// Called when the interval of the result is computed from the samples so far. `half_width` is the half of it, as a part of
    /// the result.
    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {
        _ = (samples, half_width);
    }
}

impl<F: FnMut(Step)> StepObserver for F {
    fn step_reached(&mut self, step: Step) {
        self(step);
    }
}

/// Samples one case while `monitor` is read, until the result is precise enough or the budget is spent. Reports to
/// `progress`.
///
/// # Errors
/// Returns an error if a launch or the device fails.
pub fn measure(
    sampler: &mut dyn Sampler,
    sampling: &Sampling,
    monitor: Option<Box<dyn Monitor>>,
    progress: &mut dyn StepObserver,
) -> Result<Samples, Failure> {
    let timer = sampler.timer()?;
    let watch = monitor.map(Watch::over);
    let mut size = GroupSize::default();
    let (mut warming, mut clocks) = (ClockReadings::default(), ClockReadings::default());
    let warm_up = warm_up::warm_up(sampler, timer, sampling, &mut size, &mut warming, &mut |step| {
        progress.step_reached(step);
    })?;
    let mut rule = StopRule::new(sampling.precision, MIN_SAMPLES);
    let mut events = Vec::with_capacity(sampling.samples.unwrap_or(MAX_SAMPLES).min(MAX_SAMPLES));
    let (mut groups, mut elapsed, mut next_look) = (0, Nanoseconds::default(), MIN_SAMPLES);
    let mut converged = false;
    let begin = Instant::now();
    loop {
        let before = events.len();
        progress.step_reached(Step::Samples(before));
        let left = sampling.samples.unwrap_or(MAX_SAMPLES) - before;
        let group = sampler.group(size.next().min(left), &mut events)?;
        clocks.read(sampler, events.len(), begin.elapsed().into());
        size.learn(events.len() - before, group);
        groups += 1;
        elapsed += group;
        if let Some(wanted) = sampling.samples {
            converged = true;
            if events.len() >= wanted {
                break;
            }
            continue;
        }
        if events.len() >= next_look {
            next_look = (NEXT_LOOK * events.len() as f64).ceil() as usize;
            let time = Summary::of(&times(&events, timer), timer.step);
            converged = time.is_some_and(|time| {
                progress.interval_narrowed(time.samples, time.relative_half_width());
                rule.check(&time, timer.step) == Decision::Converged
            });
        }
        let spent = elapsed >= sampling.max_time || events.len() >= MAX_SAMPLES;
        if spent || (converged && elapsed >= sampling.min_time) {
            break;
        }
    }
    let end = Instant::now();
    let conditions = watch.and_then(|watch| watch.conditions(begin, end, groups));
    progress.step_reached(Step::Afterwards(events.len()));
    let method = sampler.method();
    let mut samples = Samples {
        method,
        timer,
        warm_up,
        conditions,
        device_clock: clocks.after(&warming),
        groups,
        in_turns: false,
        elapsed,
        wall: (end - begin).into(),
        converged,
        time: summary(&events, timer)?,
        back_to_back: None,
        on_stream: None,
        call: sampler.call(),
        held: sampler.held()?,
        events,
    };
    if samples.time.median < SHORT {
        samples.back_to_back = sampler.in_a_row()?;
    }
    samples.on_stream = sampler.on_stream()?;
    Ok(samples)
}

/// Summarises the samples.
fn summary(events: &[Nanoseconds], timer: Timer) -> Result<Summary, Failure> {
    let time = Summary::of(&times(events, timer), timer.step);
    time.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))
}
