//! The variants of a race against workers in memory: what they are asked for, what is tried again, and how failures are told.

use std::time::Instant;

use super::scripted::{Replies, Scripted, failed, job, killed, measurement, record};
use super::*;
use crate::runner::race::{DuelRounds, Racers};
use crate::runner::race_sampling;
use crate::runner::variants::{self, Variants};
use gpubench_records::comparison::{Answer as Compares, Comparison, Round};
use gpubench_records::facts::{Property, Value};
use gpubench_records::id::BenchmarkId;
use gpubench_records::record::{Compared, Measurement};
use gpubench_stats::race::Duel;
use gpubench_stats::resolution_of_pairs;
use gpubench_stats::units::Nanoseconds;

/// Asks for variants of these names by a script, with this configuration and deadline.
fn with_variants<T>(
    (config, deadline): (&RunConfig, Option<Instant>),
    names: &[&str],
    script: impl Fn(usize, &Request) -> Replies + Send + Sync + 'static,
    ask: impl FnOnce(&mut Variants<'_, '_>) -> T,
) -> (T, Vec<(usize, Request)>, Vec<String>) {
    let (scripted, mut started) = (Scripted::by(script), Vec::new());
    let done = {
        let mut supervisor = scripted.supervisor(&|| false);
        let mut begun = |job: &Job| started.push(job.benchmark.clone());
        let (facts, jobs) = (facts("fake"), names.iter().map(|name| job(name)).collect());
        ask(&mut Variants::new(&mut supervisor, config, &facts, jobs, deadline, &mut begun))
    };
    let asked = scripted.asked();
    (done, asked, started)
}

/// Answers each request with a valid record of this measurement.
fn sends(measurement: &Measurement) -> impl Fn(usize, &Request) -> Replies + Send + Sync + 'static {
    let measurement = measurement.clone();
    move |_, request| {
        let Request::Measure { job, .. } = request else { panic!("{request:?}") };
        (vec![Reply::Record(Box::new(record(job, measurement.clone())))], None)
    }
}

