//! A large run: 10,000 records of 1,000 samples, and 20,000 and 40,000 of 30. A release build answers in
//! seconds: `cargo test --release -p gpubench-records --test scale -- --ignored --nocapture`.

#![allow(clippy::print_stdout, reason = "figures for whoever asked")]

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use gpubench_records::baseline::{Baseline, check};
use gpubench_records::files::{self, BaselineLocation, Store};
use gpubench_records::id::Arg;
use gpubench_records::merge::merged;
use gpubench_records::record::{Record, Run};
use gpubench_stats::DECISION_ERROR;
use gpubench_stats::units::Nanoseconds;

const RECORDS: usize = 10_000;
const SAMPLES: usize = 1_000;

/// The most time that each step may take, and the most memory that the process may reach.
const LIMIT: Duration = Duration::from_secs(5);
const MOST_MEMORY: u64 = 1 << 30;

/// A run of so many cases.
fn large(records: usize, samples: usize) -> Run {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpubench-runner/tests/parsing/corpus/runs");
    let file = File::open(corpus.join("clockwork.jsonl")).expect("it is there");
    let mut run = files::read(file).expect("a run").run;
    let record = run.records.swap_remove(0);
    run.records = Vec::with_capacity(records);
    for number in 0..records {
        let mut record = record.clone();
        record.case.benchmark = format!("large::kernel_{}", number / 100);
        record.case.args = vec![Arg { name: "n".to_owned(), value: number.to_string() }];
        let measurement = record.measurement.as_mut().expect("it was measured");
        measurement.samples.event_times = (0..samples)
            .map(|i| Nanoseconds(3_700.0 + 32.0 * ((i * 61 + number) % 7) as f64 / 3.0))
            .collect();
        run.records.push(record);
    }
    run.planned_cases = records;
    run
}

/// The most memory that this process has had.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is there");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}

/// The time that this thread has had a processor, however busy the machine is.
fn processor_time() -> Duration {
    let figures = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanoseconds = figures.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

fn timed<T>(what: &str, step: impl FnOnce() -> T) -> T {
    let begin = processor_time();
    let result = step();
    let took = processor_time() - begin;
    println!("{what:<28} {:>6.2} s, peak memory {:>5} MiB", took.as_secs_f64(), peak_memory() >> 20);
    assert!(took < LIMIT, "{what} took {took:?}");
    result
}

#[test]
#[ignore = "takes seconds and a GiB in a release build, and far longer in any other"]
fn a_large_run_is_read_merged_and_checked_in_seconds() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("run.json");
    let lines = {
        let run = large(RECORDS, SAMPLES);
        timed("written as JSON", || files::replace(&json, &|out| run.write(out)).expect("it is written"));
        let head = Run { records: Vec::new(), ..run.clone() };
        let mut store = Store::create(&folder.path().join("runs"), &head, &[]).expect("it is written");
        timed("written as JSON Lines", || {
            run.records.iter().for_each(|record| store.add(record).expect("it is written"));
        });
        store.end(&run, false).expect("it is written");
        let name = fs::read_dir(folder.path().join("runs")).expect("a folder").flatten().next();
        name.expect("a run").path().join("records.jsonl")
    };
    println!("{} MiB of JSON", fs::metadata(&json).expect("it is there").len() >> 20);
    let read =
        timed("read from JSON Lines", || files::read(File::open(lines).expect("a file")).expect("a run"));
    assert_eq!(read.run.records.len(), RECORDS);
    drop(read);
    let run = timed("read from JSON", || Run::parse(&fs::read(&json).expect("a file")).expect("a run"));
    assert_eq!(run.records[0].measurement.as_ref().map(|it| it.samples.event_times.len()), Some(SAMPLES));
    let records = timed("merged", || merged(run.records.clone()));
    assert_eq!(records.len(), RECORDS);
    drop(records);
    let baseline = Baseline::new("then".to_owned(), run.clone());
    let checked = timed("checked against a baseline", || check(&run, &baseline, &|_| true, DECISION_ERROR));
    assert_eq!((checked.findings.len(), checked.missing.len()), (RECORDS, 0));
    assert!(peak_memory() < MOST_MEMORY, "{} MiB", peak_memory() >> 20);
}

/// The number of runs that are merged: as many as `--runs 5` makes.
const RUNS: usize = 5;
/// The samples of a record, few of which show best what the number of records costs.
const FEW: usize = 30;

/// The processor time of each step with so many records.
fn steps(records: usize) -> Vec<(&'static str, Duration)> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut took = Vec::new();
    let mut step = |name, work: &mut dyn FnMut()| {
        let begin = processor_time();
        work();
        took.push((name, processor_time() - begin));
    };
    let run = large(records, FEW);
    let bare = Run { records: Vec::new(), ..run.clone() };
    step("stored", &mut || {
        let mut store = Store::create(folder.path(), &bare, &[]).expect("it is written");
        run.records.iter().for_each(|record| store.add(record).expect("it is written"));
        store.end(&run, false).expect("it is written");
    });
    let (_, path) = files::runs_in(folder.path()).next().expect("it was stored");
    step("read", &mut || {
        let read = files::read(File::open(&path).expect("a file")).expect("a run");
        assert_eq!(read.run.records.len(), records);
    });
    step("stored as resumed", &mut || {
        let kept: Vec<&Record> = run.records.iter().collect();
        _ = Store::create(folder.path(), &bare, &kept).expect("it is written");
    });
    let mut all: Vec<Record> = (0..RUNS).flat_map(|_| run.records.clone()).collect();
    step("merged of 5 runs", &mut || assert_eq!(merged(std::mem::take(&mut all)).len(), records));
    let place = BaselineLocation::within(folder.path(), "main");
    place.prepare().expect("a folder");
    step("saved as a baseline", &mut || place.save(&run).expect("it is written"));
    step("saved in its place", &mut || place.save(&run).expect("it is written"));
    let mut baseline = None;
    step("baseline read", &mut || baseline = Some(place.load().expect("a baseline")));
    let baseline = baseline.expect("it was read");
    step("checked against it", &mut || {
        assert_eq!(check(&run, &baseline, &|_| true, DECISION_ERROR).findings.len(), records);
    });
    took
}

/// Twice as many records take twice as long, and not four times.
#[test]
#[ignore = "takes a minute"]
fn every_step_is_linear_in_the_number_of_records() {
    let [few, many] = [20_000, 40_000].map(steps);
    let mut slow = Vec::new();
    for ((step, few), (_, many)) in few.into_iter().zip(many) {
        let ratio = many.as_secs_f64() / few.as_secs_f64();
        println!("{step:<28} {:>6.2} s, {:>6.2} s: {ratio:.2} times", few.as_secs_f64(), many.as_secs_f64());
        // What takes no time is as long as the clock's steps, and the allocator's.
        slow.extend((ratio >= 2.2 && many > Duration::from_millis(50)).then_some(step));
    }
    assert_eq!(slow, [""; 0]);
}
