//! Reports the progress of a case to the supervisor in few messages.

use std::time::{Duration, Instant};

use super::Reply;
use crate::measure;
use gpubench_records::failure::Step;

/// Reports the progress of a case. The supervisor hears of each step, and of samples each time their number has
/// doubled: a message between groups costs microseconds, and one for each group would be too many.
pub(super) struct StepReporter<'a> {
    pub(super) step: Step,
    /// The number of samples to report next.
    next: usize,
    /// The time of the last report of an interval.
    interval_reported: Option<Instant>,
    reply: &'a mut dyn FnMut(Reply),
}

impl<'a> StepReporter<'a> {
    pub(super) fn new(reply: &'a mut dyn FnMut(Reply)) -> Self {
        let step = Step::Preparation;
        reply(Reply::Step(step));
        Self { step, next: 0, interval_reported: None, reply }
    }
}

impl measure::StepObserver for StepReporter<'_> {
    fn step_reached(&mut self, step: Step) {
        self.step = step;
        let is_due = match step {
            Step::WarmUp(launches) => launches == 0,
            Step::Samples(taken) => taken >= self.next,
            _ => true,
        };
        if is_due {
            (self.reply)(Reply::Step(step));
        }
        if let (true, Step::Samples(taken)) = (is_due, step) {
            self.next = 2 * taken.max(1);
        }
    }

    /// Reports the interval a few times a second.
    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {
        let is_due = self.interval_reported.is_none_or(|reported| reported.elapsed() >= BETWEEN_INTERVALS);
        if is_due && half_width.is_finite() {
            self.interval_reported = Some(Instant::now());
            (self.reply)(Reply::Interval { samples, half_width });
        }
    }
}

/// The time between two reports of the interval of a case.
const BETWEEN_INTERVALS: Duration = Duration::from_millis(200);
