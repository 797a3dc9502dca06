//! The difference between processes that a comparison assumes where one process on each side measured a case. Nothing is known
//! then about a third process, and what these numbers are made of is in `docs/evidence.md`, "Against a baseline".

use super::comparable::MeasuredRecord;
use crate::comparison::AssumedSpread;
use crate::verdict::Reason;
use crate::work::Link;
use gpubench_stats::units::Nanoseconds;

/// Processes that share the processors or the memory of the host with other programs.
const SHARED: f64 = 0.4;
/// Processes that have a GPU to themselves.
const OWN: f64 = 0.02;
/// Times of short launches on a GPU, which differ by more than [`OWN`].
const OWN_TIME: Nanoseconds = Nanoseconds(130.0);
/// A mode with a smaller part of the samples does not become the median in another process.
const LEAST_MODE: f64 = 0.2;

/// Returns the difference that two processes may show although nothing changed.
pub(super) fn assumed(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> AssumedSpread {
    let spreads = [now, then].map(of_one);
    spreads.into_iter().fold(AssumedSpread::UpTo(0.0), |most, spread| match (most, spread) {
        (AssumedSpread::UpTo(one), AssumedSpread::UpTo(other)) => AssumedSpread::UpTo(one.max(other)),
        _ => AssumedSpread::Any,
    })
}

fn of_one(it: MeasuredRecord<'_>) -> AssumedSpread {
    let samples = &it.measurement.samples;
    let shares_memory = matches!(it.measurement.link, Some(Link::H2d | Link::D2h));
    let usual = if samples.shares_processors() || shares_memory {
        SHARED
    } else {
        OWN.max(OWN_TIME / it.measurement.median())
    };
    it.record.verdict.reasons.iter().fold(AssumedSpread::UpTo(usual), |spread, reason| {
        match (spread, reason) {
            (AssumedSpread::UpTo(most), Reason::TwoModes(modes))
                if (LEAST_MODE..=1.0 - LEAST_MODE).contains(&modes.high_fraction) =>
            {
                AssumedSpread::UpTo(most.max(modes.high / modes.low - 1.0))
            }
            (AssumedSpread::UpTo(most), Reason::Drift(drift)) => {
                AssumedSpread::UpTo(most.max(drift.change.abs()))
            }
            (
                _,
                Reason::NotConverged { .. }
                | Reason::TooFewSamples { .. }
                | Reason::Interrupted { .. }
                | Reason::WideInterval { .. }
                | Reason::ClocksFell { .. }
                | Reason::OtherProcesses { .. },
            ) => AssumedSpread::Any,
            (spread, _) => spread,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::fixture::stored_run;
    use crate::method::Path;
    use crate::record::{Measurement, Record};
    use gpubench_stats::{Drift, Modes};

    /// The difference that is assumed of a launch of 100 µs on a GPU, after this change to the run before.
    fn found(change: impl Fn(&mut Record, &mut Measurement)) -> AssumedSpread {
        let mut now = stored_run();
        let record = &mut now.records[0];
        record.verdict.reasons.clear();
        let mut measurement = record.measurement.take().expect("it was measured");
        measurement.samples.method.path = Path::Graph;
        measurement.samples.time.median = Nanoseconds(100_000.0);
        record.measurement = Some(measurement.clone());
        let mut then = now.clone();
        change(&mut then.records[0], &mut measurement);
        then.records[0].measurement = Some(measurement);
        let [now, then] = [&now, &then].map(|run| {
            let record = &run.records[0];
            MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("it was measured") }
        });
        assert_eq!(assumed(now, then), assumed(then, now));
        assumed(now, then)
    }

    #[test]
    fn processes_on_shared_processors_differ_by_more() {
        assert_eq!(found(|_, _| ()), AssumedSpread::UpTo(OWN));
        assert_eq!(found(|_, it| it.samples.method.path = Path::Host), AssumedSpread::UpTo(SHARED));
        assert_eq!(found(|_, it| it.samples.processor_wait = Some(0.5)), AssumedSpread::UpTo(SHARED));
        assert_eq!(found(|_, it| it.link = Some(Link::H2d)), AssumedSpread::UpTo(SHARED));
        assert_eq!(found(|_, it| it.link = Some(Link::P2p)), AssumedSpread::UpTo(OWN));
        let short = found(|_, it| it.samples.time.median = Nanoseconds(1_300.0));
        assert_eq!(short, AssumedSpread::UpTo(0.1));
    }

    #[test]
    fn a_time_that_is_not_steady_says_little_about_another_process() {
        let with = |reason: Reason| found(move |record, _| record.verdict.reasons.push(reason.clone()));
        let modes = |share_high| {
            let [low, high] = [100.0, 150.0].map(Nanoseconds);
            Reason::TwoModes(Modes { low, high, high_fraction: share_high })
        };
        assert_eq!(with(modes(0.5)), AssumedSpread::UpTo(0.5));
        assert_eq!(with(modes(0.1)), AssumedSpread::UpTo(OWN));
        assert_eq!(with(Reason::Drift(Drift { change: -0.07 })), AssumedSpread::UpTo(0.07));
        assert_eq!(with(Reason::NotConverged { reached: 0.3, requested: 0.005 }), AssumedSpread::Any);
        assert_eq!(with(Reason::Interrupted { interrupted: 9, samples: 10 }), AssumedSpread::Any);
        assert_eq!(with(Reason::BelowResolution { resolution: Nanoseconds(32.0) }), AssumedSpread::UpTo(OWN));
    }
}
