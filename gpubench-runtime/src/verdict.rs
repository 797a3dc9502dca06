//! How far a row can be trusted. In: a case's samples and what it claims, or why it has none; out: a [`Verdict`] with its
//! reasons.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::device::conditions::Span;
use crate::device::{Facts, Quantity};
use crate::failure::Failure;
use crate::format;
use crate::limits::{self, Claim, ImpossibleSpeed};
use crate::measure::Samples;
use crate::metrics::resolved;
use crate::stats::{Drift, Modes};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, Nanoseconds, Range};

/// Whether a row holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// In one word.
    pub state: State,
    /// Why it is not simply valid.
    pub reasons: Vec<Reason>,
}

/// The words for it, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The number holds.
    Valid,
    /// The number was measured, with a reservation.
    Suspect,
    /// There is no number, or none to be used.
    Invalid,
}

/// What speaks against a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The case did not get as far as a result.
    Failed(Failure),
    /// There was too little time for what the launch claims to do.
    ImpossibleSpeed(ImpossibleSpeed),
    /// The sampling budget was spent before the interval was as narrow as asked for.
    NotConverged {
        /// The relative half-width that was reached.
        reached: f64,
        /// The one asked for.
        wanted: f64,
    },
    /// The launch got slower or faster while it was sampled: the median is of no steady state.
    Drift(Drift),
    /// The samples are of two kinds, and the median of one of them, or between them.
    TwoModes(Modes),
    /// The clock of the multiprocessors fell while samples were taken, or something held it down.
    ClocksFell {
        /// Its lowest and its highest, in hertz.
        clock: Range<u64>,
        /// What held it down, as far as the driver tells.
        slowed_by: Vec<String>,
    },
    /// Other processes had work on the device.
    OtherProcesses {
        /// How many.
        count: u32,
    },
    /// The time is at or below zero, or less than the timer can tell.
    BelowResolution {
        /// The timer's step.
        step: Nanoseconds,
    },
}

impl Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        })
    }
}

impl Reason {
    /// What a row is at best that this speaks against.
    #[must_use]
    pub fn state(&self) -> State {
        match self {
            Self::Failed(_) | Self::ImpossibleSpeed(_) => State::Invalid,
            Self::NotConverged { .. }
            | Self::Drift(_)
            | Self::TwoModes(_)
            | Self::ClocksFell { .. }
            | Self::OtherProcesses { .. }
            | Self::BelowResolution { .. } => State::Suspect,
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(failure) => write!(f, "{failure}"),
            Self::ImpossibleSpeed(speed) => f.write_str(&impossible(speed)),
            Self::NotConverged { reached, wanted } => write!(
                f,
                "not converged: the median is known to ± {:.2} % (asked for: {:.2} %)",
                100.0 * reached,
                100.0 * wanted
            ),
            Self::Drift(Drift { change }) => {
                let slower = if *change > 0.0 { "longer" } else { "less" };
                let change = format::percent(change.abs());
                write!(f, "drift: the last third of the samples takes {change} {slower} than the first")
            }
            Self::TwoModes(Modes { low, high, share_high }) => {
                let [low, high] = [*low, *high].map(format::time);
                let share = format::percent(*share_high);
                write!(f, "two modes: {low}, and {high} in {share} of the samples")
            }
            Self::ClocksFell { clock, slowed_by } => {
                let at = format::from_to(*clock, format::clock);
                let why = match &slowed_by[..] {
                    [] => "the driver does not say by what".to_owned(),
                    reasons => format!("held down by {}", reasons.join(", ")),
                };
                write!(f, "clocks: multiprocessors ran at {at}, {why}")
            }
            Self::OtherProcesses { count } => {
                write!(f, "other processes: {count} had work on the device")
            }
            Self::BelowResolution { step } => {
                write!(f, "below resolution: the timer steps by {:.1} ns", step.0)
            }
        }
    }
}

