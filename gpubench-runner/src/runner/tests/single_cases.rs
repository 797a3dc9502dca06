//! Single cases against workers in memory: what the workers are asked for, what is tried again, and how failures are reported.

use super::scripted::{Replies, Scripted, failed, job, killed, measurement, record};
use super::*;
use crate::runner::single_cases::{SingleCases, info_with_peaks};
use gpubench_records::{Measurement, Property, Value};
use gpubench_runtime::worker::MeasureRequest;

/// Asks for cases by a script of workers, which know their devices.
fn with_cases<T>(
    config: &RunConfig,
    script: impl Fn(usize, &Request) -> Replies + Send + Sync + 'static,
    ask: impl FnOnce(&mut SingleCases<'_>) -> T,
) -> (T, Vec<(usize, Request)>) {
    let scripted = Scripted::by(script);
    let mut cases = SingleCases::new(scripted.supervisor(&|| false, Box::new(drop)), config);
    cases.devices.push(info("fake"));
    let done = ask(&mut cases);
    (done, scripted.asked())
}

/// Answers each request with a valid record of this measurement.
fn sends(measurement: &Measurement) -> impl Fn(usize, &Request) -> Replies + Send + Sync + 'static {
    let measurement = measurement.clone();
    move |_, request| {
        let Request::Measure(request) = request else { panic!("{request:?}") };
        (vec![Reply::Record(Box::new(record(&request.job, measurement.clone())))], None)
    }
}

fn measured(cases: &mut SingleCases<'_>, name: &str) -> Result<Record, Failure> {
    cases.measure(&job(name), Sampling::USUAL).expect("a worker")
}

fn tested(cases: &mut SingleCases<'_>, name: &str) -> Result<bool, Failure> {
    cases.test(&job(name)).expect("a worker")
}

#[test]
fn a_case_is_measured_as_requested_and_not_checked() {
    let known = measurement("clockwork.jsonl");
    let wanted = Sampling { samples: Some(3), ..Sampling::USUAL };
    let (found, asked) = with_cases(&config(1), sends(&known), |cases| cases.measure(&job("a"), wanted));
    assert_eq!(found.expect("a worker").expect("a record").measurement, Some(known));
    let Request::Measure(request) = &asked[0].1 else { panic!("{asked:?}") };
    let MeasureRequest { job: asked, sampling, unchecked: true, verify: false, .. } = &**request else {
        panic!("{request:?}")
    };
    assert_eq!((asked, *sampling), (&job("a"), wanted));
}

#[test]
fn outputs_are_checked_or_there_is_nothing_to_check() {
    let script = |number, request: &Request| {
        assert!(matches!(request, Request::Test { .. }), "{request:?}");
        (vec![Reply::Tested(Ok(number == 1))], None)
    };
    let (found, _) = with_cases(&config(1), script, |cases| ["a", "b"].map(|name| tested(cases, name)));
    assert_eq!(found, [Ok(true), Ok(false)]);
    let wrong = |_, _: &Request| (vec![Reply::Tested(Err(failed(Stage::Check)))], None);
    let (found, _) = with_cases(&config(1), wrong, |cases| tested(cases, "a"));
    assert_eq!(found, Err(failed(Stage::Check)));
}

/// Each failure is reported with its kind.
#[test]
fn a_case_without_a_usable_time_says_why() {
    let known = measurement("clockwork.jsonl");
    type Answers = Box<dyn Fn(&Job) -> Replies + Send + Sync>;
    let invalid = move |job: &Job| {
        let mut made = record(job, known.clone());
        made.verdict = Verdict::of(vec![Reason::Failed(failed(Stage::Launch))]);
        (vec![Reply::Record(Box::new(made))], None)
    };
    let cases: [(&str, Answers); 4] = [
        ("launch: out of paper", Box::new(invalid)),
        ("device: it is closed", Box::new(|_| (vec![Reply::NoDevice("it is closed".to_owned())], None))),
        ("worker: sent no result", Box::new(|_| (Vec::new(), None))),
        ("worker: its process was ended by SIGKILL", Box::new(|_| (Vec::new(), Some(killed())))),
    ];
    for (expected, answers) in cases {
        let script = move |_, request: &Request| match request {
            Request::Measure(request) => answers(&request.job),
            _ => unreachable!("nobody asks for it"),
        };
        let (found, asked) = with_cases(&config(1), script, |cases| measured(cases, "a"));
        assert_eq!(found.expect_err("it has no time").to_string(), expected);
        assert_eq!(asked.len(), 2, "a new worker confirms it");
    }
}

