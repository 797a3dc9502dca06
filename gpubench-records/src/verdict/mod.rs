//! The trust that a row deserves. In: a case's samples and its claim, or its failure; out: a [`Verdict`] with its reasons.

pub mod observed;
mod reason;

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::conditions::{DeviceClock, Span};
use crate::facts::Facts;
use crate::launch::{LaunchFacts, Written};
use crate::limits::{self, Claim};
use crate::metrics::resolved;
use crate::samples::Samples;
use crate::work::Counts;
use gpubench_stats::units::{Bytes, Hertz, Range};
use gpubench_stats::{SMALLEST_SAMPLE, Summary};

pub use self::reason::Reason;

/// The verdict on a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The verdict in one word.
    pub state: State,
    /// The reasons that it is not simply valid.
    pub reasons: Vec<Reason>,
}

/// The states of a row, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The number holds.
    Valid,
    /// The number was measured, with a reservation.
    Suspect,
    /// There is no number, or none to be used.
    Invalid,
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

impl Verdict {
    /// The verdict that these reasons make together.
    #[must_use]
    pub fn of(reasons: Vec<Reason>) -> Self {
        let state = reasons.iter().map(Reason::state).max().unwrap_or(State::Valid);
        Self { state, reasons }
    }

    /// The same with one reason more.
    #[must_use]
    pub fn and(mut self, reason: Reason) -> Self {
        self.reasons.push(reason);
        Self::of(self.reasons)
    }
}

/// Returns the reason against a launch that claims to write and changes no memory.
#[must_use]
pub fn nothing_written(counts: &Counts, seen: &LaunchFacts) -> Option<Reason> {
    let written = seen.written.as_ref().filter(|written| written.nothing())?;
    let claim = claimed_writes(counts)?;
    (written.when_altered == Some(false)).then_some(claim)
}

/// Returns true if a launch claims to write, its memory is unchanged, and it has not yet been launched on memory with other
/// contents.
#[must_use]
pub fn write_undetected(counts: &Counts, seen: &LaunchFacts) -> bool {
    let untold = |written: &Written| written.nothing() && written.when_altered.is_none();
    claimed_writes(counts).is_some() && seen.written.as_ref().is_some_and(untold)
}

/// The reason against a launch of these counts if it writes nothing.
fn claimed_writes(counts: &Counts) -> Option<Reason> {
    match (counts.reads, counts.writes, counts.bytes) {
        (_, Some(claimed), _) => Some(Reason::NothingWritten { claimed: Bytes(claimed), may_be_read: false }),
        (None, None, Some(claimed)) => {
            Some(Reason::NothingWritten { claimed: Bytes(claimed), may_be_read: true })
        }
        _ => None,
    }
}

/// The relative half-width of the median's interval that a valid row has at most, unless the user asks for less precision. A
/// row that ends by the stop rule is ten times as precise; this limit is for rows whose end the user set.
pub const WIDEST: f64 = 0.05;

/// Returns the verdict on samples that had to reach the relative half-width `wanted`, of a launch with this `claim` on the
/// device of these `facts`.
#[must_use]
pub fn judge(samples: &Samples, wanted: f64, claim: &Claim<'_>, facts: &Facts) -> Verdict {
    let step = samples.timer.step;
    // The longest time that it can have taken: the whole event time, and one step that two readings can hide.
    let took = samples.time.median + samples.timer.overhead + step;
    let mut reasons: Vec<_> =
        limits::broken(claim, took, facts).map(Reason::ImpossibleSpeed).into_iter().collect();
    if !resolved(samples.time.median, step) {
        reasons.push(Reason::BelowResolution { step });
    } else {
        reasons.extend(imprecise(&samples.time, samples.converged, wanted));
    }
    reasons.extend(samples.drift().map(Reason::Drift));
    reasons.extend(samples.modes().map(Reason::TwoModes));
    let during = samples.conditions.as_ref().map(|conditions| &conditions.during);
    reasons.extend(clocks_fell(during, samples.device_clock.as_ref()));
    reasons.extend(during.and_then(other_processes));
    Verdict::of(reasons)
}

/// Returns the reservation about the precision of a median, whose sampling ended by the stop rule or as the user set it
/// (`converged`), or when its time was spent.
fn imprecise(time: &Summary, converged: bool, wanted: f64) -> Option<Reason> {
    let (reached, limit) = (time.relative_half_width(), wanted.max(WIDEST));
    if !converged {
        Some(Reason::NotConverged { reached, wanted })
    } else if time.samples < SMALLEST_SAMPLE {
        Some(Reason::TooFewSamples { samples: time.samples, needed: SMALLEST_SAMPLE })
    } else {
        (reached > limit).then_some(Reason::WideInterval { reached, limit })
    }
}

/// A clock that moves by less than this, as a fraction of its highest, has not fallen.
const STEADY_CLOCK: f64 = 0.03;

/// Returns the reservation about a clock that fell or was held down while samples were taken. The device's own counters, if
/// it has some, show by how much: they are read behind every group, while sensors may have no reading, or one of another
/// moment. The fall is from the highest clock of the warm-up, since a launch that draws too much brings the clock down
/// there, and it stays down. Only sensors show the cause.
fn clocks_fell(sensors: Option<&Span>, counted: Option<&DeviceClock>) -> Option<Reason> {
    let slowed_by = sensors.map_or(&[][..], |span| &span.slowed_by);
    let counted = counted.map(|clock| {
        let high = clock.before.map_or(Hertz(0), |before| before.high).max(clock.during.high);
        Range { high, ..clock.during }
    });
    let clock = counted.or_else(|| sensors?.sm_clock)?;
    let fell = clock.low.as_f64() < (1.0 - STEADY_CLOCK) * clock.high.as_f64();
    (fell || !slowed_by.is_empty()).then(|| Reason::ClocksFell { clock, slowed_by: slowed_by.to_vec() })
}