/// What cannot be, and what to look for.
fn impossible(speed: &ImpossibleSpeed) -> String {
    let ImpossibleSpeed { quantity, work, peak, took, least } = speed;
    let [took, least] = [*took, *least].map(format::time);
    match quantity {
        Quantity::MemoryBandwidth => format!(
            "impossible: {} cannot cross the memory in {took}; at its peak of {} that takes {least}: did the kernel run?",
            format::bytes(Bytes(*work)),
            format::bandwidth(BytesPerSecond(*peak))
        ),
        Quantity::Compute(precision) => format!(
            "impossible: {} cannot be done in {took}; at the {precision} peak of {} that takes {least}: did the kernel \
             run, and in this precision?",
            format::operations(*work),
            format::throughput(FlopsPerSecond(*peak))
        ),
    }
}

impl Verdict {
    /// The verdict that these reasons make together.
    #[must_use]
    pub fn of(reasons: Vec<Reason>) -> Self {
        let state = reasons.iter().map(Reason::state).max().unwrap_or(State::Valid);
        Self { state, reasons }
    }
}

/// What speaks against these samples, which were to reach the relative half-width `wanted`, of a launch that claims so much
/// on such a device.
#[must_use]
pub fn judge(samples: &Samples, wanted: f64, claim: &Claim<'_>, facts: &Facts) -> Verdict {
    let step = samples.timer.step;
    // As long as it can have been: nothing of the event time taken off, and what two readings can hide.
    let took = Nanoseconds(samples.time.median.0 + samples.timer.overhead.0 + step.0);
    let mut reasons: Vec<_> =
        limits::broken(claim, took, facts).map(Reason::ImpossibleSpeed).into_iter().collect();
    if !resolved(samples.time.median, step) {
        reasons.push(Reason::BelowResolution { step });
    } else if !samples.converged {
        reasons.push(Reason::NotConverged { reached: samples.time.relative_half_width(), wanted });
    }
    reasons.extend(samples.drift.map(Reason::Drift));
    reasons.extend(samples.modes.map(Reason::TwoModes));
    reasons.extend(samples.conditions.iter().flat_map(|conditions| disturbed(&conditions.during)));
    Verdict::of(reasons)
}

/// A clock that moves by less than this, as a fraction of its highest, has not fallen.
const STEADY_CLOCK: f64 = 0.03;

/// What the sensors say against samples that were taken meanwhile.
fn disturbed(span: &Span) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(clock) = span.sm_clock {
        let fell = (clock.low as f64) < (1.0 - STEADY_CLOCK) * clock.high as f64;
        if fell || !span.slowed_by.is_empty() {
            reasons.push(Reason::ClocksFell { clock, slowed_by: span.slowed_by.clone() });
        }
    }
    let others = span.other_processes.filter(|others| *others > 0);
    reasons.extend(others.map(|count| Reason::OtherProcesses { count }));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(low: u64, slowed_by: &[&str], others: u32) -> Span {
        Span {
            readings: 3,
            sm_clock: Some(Range { low: low * 1_000_000, high: 1_980_000_000 }),
            slowed_by: slowed_by.iter().map(ToString::to_string).collect(),
            other_processes: Some(others),
            ..Span::default()
        }
    }

    #[test]
    fn sensors_speak_against_a_case_where_clocks_fell_or_others_were_there() {
        assert_eq!(disturbed(&Span::default()), []);
        assert_eq!(disturbed(&span(1_935, &[], 0)), [], "2.3 % lower");
        assert!(matches!(disturbed(&span(1_905, &[], 0))[..], [Reason::ClocksFell { .. }]), "3.8 % lower");
        let capped = disturbed(&span(1_980, &["power cap"], 2));
        assert_eq!(
            capped.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "clocks: multiprocessors ran at 1980 MHz, held down by power cap",
                "other processes: 2 had work on the device"
            ]
        );
    }
}