#[test]
fn a_failure_is_confirmed_by_a_new_worker() {
    let known = measurement("clockwork.jsonl");
    let then = sends(&known);
    let script = move |number, request: &Request| match number {
        1 => (Vec::new(), None),
        _ => then(number, request),
    };
    let config = config(1);
    let (found, asked) = with_cases(&config, script, |cases| measured(cases, "a"));
    assert_eq!(found.map(|record| record.measurement), Ok(Some(known)), "the second try is the case's");
    assert_eq!(asked.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [1, 2]);
    let fails = |_, _: &Request| (vec![Reply::Tested(Err(failed(Stage::Check)))], None);
    // This very process cannot be replaced.
    let (_, asked) = with_cases(&in_process(), fails, |cases| tested(cases, "a"));
    assert_eq!(asked.len(), 1);
}

/// A worker of its own would take the limit once more; one that another case used may hang over what that left.
#[test]
fn a_case_that_takes_its_limit_is_tried_again_only_in_a_worker_of_its_own() {
    let limit = Duration::from_secs(7);
    let hangs = move |number, _: &Request| match number {
        2 | 3 => (Vec::new(), Some(WorkerExit::TimedOut(limit))),
        _ => (vec![Reply::Tested(Ok(true))], None),
    };
    let (found, asked) =
        with_cases(&config(1), hangs, |cases| ["a", "b"].map(|name| tested(cases, name).is_ok()));
    assert_eq!((found, asked.len()), ([true, false], 3), "the first worker was used, the second was not");
    let always = move |_, _: &Request| (Vec::new(), Some(WorkerExit::TimedOut(limit)));
    let (found, asked) = with_cases(&config(1), always, |cases| tested(cases, "a").is_ok());
    assert_eq!((found, asked.len()), (false, 1));
}

/// DeviceInfo are asked for under the name of the command line, whatever the device calls itself.
#[test]
fn single_cases_have_the_facts_of_their_device() {
    let mut locked = config(1);
    locked.locked =
        vec![("fake".to_owned(), "1,980 MHz".to_owned()), ("other".to_owned(), "1 MHz".to_owned())];
    let facts_by = |script: fn(usize, &Request) -> Replies| {
        let scripted = Scripted::by(script);
        info_with_peaks(&mut scripted.supervisor(&|| false, Box::new(drop)), &locked, "fake")
            .map_err(|error| error.to_string())
    };
    let (found, note) =
        facts_by(|_, _| (vec![Reply::DeviceInfo(info("itself"))], None)).expect("it tells them");
    assert_eq!((&*found.device, note), ("fake", None));
    assert_eq!(found.properties, [Property::new("clocks", Value::Text("1,980 MHz".to_owned()))]);
    type RefusalScript = fn(usize, &Request) -> Replies;
    let refused: [(&str, RefusalScript); 3] = [
        ("device `fake`: it is closed", |_, _| (vec![Reply::NoDevice("it is closed".to_owned())], None)),
        ("device `fake`: the process sent no result", |_, _| (Vec::new(), None)),
        ("device `fake`: its process was ended by SIGKILL", |_, _| (Vec::new(), Some(killed()))),
    ];
    for (expected, script) in refused {
        assert_eq!(facts_by(script).expect_err("it has none"), expected);
    }
}
