//! A GPU whose readings contain more than the launch, as on an H200: each slot in a graph has its own error, kernels after a flush wait for
//! their launch data and their parameters, and a second stream has every kernel begin later. Results still have the true times, equal in
//! every process.

use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run};
use gpubench_records::samples::Samples;
use gpubench_records::verdict::State;
use protocol::fake::measure;

const LASTING: &str = env!("CARGO_BIN_EXE_lasting");
/// The delays of an H200.
const DELAYS: [(&str, &str); 4] =
    [("PLACES", "130"), ("COLD_NODE", "300"), ("COLD_PARAMETERS", "80"), ("SECOND_STREAM", "350")];

fn measured(asked: &[(&str, &str)]) -> Run {
    let measured = measure(LASTING, &["reads", "--cache", "both"], &[asked, &[("NOISE", "0.002")]].concat());
    _ = measured.ended.with_code(0);
    assert_eq!(measured.run.records.len(), 36);
    measured.run
}

/// The time of a launch by itself: what it is told to take, and what its bytes take from memory or from the L2.
fn truth(record: &Record) -> f64 {
    let argument = |index: usize| record.case.args[index].value.parse::<f64>().expect("a number");
    let rate = if record.case.cache == Cache::Cold { 4600.0 } else { 7000.0 };
    argument(0) + argument(1) / rate
}

fn median(record: &Record) -> f64 {
    record.measurement.as_ref().expect("it was measured").median().0
}

/// What two times of a launch may differ by.
fn near(time: f64) -> f64 {
    (0.005 * time).max(64.0)
}

#[test]
fn what_is_no_part_of_a_launch_is_in_no_row() {
    let each = DELAYS.map(|delay| vec![delay]);
    for asked in each.into_iter().chain([DELAYS.to_vec()]) {
        for record in &measured(&asked).records {
            let (time, truth) = (median(record), truth(record));
            let case = record.case.name();
            assert!(
                (time - truth).abs() <= near(truth),
                "{asked:?}: {case} takes {truth} ns, and has {time}"
            );
            assert_eq!(record.verdict.state, State::Valid, "{asked:?}: {case}: {:?}", record.verdict);
        }
    }
}

/// Each delay is in the readings, and taken off with what empty launches read beside them.
#[test]
fn what_is_no_part_of_a_launch_is_in_its_overhead() {
    let overheads = |asked: &[(&str, &str)]| {
        let run = measured(asked);
        let of = |cache| {
            let row = run.records.iter().find(|record| record.case.cache == cache).expect("it was measured");
            row.measurement.as_ref().expect("it was measured").samples.clone()
        };
        [Cache::Hot, Cache::Cold].map(of)
    };
    let [[hot, cold], slots, nodes, parameters, streams] =
        [&[][..], &DELAYS[..1], &DELAYS[1..2], &DELAYS[2..3], &DELAYS[3..]].map(overheads);
    let by =
        |with: &[Samples; 2]| [with[0].overhead() - hot.overhead(), with[1].overhead() - cold.overhead()];
    for (of_cold, more) in [(by(&nodes), 300.0), (by(&parameters), 80.0)] {
        assert!(of_cold[0].0.abs() < 20.0 && (of_cold[1].0 - more).abs() < 20.0, "{of_cold:?}");
    }
    assert!(by(&streams).iter().all(|by| (by.0 - 350.0).abs() < 20.0), "{:?}", by(&streams));
    assert!(
        slots[0].timer.group_median_spread.0 > 10.0 * hot.timer.group_median_spread.0.max(1.0),
        "{:?}",
        slots[0].timer
    );
}

/// Errors of slots differ from process to process, and the intervals account for that.
#[test]
fn processes_agree_within_their_intervals() {
    let seeds = ["1", "2", "3", "4", "5"];
    let runs = seeds.map(|seed| measured(&[&DELAYS[..], &[("SEED", seed)]].concat()));
    let rows: Vec<[&Record; 5]> =
        (0..36).map(|row| [0, 1, 2, 3, 4].map(|run| &runs[run].records[row])).collect();
    let agree = rows.iter().filter(|records| {
        let mut times = records.map(median);
        times.sort_by(f64::total_cmp);
        times.iter().all(|time| (time - times[2]).abs() <= near(times[2]))
    });
    assert_eq!(agree.count(), rows.len());
    // The differences of any two have intervals of their own.
    let (mut pairs, mut hold) = (0, 0);
    for records in &rows {
        for (place, first) in records.iter().enumerate() {
            for second in &records[place + 1..] {
                let half = |record: &Record| {
                    let samples = &record.measurement.as_ref().expect("it was measured").samples;
                    samples.time.median_ci.half_width().0
                };
                pairs += 1;
                hold +=
                    usize::from((median(first) - median(second)).abs() <= half(first).hypot(half(second)));
            }
        }
    }
    assert!(pairs == 360 && hold >= 331, "{hold} of {pairs} differences lie within their intervals");
}
