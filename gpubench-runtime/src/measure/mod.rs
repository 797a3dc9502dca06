//! The protocol of a measurement: warm-up, groups of samples, the stop rule. In: a [`Sampler`] of one case and how it is
//! to be sampled; out: the samples, with what is known of how they came about. Judges nothing.

mod groups;
mod warm_up;

use crate::device::{Method, Sampler, Timer};
use crate::failure::Failure;
use crate::plan::Sampling;
use crate::stats::{Decision, StopRule, Summary};
use crate::units::Nanoseconds;

use self::groups::GroupSize;
pub use self::warm_up::WarmUp;

/// The fewest samples that the stop rule may end on.
pub const MIN_SAMPLES: usize = 30;
/// The most samples that a case keeps: more would cost memory and tell nothing new.
pub const MAX_SAMPLES: usize = 1 << 16;

/// A launch shorter than this is timed in a row too.
const SHORT: Nanoseconds = Nanoseconds(5000.0);

/// The samples of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// The event times in the order they ran.
    pub events: Vec<Nanoseconds>,
    /// What is said of the times: the event times less the timer's overhead.
    pub time: Summary,
    /// How the samples were taken.
    pub method: Method,
    /// The timer on that path.
    pub timer: Timer,
    /// What went before them.
    pub warm_up: WarmUp,
    /// The time of one more launch in a row of launches, where a launch alone is so short that its start and end count.
    pub in_a_row: Option<Nanoseconds>,
    /// In how many groups they were taken.
    pub groups: usize,
    /// What all groups took on the device, flushes included.
    pub elapsed: Nanoseconds,
    /// Whether the stop rule was met, rather than a budget spent. A number of samples asked for is met when it is there.
    pub converged: bool,
}

/// Samples one case until it is known well enough or its budget is spent.
///
/// # Errors
/// Where a launch or the device fails.
pub fn measure(sampler: &mut dyn Sampler, sampling: &Sampling) -> Result<Samples, Failure> {
    let timer = sampler.timer()?;
    let mut size = GroupSize::default();
    let warm_up = warm_up::warm_up(sampler, timer, sampling.warm_up, &mut size)?;
    let mut rule = StopRule::new(sampling.precision, MIN_SAMPLES);
    let (mut events, mut times) = (Vec::new(), Vec::new());
    let (mut groups, mut elapsed) = (0, Nanoseconds::default());
    loop {
        let left = sampling.samples.unwrap_or(MAX_SAMPLES) - events.len();
        let group = sampler.group(size.next().min(left))?;
        size.learn(&group);
        groups += 1;
        elapsed.0 += group.elapsed.0;
        times.extend(group.events.iter().map(|event| Nanoseconds(event.0 - timer.overhead.0)));
        events.extend(group.events);

        let Some(time) = Summary::of(&times, timer.step) else { continue };
        let (converged, enough) = match sampling.samples {
            Some(wanted) => (true, events.len() >= wanted),
            None => {
                let converged = rule.check(&time, timer.step) == Decision::Converged;
                let spent = elapsed.as_seconds() >= sampling.max_time || events.len() >= MAX_SAMPLES;
                (converged, spent || (converged && elapsed.as_seconds() >= sampling.min_time))
            }
        };
        if enough {
            let in_a_row = if time.median.0 < SHORT.0 { sampler.in_a_row()? } else { None };
            let method = sampler.method();
            return Ok(Samples {
                events,
                time,
                method,
                timer,
                warm_up,
                in_a_row,
                groups,
                elapsed,
                converged,
            });
        }
    }
}
