//! Times by different methods. In: runs of an older gpubench and a newer one; out: series of their own where a time means another thing.

use gpubench_records::history::{History, HistoryReport, HistoryRun};
use gpubench_stats::MemoryStall;
use gpubench_stats::units::Nanoseconds;

use super::{RULES, found, run_of, template};

/// Sixty nights, of which the last thirty take 3 % longer. From then on the starts of samples are known, so that a stall of the memory is in each
/// time, and one is found in the nights for which `stalls` is true.
fn of_nights(stalls: impl Fn(usize) -> bool) -> HistoryReport {
    let template = template();
    let run = |night: usize| {
        let slower = if night < 30 { 1.0 } else { 1.03 };
        let mut run = run_of(&template, night, night, (1e5 + (night % 3) as f64) * slower);
        let samples = &mut run.records[0].measurement.as_mut().expect("it was measured").samples;
        let [period, length, from, width, error] = [1e5, 1400.0, 0.0, 14e3, 5.0].map(Nanoseconds);
        let stall = MemoryStall { period, length, from, width, share: 0.13, error };
        samples.stall = stalls(night).then_some(stall);
        samples.since_last =
            if night < 30 { Vec::new() } else { vec![Nanoseconds(5e4); samples.events.len()] };
        HistoryRun::of(&run)
    };
    History::of((0..60).map(run)).report(RULES)
}

/// Another gpubench has the memory's stall in each time: no commit made the case slower. Some nights show none, and mean the same.
#[test]
fn times_with_the_stall_are_no_series_with_those_without() {
    for stalls in [|night: usize| night >= 30, |night: usize| night == 40] {
        let report = of_nights(stalls);
        let [earlier, later] = &report.cases[0].series[..] else { panic!("two series") };
        assert_eq!((earlier.count, later.count, report.changes().len()), (30, 30, 0));
        let differences = later.circumstances[0].differences(&earlier.circumstances[0]);
        assert_eq!(differences, ["the memory's stall in no time → in each time"]);
    }
}

/// A launch that no stall meets takes what it takes, whatever is known of its samples.
#[test]
fn without_a_stall_times_are_of_one_series() {
    let report = of_nights(|_| false);
    assert_eq!((report.cases[0].series.len(), found(&report)), (1, vec![30]));
}
