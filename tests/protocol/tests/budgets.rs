//! All launches of a case count against its budget, however long a launch takes.

use gpubench_records::record::Measurement;
use gpubench_records::verdict::{Reason, State};
use protocol::fake::{Measured, measure};

const LASTING: &str = env!("CARGO_BIN_EXE_lasting");

/// The default `--max-time`, and the part of it that a case may take beyond it.
const BUDGET_MS: u64 = 3_000;
const BEYOND: f64 = 1.2;
/// The checked launch, the warm-up, six samples, and two on fresh inputs.
const FEWEST: usize = 10;

/// Measures the launch of this many milliseconds with this cache state, and returns the number of launches too.
fn long(ms: u64, cache: &str, options: &[&str]) -> (Measured, usize) {
    let case = format!("long[ms={ms}]");
    let arguments = [&[&*case, "--ignored", "--cache", cache], options].concat();
    let measured = measure(LASTING, &arguments, &[("LOG", "")]);
    let launches = measured.log.iter().filter(|line| line.is("kernel", "lasts_and_writes")).count();
    (measured, launches)
}

fn only(measured: &Measured) -> (&Measurement, &[Reason]) {
    let [record] = &measured.run.records[..] else { panic!("{}", measured.ended) };
    let measurement = record.measurement.as_ref().unwrap_or_else(|| panic!("{}", measured.ended));
    (measurement, &record.verdict.reasons)
}

#[test]
fn all_launches_of_a_case_count_against_its_budget() {
    for ms in [10, 300, 1_000, 5_000] {
        for cache in ["hot", "cold"] {
            let (measured, launches) = long(ms, cache, &[]);
            let most = FEWEST.max((BEYOND * BUDGET_MS as f64 / ms as f64) as usize);
            assert!(launches <= most, "{launches} launches of {ms} ms, {cache}: {}", measured.ended);
            let (measurement, reasons) = only(&measured);
            assert!(measurement.relaunch.is_some(), "{ms} ms, {cache}: no launch on fresh inputs");
            assert_eq!(measurement.call_time, None, "{ms} ms, {cache}: launches to time calls");
            match ms {
                10 | 300 => assert_eq!(reasons, [], "{ms} ms, {cache}"),
                _ => {
                    assert!(
                        matches!(reasons, [Reason::TooFewSamples { budget: Some(_), .. }]),
                        "{reasons:?}"
                    );
                }
            }
        }
    }
}

/// The budget that a reason names is enough.
#[test]
fn the_budget_that_is_named_has_room_for_six_samples() {
    let (measured, _) = long(1_000, "hot", &[]);
    measured.ended.shows("these take about 10.");
    let (measured, launches) = long(1_000, "hot", &["--max-time", "10"]);
    let (measurement, reasons) = only(&measured);
    assert_eq!((measurement.samples.event_times.len(), reasons, launches), (6, &[][..], FEWEST));
}

#[test]
fn six_samples_that_were_asked_for_take_ten_launches() {
    let (measured, launches) = long(5_000, "cold", &["--samples", "6"]);
    assert_eq!((only(&measured).0.samples.event_times.len(), launches), (6, FEWEST));
}

/// `setup` takes 2.4 s. Another call of it does not end before the case is killed.
#[test]
fn a_case_without_time_for_fresh_inputs_is_suspect() {
    let measured = measure(LASTING, &["::slow_setup", "--ignored", "--timeout", "4"], &[]);
    let (measurement, reasons) = only(&measured);
    let [Reason::NoTimeForFreshInputs { needed, left }] = reasons else { panic!("{reasons:?}") };
    assert!(needed.as_seconds() > 2.4 && left.as_seconds() < 1.6, "{reasons:?}");
    assert_eq!(measured.run.records[0].verdict.state, State::Suspect);
    assert!(measurement.samples.time.samples >= 6);
    measured.ended.shows("no time for fresh inputs: no launch on fresh inputs was checked after the samples");
    let measured = measure(LASTING, &["::slow_setup", "--ignored", "--timeout", "20"], &[]);
    let (measurement, reasons) = only(&measured);
    assert_eq!(reasons, []);
    assert!(measurement.relaunch.as_ref().is_some_and(|relaunch| relaunch.reuse.is_some()));
}

#[test]
fn launches_on_used_inputs_count_where_there_are_no_fresh_ones() {
    let stale = measure(LASTING, &["::stale_after_slow_setup", "--ignored", "--timeout", "4"], &[]);
    let (measurement, reasons) = only(&stale);
    assert!(
        matches!(
            reasons,
            [Reason::StaleOutputs(_), Reason::LaterOutputsFail(_), Reason::NoTimeForFreshInputs { .. }]
        ),
        "{reasons:?}"
    );
    assert!(measurement.relaunch.as_ref().is_some_and(|relaunch| relaunch.rewritten.is_some()));
    let failed = measure(LASTING, &["::stale_after_setup_fails", "--ignored"], &[]);
    let (_, reasons) = only(&failed);
    assert!(
        matches!(
            reasons,
            [Reason::StaleOutputs(_), Reason::LaterOutputsFail(_), Reason::SetupNotRepeatable(_)]
        ),
        "{reasons:?}"
    );
}
