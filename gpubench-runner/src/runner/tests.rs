//! The runner against workers that answer in memory: order, lost workers, refused devices, interrupts, repeats.

mod ended;
mod resumed;
pub(super) mod scripted;
mod settings;
mod single_cases;
mod trials;
mod verified;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::{io, os::unix::process::ExitStatusExt, process::ExitStatus, thread, time::Duration};

use super::supervisor::{ShowWarning, Supervisor, Worker, WorkerExit};
use super::{
    RetryRegressions, RunConfig, RunError, RunEvent, RunEvents, RunSetup, Stop, measure,
    results::check_completeness as check, resume::ResumedRecords,
};
use crate::{plan::Plan, settings::Settings};
use gpubench_records::{
    Arg, Cache, DeviceInfo, Failure, Program, Reason, Record, Run, Sampling, Stage, State, Step, Verdict,
};
use gpubench_runtime::worker::{Reply, Request};
use gpubench_runtime::{Job, JobStatus, SharedResource, device::Available};

/// A fault of a fake worker, with the benchmark that triggers it.
#[derive(Clone, Copy, PartialEq)]
enum WorkerFault {
    /// It hangs in the first of its cases, and is killed.
    Hangs(&'static str),
    /// It hangs after it has sampled this many of its cases, and is killed.
    HangsAfterSamples(&'static str, usize),
    /// Its device is lost after its first record.
    LosesDevice(&'static str),
    /// It takes its limit to open its device, for a benchmark or for its facts.
    EndsOpening(&'static str),
    /// It is killed while it reads the facts of its device.
    EndsOver(&'static str),
    /// It sends no record and no error.
    SaysNothing(&'static str),
    /// It leaves its process changed.
    Changes(&'static str),
}

/// The state that all fake workers share: faults, each of which happens once, and the requests by worker.
#[derive(Default)]
struct WorkerScript {
    faults: Vec<WorkerFault>,
    closed: Vec<&'static str>,
    started: usize,
    /// The number of workers that were let end by themselves.
    ended: usize,
    /// The number of processes that can be started, if it is limited.
    most: Option<usize>,
    asked: Vec<(usize, String)>,
    /// The jobs in progress, and the most that there were together with each.
    in_progress: Vec<String>,
    together: Vec<(String, usize)>,
}

/// A script that several threads read, and the news that a job has begun.
#[derive(Default)]
struct SharedScript {
    script: Mutex<WorkerScript>,
    begun: Condvar,
}

impl SharedScript {
    fn lock(&self) -> MutexGuard<'_, WorkerScript> {
        self.script.lock().expect("nobody panics with it")
    }

    /// Takes part in a job: long enough that another job that may run concurrently has begun.
    fn take_part(&self, name: String) {
        let mut script = self.lock();
        script.in_progress.push(name.clone());
        self.begun.notify_all();
        let alone = |script: &mut WorkerScript| script.in_progress.len() < 2;
        let wait = self.begun.wait_timeout_while(script, Duration::from_millis(300), alone);
        script = wait.expect("nobody panics with it").0;
        let together = script.in_progress.len();
        script.together.push((name.clone(), together));
        drop(script);
        // The other one sees both too.
        thread::sleep(Duration::from_millis(20));
        self.lock().in_progress.retain(|other| *other != name);
    }
}

impl WorkerScript {
    /// Takes a fault out of the script, if it is there. Returns true if it was.
    fn befalls(&mut self, fault: impl Fn(&WorkerFault) -> bool) -> bool {
        let place = self.faults.iter().position(fault);
        place.map(|place| self.faults.remove(place)).is_some()
    }
}

struct FakeWorker {
    number: usize,
    shared: Arc<SharedScript>,
}

impl Worker for FakeWorker {
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerExit> {
        if let Request::Measure(request) = request {
            let (job, info) = (&request.job, &request.info);
            assert_eq!(info.device, job.device, "a job comes with the facts of its device");
            if job.benchmark.starts_with("slow") {
                self.shared.take_part(format!("{job} on {}", job.device));
            }
        }
        let mut script = self.shared.lock();
        match request {
            Request::DeviceInfo { device, .. } => {
                script.asked.push((self.number, format!("facts of {device}")));
                if script.befalls(|fault| matches!(fault, WorkerFault::EndsOver(name) if name == device)) {
                    return Err(WorkerExit::Exited(ExitStatus::from_raw(9)));
                }
                if script.befalls(|fault| matches!(fault, WorkerFault::EndsOpening(name) if name == device)) {
                    return Err(WorkerExit::TimedOut(limit));
                }
                reply(match script.closed.contains(&device.as_str()) {
                    true => Reply::NoDevice("it is closed".to_owned()),
                    false => Reply::DeviceInfo(info(device)),
                });
            }
            Request::Measure(request) => {
                let job = &request.job;
                script.asked.push((self.number, format!("{job} on {}", job.device)));
                if stop() {
                    return Err(WorkerExit::Interrupted);
                }
                let is = |name: &str| name == job.benchmark;
                if script.befalls(|fault| matches!(fault, WorkerFault::EndsOpening(name) if is(name))) {
                    return Err(WorkerExit::TimedOut(limit));
                }
                reply(Reply::Step(Step::Setup));
                if script.befalls(|fault| matches!(fault, WorkerFault::Hangs(name) if is(name))) {
                    return Err(WorkerExit::TimedOut(limit));
                }
                for sampled in 1..=job.caches.len() {
                    if script.befalls(
                        |fault| matches!(fault, WorkerFault::HangsAfterSamples(name, cases) if is(name) && *cases == sampled),
                    ) {
                        for &cache in &job.caches[..sampled] {
                            let record = Record::new(job.case(cache), None, Verdict::of(Vec::new()));
                            reply(Reply::Sampled(Box::new(record)));
                        }
                        return Err(WorkerExit::TimedOut(limit));
                    }
                }
                if script.befalls(|fault| matches!(fault, WorkerFault::SaysNothing(name) if is(name))) {
                    return Ok(());
                }
                let changes = script.befalls(|fault| matches!(fault, WorkerFault::Changes(name) if is(name)));
                let loses =
                    script.befalls(|fault| matches!(fault, WorkerFault::LosesDevice(name) if is(name)));
                for &cache in &job.caches {
                    let failure = Failure::new(Stage::Launch, "it always does");
                    let fails = job.benchmark.starts_with("fails").then_some(Reason::Failed(failure));
                    let verdict = Verdict::of(fails.into_iter().collect());
                    reply(Reply::Record(Box::new(Record::new(job.case(cache), None, verdict))));
                    if loses {
                        reply(Reply::DeviceLost);
                        return Ok(());
                    }
                }
                if changes {
                    reply(Reply::Changed);
                }
            }
            _ => unreachable!("nobody asks for it"),
        }
        Ok(())
    }

    fn dismiss(self: Box<Self>) {
        self.shared.lock().ended += 1;
    }
}

fn info(device: &str) -> DeviceInfo {
    let mut info = DeviceInfo::new(device, "a fake");
    info.fake = true;
    info
}

#[derive(Default)]
struct Heard {
    jobs: Vec<String>,
    records: Vec<String>,
    warnings: Vec<String>,
    rows: usize,
}

impl RunEvents for Heard {
    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::JobFinished(_) => self.rows += 1,
            RunEvent::JobStarted(job) => self.jobs.push(job.to_string()),
            RunEvent::RecordFinished(record) => self.records.push(record.case.to_string()),
            RunEvent::Warning(warning) => self.warnings.push((*warning).to_owned()),
            _ => {}
        }
    }
}

/// Makes a plan of these benchmarks, each hot and cold, on each of these devices.
fn plan(benchmarks: &[&str], devices: &[&str]) -> Plan {
    let job = |device: &str, benchmark: &str| {
        Job::new(benchmark.to_owned(), Vec::new(), device.to_owned(), vec![Cache::Hot, Cache::Cold])
    };
    let of_device = |device: &&str| {
        benchmarks.iter().map(|name| (job(device, name), JobStatus::Measured)).collect::<Vec<_>>()
    };
    Plan { jobs: devices.iter().flat_map(of_device).collect(), ..Plan::default() }
}

struct TestRun {
    run: Run,
    ended: Result<(), RunError>,
    script: WorkerScript,
    heard: Heard,
}

impl TestRun {
    fn of(plan: &Plan, script: WorkerScript, runs: usize, stop: &Stop<'_>) -> Self {
        Self::of_setup(setup(plan), script, &config(runs), stop)
    }

    fn of_setup(setup: RunSetup, script: WorkerScript, config: &RunConfig, stop: &Stop<'_>) -> Self {
        Self::with_again(setup, &mut |_, _| None, script, config, stop)
    }

    fn with_again(
        setup: RunSetup,
        again: &mut RetryRegressions<'_>,
        script: WorkerScript,
        config: &RunConfig,
        stop: &Stop<'_>,
    ) -> Self {
        let shared = Arc::new(SharedScript { script: Mutex::new(script), ..SharedScript::default() });
        let supervisor = |warn| {
            let start = |_: &str| -> io::Result<Box<dyn Worker>> {
                let mut script = shared.lock();
                if script.most == Some(script.started) {
                    return Err(io::Error::other("no more processes"));
                }
                script.started += 1;
                Ok(Box::new(FakeWorker { number: script.started, shared: Arc::clone(&shared) }))
            };
            Supervisor::with_workers(Box::new(start), stop, warn)
        };
        let mut heard = Heard::default();
        let (run, _, ended) = measure(&supervisor, setup, config, again, &|_| (), &mut heard, stop);
        let script = std::mem::take(&mut *shared.lock());
        Self { run, ended, script, heard }
    }

    fn rows(&self) -> Vec<(String, State)> {
        self.run.records.iter().map(|record| (record.case.to_string(), record.verdict.state)).collect()
    }

    /// Returns the failures of rows, in order.
    fn failures(&self) -> Vec<String> {
        let reasons = self.run.records.iter().flat_map(|record| &record.verdict.reasons);
        reasons.map(Reason::to_string).collect()
    }
}

/// Returns the setup of a run of `plan`, on its devices.
fn setup(plan: &Plan) -> RunSetup {
    let mut devices: Vec<Available> = Vec::new();
    for (job, _) in &plan.jobs {
        if devices.iter().all(|known| known.device != job.device) {
            devices.push(Available::new(&job.device, "fake"));
        }
    }
    let plan = Plan { jobs: plan.jobs.clone(), ..Plan::default() };
    RunSetup { plan, devices, ..RunSetup::default() }
}

/// Returns the settings of a run in this process.
fn in_process() -> RunConfig {
    let mut config = config(1);
    config.settings.in_process = true;
    config
}

pub(super) fn config(runs: usize) -> RunConfig {
    let timeout = Some(Duration::from_secs(7));
    RunConfig {
        settings: Settings { timeout, runs: Some(runs), ..Settings::default() },
        ..RunConfig::default()
    }
}

fn measured(plan: &Plan, faults: &[WorkerFault]) -> TestRun {
    TestRun::of(plan, WorkerScript { faults: faults.to_vec(), ..WorkerScript::default() }, 1, &|| false)
}

fn valid(case: &str) -> (String, State) {
    (case.to_owned(), State::Valid)
}

fn invalid(case: &str) -> (String, State) {
    (case.to_owned(), State::Invalid)
}

#[test]
fn cases_are_measured_in_the_order_of_the_plan_by_one_worker() {
    let done = measured(&plan(&["a", "b"], &["fake"]), &[]);
    assert!(done.ended.is_ok());
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    let asked = ["facts of fake", "a on fake", "b on fake"].map(|what| (1, what.to_owned()));
    assert_eq!((done.script.started, done.script.asked), (1, asked.to_vec()));
    assert_eq!(done.heard.jobs, ["a", "b"]);
    assert_eq!(done.heard.records, ["a hot", "a cold", "b hot", "b cold"]);
    assert_eq!(done.run.planned_cases, 4);
    assert!(done.run.records.iter().all(|record| record.fake), "the device says that it is a fake");
}

#[test]
fn each_device_has_a_worker_of_its_own() {
    let done = measured(&plan(&["a"], &["fake:0", "fake:1"]), &[]);
    let mut asked = done.script.asked;
    // Both jobs begin at once.
    asked[2..].sort();
    let expected = [(1, "facts of fake:0"), (2, "facts of fake:1"), (1, "a on fake:0"), (2, "a on fake:1")];
    assert_eq!(asked, expected.map(|(worker, what)| (worker, what.to_owned())));
}

/// Whoever killed one worker has said nothing about its device.
#[test]
fn a_device_whose_worker_is_lost_over_its_facts_is_asked_once_more() {
    let plan = plan(&["a"], &["fake"]);
    let done = measured(&plan, &[WorkerFault::EndsOver("fake")]);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
    let asked = [(1, "facts of fake"), (2, "facts of fake"), (2, "a on fake")];
    assert_eq!(done.script.asked, asked.map(|(worker, what)| (worker, what.to_owned())));
    let done = measured(&plan, &[WorkerFault::EndsOver("fake"), WorkerFault::EndsOver("fake")]);
    let said = done.ended.expect_err("it is the only device").to_string();
    assert_eq!(said, "device `fake`: its process was ended by SIGKILL");
    assert_eq!(done.script.asked.len(), 2);
    let done = measured(&plan, &[WorkerFault::EndsOpening("fake")]);
    let said = done.ended.expect_err("it is the only device").to_string();
    assert_eq!(said, "device `fake`: took longer than 60 s, and was killed (--timeout sets the limit)");
    assert_eq!(done.script.asked.len(), 1, "it would take its limit twice");
}

#[test]
fn devices_are_measured_side_by_side_and_one_that_shares_the_machine_alone() {
    let mut plan = plan(&["slow kernel", "slow cpu", "slow sum"], &["fake:0", "fake:1"]);
    for (job, _) in &mut plan.jobs {
        job.shares =
            if job.benchmark == "slow cpu" { SharedResource::Machine } else { SharedResource::Nothing };
    }
    let together = |plan: &Plan| {
        let done = measured(plan, &[]);
        assert!(done.ended.is_ok() && done.run.records.len() == 12);
        done.script.together
    };
    for (job, others) in together(&plan) {
        assert_eq!(others, if job.starts_with("slow cpu") { 1 } else { 2 }, "{job}");
    }
    plan.jobs.iter_mut().for_each(|(job, _)| job.shares = SharedResource::Machine);
    let order = together(&plan);
    assert!(order.iter().all(|(_, others)| *others == 1), "{order:?}");
    let jobs: Vec<&str> = order.iter().map(|(job, _)| &**job).collect();
    let expected = ["kernel", "cpu", "sum"].map(|name| [0, 1].map(|on| format!("slow {name} on fake:{on}")));
    assert_eq!(jobs, expected.concat());
}

/// With nothing else to do, the second transfer waits for the first.
#[test]
fn transfers_are_measured_one_at_a_time() {
    let mut plan = plan(&["slow up", "slow down"], &["fake:0", "fake:1"]);
    plan.jobs.iter_mut().for_each(|(job, _)| job.shares = SharedResource::Link);
    let done = measured(&plan, &[]);
    assert!(done.ended.is_ok() && done.run.records.len() == 8);
    assert!(done.script.together.iter().all(|(_, others)| *others == 1), "{:?}", done.script.together);
}

/// Rows are finished when the last device has them, and are together in the run.
#[test]
fn the_records_of_a_row_stand_together() {
    let done = measured(&plan(&["a", "b"], &["fake:1", "fake:0"]), &[]);
    let rows: Vec<String> =
        done.run.records.iter().map(|record| format!("{} on {}", record.case, record.device)).collect();
    let of = |name: &str| {
        ["fake:1", "fake:0"].map(|on| ["hot", "cold"].map(|cache| format!("{name} {cache} on {on}"))).concat()
    };
    assert!(rows == [of("a"), of("b")].concat() || rows == [of("b"), of("a")].concat(), "{rows:?}");
}

#[test]
fn a_worker_that_hangs_costs_one_case_and_another_goes_on() {
    let done = measured(&plan(&["a", "b"], &["fake"]), &[WorkerFault::Hangs("a")]);
    assert_eq!(done.rows(), [invalid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    assert_eq!(done.failures(), ["setup: took longer than 7 s, and was killed (--timeout sets the limit)"]);
    assert_eq!(done.script.started, 2);
    assert_eq!(done.script.asked.last(), Some(&(2, "b on fake".to_owned())));
}

/// Whatever the reason: a run that is not complete must not look so.
#[test]
fn the_records_of_a_run_that_ended_are_those_of_its_plan() {
    let plan = plan(&["a", "b"], &["fake"]);
    let records = measured(&plan, &[]).run.records;
    assert!(check(&plan, &records, 1).is_ok());
    let refused = |records: &[Record]| check(&plan, records, 1).expect_err("they differ");
    assert_eq!(refused(&records[1..]), "the run lacks its records of `a hot` on `fake`");
    let twice = [&records[..], &records[3..]].concat();
    assert_eq!(refused(&twice), "the run has more than its records of `b cold` on `fake`");
    let mut others = records.clone();
    others[3].device = "other".to_owned();
    assert_eq!(refused(&others), "the run lacks its records of `b cold` on `fake`");
    assert!(check(&plan, &records, 2).is_err(), "each repetition has its own");
}

/// The launches after the samples of the first case did not run, so another worker samples it again.
#[test]
fn a_worker_that_hangs_in_a_later_case_costs_that_case() {
    let done = measured(&plan(&["a", "b"], &["fake"]), &[WorkerFault::HangsAfterSamples("a", 1)]);
    assert_eq!(done.rows(), [valid("a hot"), invalid("a cold"), valid("b hot"), valid("b cold")]);
    assert_eq!(done.script.started, 2);
}

#[test]
fn a_worker_that_hangs_after_all_samples_costs_all_cases_of_its_job() {
    let done = measured(&plan(&["a", "b"], &["fake"]), &[WorkerFault::HangsAfterSamples("a", 2)]);
    assert_eq!(done.rows(), [invalid("a hot"), invalid("a cold"), valid("b hot"), valid("b cold")]);
    let is_afterwards =
        |record: &&Record| matches!(record.verdict.reasons[..], [Reason::FailedAfterwards(_)]);
    assert_eq!(done.run.records.iter().filter(is_afterwards).count(), 2);
}

#[test]
fn a_device_that_is_lost_after_a_record_leaves_the_rest_to_a_new_worker() {
    let done = measured(&plan(&["a"], &["fake"]), &[WorkerFault::LosesDevice("a")]);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
    assert_eq!(done.script.started, 2);
}

/// The second try is by a new worker, and its record is the case's.
#[test]
fn a_failure_that_does_not_happen_again_is_a_remark() {
    let done = measured(&plan(&["a", "b"], &["fake"]), &[WorkerFault::SaysNothing("a")]);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    assert_eq!(
        done.failures(),
        ["second try: measured in a new process, after the first process failed (worker: sent no result)"]
    );
    let asked =
        [(1, "facts of fake"), (1, "a on fake"), (1, "a on fake"), (2, "a on fake"), (2, "b on fake")];
    assert_eq!(done.script.asked, asked.map(|(worker, what)| (worker, what.to_owned())));
    assert_eq!(
        done.heard.records,
        ["a cold", "a hot", "b hot", "b cold"],
        "nothing is told that is not certain"
    );
}

/// A used worker may hang because of an earlier row; a new worker takes the limit once.
#[test]
fn a_case_that_hangs_is_tried_again_if_another_was_before_it() {
    let plan = plan(&["a", "b"], &["fake"]);
    let done = measured(&plan, &[WorkerFault::Hangs("b")]);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    let [remark] = &done.failures()[..] else { panic!("{:?}", done.failures()) };
    assert!(remark.starts_with("second try: ") && remark.contains("took longer than 7 s"), "{remark}");
    let done = measured(&plan, &[WorkerFault::Hangs("a")]);
    assert_eq!(done.rows()[0], invalid("a hot"));
}

/// A failure is told where no second process can be started, and left for the next run where the user wants to stop.
#[test]
fn a_failure_that_cannot_be_checked_is_told_unless_the_run_is_interrupted() {
    let plan = plan(&["fails"], &["fake"]);
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 2;
    let done = TestRun::of(&plan, WorkerScript::default(), 1, &stop);
    assert!(matches!(done.ended, Err(RunError::Interrupted)));
    assert_eq!(done.rows(), []);
    let script = WorkerScript { most: Some(1), ..WorkerScript::default() };
    let done = TestRun::of(&plan, script, 1, &|| false);
    assert!(matches!(done.ended, Err(RunError::NoWorker(_))));
    assert_eq!(done.rows(), [invalid("fails hot"), invalid("fails cold")]);
}

/// Three cases of a benchmark are checked, and the others believed: ten thousand would cost as many processes.
#[test]
fn failures_are_checked_a_few_times() {
    let mut plan = plan(&["fails"; 10], &["fake"]);
    for (number, (job, _)) in plan.jobs.iter_mut().enumerate() {
        job.args = vec![Arg { name: "n".to_owned(), value: number.to_string() }];
        job.caches = vec![Cache::Hot];
    }
    let done = measured(&plan, &[]);
    assert!(done.ended.is_ok() && done.rows().iter().all(|(_, state)| *state == State::Invalid));
    assert_eq!(done.failures(), vec!["launch: it always does"; 10]);
    assert_eq!(done.script.asked.len(), 1 + 10 + 3);
    assert_eq!(done.script.started, 4);
}

#[test]
fn a_worker_that_a_job_has_changed_is_replaced() {
    let done = measured(&plan(&["a", "b"], &["fake"]), &[WorkerFault::Changes("a")]);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    assert_eq!((done.script.started, done.failures().len()), (2, 0));
    assert_eq!(done.script.asked.last(), Some(&(2, "b on fake".to_owned())));
}

/// The first process may have lost the device itself.
#[test]
fn a_device_that_does_not_open_once_is_tried_again() {
    let done = measured(&plan(&["a"], &["fake"]), &[WorkerFault::EndsOpening("a")]);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
}

#[test]
fn a_device_that_does_not_open_twice_is_given_up() {
    let done = measured(
        &plan(&["a", "b"], &["fake"]),
        &[WorkerFault::EndsOpening("a"), WorkerFault::EndsOpening("a")],
    );
    assert_eq!(done.rows(), [invalid("a hot"), invalid("a cold"), invalid("b hot"), invalid("b cold")]);
    assert!(done.script.asked.iter().all(|(_, what)| !what.starts_with('b')), "{:?}", done.script.asked);
}

#[test]
fn a_closed_device_costs_its_own_rows_where_there_is_another() {
    let script = WorkerScript { closed: vec!["fake:0"], ..WorkerScript::default() };
    let done = TestRun::of(&plan(&["a"], &["fake:0", "fake:1"]), script, 1, &|| false);
    assert!(done.ended.is_ok());
    assert_eq!(done.rows(), [invalid("a hot"), invalid("a cold"), valid("a hot"), valid("a cold")]);
    let alone = WorkerScript { closed: vec!["fake:0"], ..WorkerScript::default() };
    let done = TestRun::of(&plan(&["a"], &["fake:0"]), alone, 1, &|| false);
    assert!(matches!(done.ended, Err(RunError::Device(why)) if why.starts_with("device `fake:0`: ")));
}

#[test]
fn an_interrupt_keeps_what_there_is() {
    let asked = AtomicUsize::new(0);
    // The runner asks before each job, and the worker within it.
    let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 2;
    let done = TestRun::of(&plan(&["a", "b"], &["fake"]), WorkerScript::default(), 1, &stop);
    assert!(matches!(done.ended, Err(RunError::Interrupted)));
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
}

#[test]
fn each_repeat_has_workers_of_its_own_and_each_case_one_record() {
    let done = TestRun::of(&plan(&["a"], &["fake"]), WorkerScript::default(), 3, &|| false);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
    assert_eq!((done.script.started, done.script.ended, done.heard.records.len()), (3, 3, 6));
}

#[test]
fn a_repeat_that_fails_is_the_row_that_is_shown() {
    let script = WorkerScript { faults: vec![WorkerFault::Hangs("a")], ..WorkerScript::default() };
    let done = TestRun::of(&plan(&["a"], &["fake"]), script, 3, &|| false);
    assert_eq!(done.rows(), [invalid("a hot"), valid("a cold")]);
}

#[test]
fn skipped_and_broken_jobs_reach_no_worker() {
    let mut plan = plan(&["a", "b", "c"], &["fake"]);
    plan.jobs[0].1 = JobStatus::Skipped("too small".to_owned());
    plan.jobs[1].1 = JobStatus::Broken(Failure::new(Stage::Args, "no values"));
    let done = measured(&plan, &[]);
    assert_eq!(done.rows(), [invalid("b hot"), invalid("b cold"), valid("c hot"), valid("c cold")]);
    assert_eq!(done.run.skipped.len(), 1);
    assert_eq!(done.script.asked.len(), 2, "facts, and c");
}

/// What is measured again is measured by a new worker each time, and belongs to the row that is there already.
#[test]
fn what_is_measured_again_joins_its_row() {
    let all = plan(&["a", "b", "c"], &["fake"]);
    let mut seen = Vec::new();
    let mut again = |_: &Plan, run: &Run| {
        seen.push(run.records.iter().map(|record| record.remeasured).collect::<Vec<_>>());
        (seen.len() <= 2).then(|| plan(&["b"], &["fake"]))
    };
    let done = TestRun::with_again(setup(&all), &mut again, WorkerScript::default(), &config(1), &|| false);
    assert!(done.ended.is_ok());
    assert_eq!(done.rows(), ["a hot", "a cold", "b hot", "b cold", "c hot", "c cold"].map(valid));
    assert_eq!(seen, [[0; 6], [0, 0, 1, 1, 0, 0], [0, 0, 2, 2, 0, 0]]);
    let asked = |what: &str| -> Vec<usize> {
        done.script.asked.iter().filter(|(_, asked)| asked == what).map(|(worker, _)| *worker).collect()
    };
    assert_eq!((asked("a on fake"), asked("b on fake")), (vec![1], vec![1, 2, 3]));
    // Each record is reported, and thus stored, as it is made; rows are reported once.
    assert_eq!(done.heard.records.iter().filter(|record| *record == "b hot").count(), 3);
    assert_eq!(done.heard.rows, 3);
}

#[test]
fn no_worker_at_all_ends_the_run() {
    let stop = || false;
    let start = |_: &str| -> io::Result<Box<dyn Worker>> { Err(io::Error::other("no more processes")) };
    let supervisor = |warn| Supervisor::with_workers(Box::new(start), &stop, warn);
    let (setup, heard) = (setup(&plan(&["a"], &["fake"])), &mut Heard::default());
    let (run, _, ended) = measure(&supervisor, setup, &config(1), &mut |_, _| None, &|_| (), heard, &stop);
    assert!(run.records.is_empty());
    let error = ended.expect_err("nobody measures").to_string();
    assert_eq!(error, "cannot start a process to measure in: no more processes");
}
