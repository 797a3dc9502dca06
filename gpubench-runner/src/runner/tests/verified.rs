//! Records that are delayed until their launches were traced, or until it is known what they write.

use super::scripted::{Replies, Scripted, job, killed, measurement, record};
use super::*;
use crate::settings::Verifier;
use gpubench_records::{CuptiPass, Written};
use gpubench_stats::Bytes;

/// Measures these jobs by a script, and returns the records with the workers of the requests for jobs.
fn run(
    jobs: Vec<Job>,
    config: &RunConfig,
    script: impl Fn(&Request) -> Replies + Send + Sync + 'static,
) -> (Run, Vec<(usize, Request)>) {
    let whole = move |_, request: &Request| match request {
        Request::DeviceInfo { device, .. } => (vec![Reply::DeviceInfo(info(device))], None),
        other => script(other),
    };
    let (scripted, stop) = (Scripted::by(whole), || false);
    let supervisor = |warn| scripted.supervisor(&stop, warn);
    let plan =
        Plan { jobs: jobs.into_iter().map(|job| (job, JobStatus::Measured)).collect(), ..Plan::default() };
    let (setup, heard) = (setup(&plan), &mut Heard::default());
    let (run, _, ended) = measure(&supervisor, setup, config, &mut |_, _| None, &|_| (), heard, &stop);
    ended.expect("nothing ends it");
    let asked = scripted.asked();
    (run, asked.into_iter().filter(|(_, request)| !matches!(request, Request::DeviceInfo { .. })).collect())
}

fn cupti(record: &Record) -> Option<CuptiPass> {
    record.measurement.as_ref()?.verification.as_ref()?.cupti.clone()
}

/// Every sampled case has a trace, or the reason that there is none; and what traced is not used again.
#[test]
fn each_sampled_case_is_traced_or_says_why_not() {
    let known = measurement("clockwork.jsonl");
    let mut config = config(1);
    config.settings.verify = Some(Verifier::Cupti);
    let both = || job("a").with_caches(vec![Cache::Hot, Cache::Cold]);
    let of = move |job: &Job, cache| {
        let one = job.clone().with_caches(vec![cache]);
        Reply::Record(Box::new(record(&one, known.clone())))
    };
    let pass = |cache: Cache| Reply::Traced { cache, pass: CuptiPass::Failed(format!("{cache} is odd")) };
    let failed = |why: &str| Some(CuptiPass::Failed(why.to_owned()));
    // The states of the cache that are traced before the worker is lost, if it is.
    for (traced, is_search_incomplete, expected) in [
        (vec![Cache::Hot, Cache::Cold], false, ["hot is odd", "cold is odd"]),
        (vec![Cache::Cold], false, ["nothing came of it", "cold is odd"]),
        (vec![Cache::Hot], true, ["hot is odd", "its process was ended by SIGKILL"]),
    ] {
        let of = of.clone();
        let script = move |request: &Request| {
            let Request::Measure(request) = request else { panic!("{request:?}") };
            let job = &request.job;
            let mut replies = vec![Reply::Step(Step::Setup)];
            replies.extend(job.caches.iter().map(|cache| of(job, *cache)));
            let is_first = job.benchmark == "a";
            replies.extend(traced.iter().filter(|_| is_first).map(|cache| pass(*cache)));
            (replies, (is_search_incomplete && is_first).then(killed))
        };
        let (run, asked) = run(vec![both(), job("b")], &config, script);
        assert_eq!(run.records.iter().map(cupti).take(2).collect::<Vec<_>>(), expected.map(failed));
        let next = asked.iter().find(
            |(_, request)| matches!(request, Request::Measure(request) if request.job.benchmark == "b"),
        );
        assert_eq!(next.map(|(number, _)| *number), Some(2), "tracing leaves something behind");
    }
    // Without it nothing is said of it.
    config.settings.verify = None;
    let script = move |request: &Request| {
        let Request::Measure(request) = request else { panic!("{request:?}") };
        let job = &request.job;
        (job.caches.iter().map(|cache| of(job, *cache)).collect(), None)
    };
    let (run, _) = run(vec![both()], &config, script);
    assert!(run.records.len() == 2 && run.records.iter().all(|record| cupti(record).is_none()));
}

/// A launch that changes no memory may have written what was there already: it runs once more on other contents.
#[test]
fn a_claim_in_doubt_is_judged_by_launches_on_other_contents() {
    let mut known = measurement("gpu.jsonl");
    known.launch.written = Some(Written::new(Bytes(1 << 20), Bytes(256), Bytes(0)));
    let claimed = Bytes(known.counts.writes.expect("it claims some"));
    let answers = |found: Option<Bytes>, lost: fn() -> Option<WorkerExit>, in_process| {
        let known = known.clone();
        let script = move |request: &Request| match request {
            Request::Measure(request) => {
                (vec![Reply::Record(Box::new(record(&request.job, known.clone())))], None)
            }
            Request::Writes { enough, .. } => {
                assert_eq!(*enough, claimed);
                (vec![Reply::Writes(found)], lost())
            }
            _ => unreachable!("nobody asks for it"),
        };
        let config = if in_process { super::in_process() } else { config(1) };
        let (run, asked) = run(vec![job("a"), job("b")], &config, script);
        let changed = run.records[0].measurement.as_ref().and_then(|it| it.launch.written.clone());
        let written = changed.expect("it was looked at");
        let workers: Vec<usize> = asked.iter().map(|(worker, _)| *worker).collect();
        (run.records[0].verdict.state, written.changed_on_other_contents, workers)
    };
    let none: fn() -> Option<WorkerExit> = || None;
    let (state, changed, workers) = answers(Some(claimed), none, false);
    assert_eq!((state, changed), (State::Valid, Some(claimed)));
    assert_eq!(workers, [1, 1, 2, 2], "what may have gone astray is not used again");
    let (state, changed, _) = answers(Some(Bytes(0)), none, false);
    assert_eq!((state == State::Valid, changed), (false, Some(Bytes(0))), "it writes nothing");
    let lost: fn() -> Option<WorkerExit> = || Some(killed());
    assert_eq!(answers(Some(claimed), lost, false).1, None, "of a lost worker nothing is known");
    let (_, changed, workers) = answers(Some(claimed), none, true);
    assert_eq!((changed, workers), (None, vec![1, 1]), "this process is not sent astray");
}