/// Returns the reservation about other processes while samples were taken.
fn other_processes(sensors: &Span) -> Option<Reason> {
    let count = sensors.other_processes.filter(|others| *others > 0)?;
    Some(Reason::OtherProcesses { count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::units::Nanoseconds;

    fn span(low: u64, slowed_by: &[&str], others: u32) -> Span {
        Span {
            readings: 3,
            sm_clock: Some(Range { low: Hertz(low * 1_000_000), high: Hertz(1_980_000_000) }),
            slowed_by: slowed_by.iter().map(ToString::to_string).collect(),
            other_processes: Some(others),
            ..Span::default()
        }
    }

    #[test]
    fn an_interval_that_is_missing_or_wide_is_a_reservation() {
        let summary = |count: usize, spread: f64| {
            let times: Vec<_> = (0..count)
                .map(|i| Nanoseconds(1e5 + spread * (i * 61 % count) as f64 / count as f64))
                .collect();
            Summary::of(&times, Nanoseconds(1.0)).expect("there are some")
        };
        let told = |count, spread, converged, wanted| {
            imprecise(&summary(count, spread), converged, wanted).map(|reason| reason.to_string())
        };
        let few = "too few samples: 5, where a 95 % interval of the median needs 6 (--samples gives more)";
        assert_eq!(told(5, 0.0, true, 0.005), Some(few.to_owned()));
        assert_eq!(told(6, 0.0, true, 0.005), None);
        // Wider than what ends sampling, and valid all the same.
        assert_eq!(told(12, 1e4, true, 0.005), None);
        let wide = told(12, 1e5, true, 0.005).expect("it is too wide");
        assert!(
            wide.starts_with("wide interval: the median is known to ± ") && wide.contains("± 5.00 %"),
            "{wide}"
        );
        assert_eq!(told(12, 1e5, true, 0.5), None, "the user asked for no more");
        assert!(told(12, 1e5, false, 0.005).is_some_and(|told| told.starts_with("not converged")));
        // What is stored is numbers, whatever was measured.
        let reason = imprecise(&summary(12, 1e5), true, 0.005).expect("it is too wide");
        let json = serde_json::to_string(&reason).expect("JSON");
        assert!(serde_json::from_str::<Reason>(&json).is_ok(), "{json}");
    }

    #[test]
    fn sensors_speak_against_a_case_where_clocks_fell_or_others_were_there() {
        let fell = |span: &Span| clocks_fell(Some(span), None);
        assert_eq!((fell(&Span::default()), other_processes(&Span::default())), (None, None));
        assert_eq!(fell(&span(1_935, &[], 0)), None, "2.3 % lower");
        assert!(matches!(fell(&span(1_905, &[], 0)), Some(Reason::ClocksFell { .. })), "3.8 % lower");
        assert_eq!(other_processes(&span(1_980, &[], 0)), None);
        let capped = span(1_980, &["power cap"], 2);
        assert_eq!(
            [fell(&capped), other_processes(&capped)].map(|reason| reason.map(|reason| reason.to_string())),
            [
                Some("clocks: multiprocessors ran at 1980 MHz, held down by power cap".to_owned()),
                Some("other processes: 2 had work on the device".to_owned())
            ]
        );
    }

    #[test]
    fn the_devices_own_counters_say_by_how_much_clocks_fell() {
        let clock = |before: Option<u64>, low: u64| {
            let megahertz =
                |low: u64, high: u64| Range { low: Hertz(low * 1_000_000), high: Hertz(high * 1_000_000) };
            let during = megahertz(low, 1_700);
            let before = before.map(|high| megahertz(345, high));
            DeviceClock {
                before,
                during,
                mean: during.high,
                after: during.high,
                readings: 7,
                over_time: Vec::new(),
            }
        };
        let fell = |sensors: Option<&Span>, clock: &DeviceClock| match clocks_fell(sensors, Some(clock)) {
            None => None,
            Some(Reason::ClocksFell { clock, slowed_by }) => {
                Some((clock.low.0 / 1_000_000, clock.high.0 / 1_000_000, slowed_by.len()))
            }
            Some(other) => panic!("{other}"),
        };
        assert_eq!(fell(None, &clock(None, 1_650)), None, "2.9 % lower");
        assert_eq!(fell(None, &clock(None, 1_648)), Some((1_648, 1_700, 0)), "3.1 % lower");
        // It came down in the warm-up, and stayed there.
        assert_eq!(fell(None, &clock(Some(1_980), 1_690)), Some((1_690, 1_980, 0)));
        assert_eq!(fell(None, &clock(Some(1_740), 1_690)), None);
        // Sensors had no reading of that moment, or one of another; what they say of the reason counts.
        assert_eq!(fell(Some(&span(1_980, &[], 0)), &clock(None, 1_648)), Some((1_648, 1_700, 0)));
        assert_eq!(fell(Some(&span(1_410, &[], 0)), &clock(None, 1_690)), None);
        assert_eq!(fell(Some(&span(1_980, &["heat"], 0)), &clock(None, 1_690)), Some((1_690, 1_700, 1)));
    }
}