fn sampling_of(request: &Request) -> Sampling {
    match request {
        Request::Measure { sampling, unchecked: true, .. } => *sampling,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_variant_alone_is_sampled_briefly_and_its_work_is_known() {
    let known = measurement("clockwork.jsonl");
    let config = config(1);
    let (found, asked, started) = with_variants((&config, None), &["a", "b"], sends(&known), |variants| {
        let time = variants.coarse(1).expect("a worker").expect("a time");
        (time, variants.seen[1].counts, variants.seen[0].counts.bytes)
    });
    assert!(known.counts.bytes.is_some());
    assert_eq!(found, (known.median(), known.counts, None));
    assert_eq!(sampling_of(&asked[0].1), race_sampling::alone(config.sampling));
    assert_eq!(started, ["b"]);
}

/// A first step tells what is far slower, and has fewer samples.
#[test]
fn two_variants_take_turns_for_a_step() {
    let known = measurement("clockwork.jsonl");
    let logs = [0.1, 0.2, 0.3];
    let sent = known.clone();
    let script = move |_, request: &Request| {
        let Request::Measure { job, .. } = request else { panic!("{request:?}") };
        let mut made = record(job, sent.clone());
        made.compared = job.with.clone().map(|with| {
            let rounds = logs.map(|log_ratio| Round { pairs: 2, log_ratio }).to_vec();
            let comparison =
                Comparison { ratio: None, band: 0.01, answer: Compares::Undecided, rounds, seed: None };
            let verdict = Verdict::of(Vec::new());
            Box::new(Compared { with, comparison, measurement: sent.clone(), verdict })
        });
        (vec![Reply::Record(Box::new(made))], None)
    };
    let config = config(1);
    let duel = Duel { contender: 0, leader: 1 };
    let (found, asked, _) = with_variants((&config, None), &["a", "b"], script, |variants| {
        for variant in [0, 1] {
            variants.coarse(variant).expect("a worker").expect("a time");
        }
        [(); 2].map(|()| variants.duel(duel).expect("a worker").expect("rounds"))
    });
    let times = known.times();
    let pairs: Vec<[Nanoseconds; 2]> = times.iter().map(|time| [*time; 2]).collect();
    let resolution = resolution_of_pairs(&pairs, known.samples.timer.step);
    assert_eq!(found, [(); 2].map(|()| DuelRounds { logs: logs.to_vec(), resolution }));
    let steps: Vec<Sampling> = asked[2..].iter().map(|(_, request)| sampling_of(request)).collect();
    let step = |is_first| race_sampling::step(config.sampling, [Some(known.median()); 2], is_first);
    assert_eq!(steps, [step(true), step(false)]);
    let Request::Measure { job, .. } = &asked[2].1 else { panic!("{asked:?}") };
    let leader = BenchmarkId { benchmark: "b".to_owned(), args: Vec::new() };
    assert_eq!((&*job.benchmark, job.with.as_ref()), ("a", Some(&leader)));
}

/// Without a comparison there are no rounds.
#[test]
fn a_step_without_rounds_is_a_failure() {
    let (config, known) = (config(1), measurement("clockwork.jsonl"));
    let (duel, ..) = with_variants((&config, None), &["a", "b"], sends(&known), |variants| {
        variants.duel(Duel { contender: 0, leader: 1 }).expect("a worker")
    });
    assert_eq!(duel.expect_err("it was not compared").to_string(), "sampling: was not compared");
}

#[test]
fn outputs_are_checked_or_there_is_nothing_to_check() {
    let script = |number, request: &Request| {
        assert!(matches!(request, Request::Test { .. }), "{request:?}");
        (vec![Reply::Tested(Ok(number == 1))], None)
    };
    let (found, ..) = with_variants((&config(1), None), &["a", "b"], script, |variants| {
        let told = [0, 1].map(|variant| variants.check(variant).expect("a worker"));
        (told, [0, 1].map(|variant| variants.seen[variant].checked))
    });
    assert_eq!(found, ([Ok(()), Ok(())], [true, false]));
    let wrong = |_, _: &Request| (vec![Reply::Tested(Err(failed(Stage::Check)))], None);
    let (found, ..) = with_variants((&config(1), None), &["a"], wrong, |variants| variants.check(0));
    assert_eq!(found.expect("a worker"), Err(failed(Stage::Check)));
}

/// Each failure is told as what it is.
#[test]
fn a_variant_without_a_usable_time_says_why() {
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
        ("worker: the process was ended by signal SIGKILL", Box::new(|_| (Vec::new(), Some(killed())))),
    ];
    for (expected, answers) in cases {
        let script = move |_, request: &Request| match request {
            Request::Measure { job, .. } => answers(job),
            _ => unreachable!("nobody asks for it"),
        };
        let (found, asked, _) =
            with_variants((&config(1), None), &["a"], script, |variants| variants.coarse(0));
        assert_eq!(found.expect("a worker").expect_err("it has no time").to_string(), expected);
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
    let (found, asked, _) = with_variants((&config, None), &["a"], script, |variants| variants.coarse(0));
    assert_eq!(found.expect("a worker"), Ok(known.median()), "the second try is the variant's");
    assert_eq!(asked.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [1, 2]);
    // Three of a stage are confirmed, and those behind believed.
    let fails = |_, _: &Request| (vec![Reply::Tested(Err(failed(Stage::Check)))], None);
    let (found, asked, _) = with_variants((&config, None), &["a"; 5], fails, |variants| {
        [0, 1, 2, 3, 4].map(|variant| variants.check(variant).expect("a worker"))
    });
    assert!(found.iter().all(|found| *found == Err(failed(Stage::Check))));
    assert_eq!(asked.len(), 3 * 2 + 2);
    // This very process cannot be replaced.
    let in_process = RunConfig { in_process: true, ..config };
    let (_, asked, _) = with_variants((&in_process, None), &["a"], fails, |variants| variants.check(0));
    assert_eq!(asked.len(), 1);
}

/// A worker of its own would take the limit once more; one that another variant used may hang over what that left.
#[test]
fn a_variant_that_takes_its_limit_is_tried_again_only_in_a_worker_of_its_own() {
    let limit = Duration::from_secs(7);
    let hangs = move |number, _: &Request| match number {
        2 | 3 => (Vec::new(), Some(Loss::TimedOut(limit))),
        _ => (vec![Reply::Tested(Ok(true))], None),
    };
    let (found, asked, _) = with_variants((&config(1), None), &["a", "b", "c"], hangs, |variants| {
        [0, 1].map(|variant| variants.check(variant).expect("a worker").is_ok())
    });
    assert_eq!((found, asked.len()), ([true, false], 3), "the first worker was used, the second was not");
    let always = move |_, _: &Request| (Vec::new(), Some(Loss::TimedOut(limit)));
    let (found, asked, _) = with_variants((&config(1), None), &["a"], always, |variants| {
        variants.check(0).expect("a worker").is_ok()
    });
    assert_eq!((found, asked.len()), (false, 1));
}

#[test]
fn a_budget_is_spent_at_its_deadline() {
    let (now, nobody) = (Instant::now(), |_, _: &Request| (Vec::new(), None));
    let hour = Duration::from_secs(3600);
    for (deadline, is_spent) in [(None, false), (Some(now), true), (Some(now + hour), false)] {
        let (found, ..) = with_variants((&config(1), deadline), &["a"], nobody, |variants| {
            thread::sleep(Duration::from_millis(2));
            assert!(variants.elapsed() >= Nanoseconds(2e6));
            variants.is_spent()
        });
        assert_eq!(found, is_spent, "{deadline:?}");
    }
}

/// Facts are asked for under the name of the command line, whatever the device calls itself.
#[test]
fn a_race_has_the_facts_of_its_device() {
    let mut locked = config(1);
    locked.locked =
        vec![("fake".to_owned(), "1,980 MHz".to_owned()), ("other".to_owned(), "1 MHz".to_owned())];
    let facts_by = |script: fn(usize, &Request) -> Replies| {
        let scripted = Scripted::by(script);
        variants::facts(&mut scripted.supervisor(&|| false), &locked, "fake")
            .map_err(|error| error.to_string())
    };
    let (found, notes) = facts_by(|_, _| (vec![Reply::Facts(facts("itself"))], None)).expect("it tells them");
    assert_eq!((&*found.device, notes), ("fake", Vec::new()));
    assert_eq!(found.properties, [Property::new("clocks", Value::Text("1,980 MHz".to_owned()))]);
    type Script = fn(usize, &Request) -> Replies;
    let refused: [(&str, Script); 3] = [
        ("device `fake`: it is closed", |_, _| (vec![Reply::NoDevice("it is closed".to_owned())], None)),
        ("device `fake`: the worker did not tell what is known of it", |_, _| (Vec::new(), None)),
        ("device `fake`: the process was ended by signal SIGKILL", |_, _| (Vec::new(), Some(killed()))),
    ];
    for (expected, script) in refused {
        assert_eq!(facts_by(script).expect_err("it has none"), expected);
    }
}
