//! The threads of a run, and the order of jobs on them. Each thread owns the worker of one device, so that devices are measured at the same
//! time. It forwards requests to the worker and sends its replies. If a worker exits, one case fails, and a new worker measures the rest. A
//! case that fails is tried once more, in a new worker, before its failure is a result.
//!
//! Jobs that share nothing run concurrently, one on each device. Of the jobs that share a link, one runs at a time. Jobs that share the
//! machine run alone, after all others.

use std::thread::{self, Builder, Scope};
use std::{io, time::Duration};

use super::supervisor::{ShowWarning, Supervisor};
use super::{RunConfig, RunError, lister::device_info, single_cases::ConfirmedFailures};
use gpubench_records::threads::{self, Receiver, Sender, channel};
use gpubench_records::{Cache, DeviceInfo, Failure, Reason, Record, Stage};
use gpubench_runtime::worker::{MeasureRequest, Reply, Request};
use gpubench_runtime::{Job, SharedResource, device::Available};
use gpubench_stats::{Bytes, Map};

#[cfg(feature = "verify")]
pub(super) mod traces;

/// The stack size of a device thread, 8 MiB. With `--in-process`, user code runs on it and expects the stack of a
/// main thread.
const STACK_BYTES: usize = 8 << 20;
/// The time limit for write detection: its launches on unexpected values may hang. After it, nothing is known about the writes.
const WRITE_DETECTION_LIMIT: Duration = Duration::from_secs(10);
/// The number of consecutive processes that fail to open a device before its cases fail. The first process
/// may have lost the device itself.
const MAX_OPEN_ATTEMPTS: usize = 2;
/// Creates the supervisor for the workers of one device thread, from the function that shows its warnings.
pub(super) type MakeSupervisor<'a> = dyn Fn(ShowWarning<'a>) -> Supervisor<'a> + Sync + 'a;

/// A reply of the thread with this number. An error ends the request.
type ThreadReply = (usize, Result<Reply, RunError>);

/// The threads of a run, each known by its number from 0, and the channels to and from them.
pub(super) struct DeviceThreads {
    /// The channel of requests to each thread.
    requests: Vec<Sender<Request>>,
    /// The channel of replies from all threads.
    replies: Receiver<ThreadReply>,
    /// The number of the thread of each device.
    by_device: Map<String, usize>,
}

impl DeviceThreads {
    /// Starts a thread for each of `devices`, or one for all of them if they are measured in this process.
    ///
    /// # Errors
    /// Returns an error if the system has no more threads.
    pub(super) fn start<'scope, 'a: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        devices: &[Available],
        config: &'scope RunConfig,
        supervisor: &'scope MakeSupervisor<'a>,
    ) -> Result<Self, RunError> {
        let (sender, replies) = channel();
        let count = if config.settings.in_process { 1 } else { devices.len().max(1) };
        let mut requests = Vec::with_capacity(count);
        for number in 0..count {
            let (request, wanted) = channel();
            let sender = sender.clone();
            let run = move || {
                let warnings = sender.clone();
                let warn = move |warning| _ = warnings.send((number, Ok(Reply::Remark(warning))));
                let supervisor = supervisor(Box::new(warn));
                let (open_failures, confirmed) = (Map::default(), ConfirmedFailures::default());
                DeviceThread { supervisor, config, open_failures, confirmed, number, replies: sender }
                    .run(&wanted);
            };
            Builder::new()
                .name(format!("device {number}"))
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, run)
                .map_err(|error| RunError::NoWorker(threads::not_started(&error)))?;
            requests.push(request);
        }
        let numbered = devices.iter().enumerate();
        let by_device =
            numbered.map(|(index, device)| (device.device.clone(), index.min(count - 1))).collect();
        Ok(Self { requests, replies, by_device })
    }

    /// Returns the number of threads.
    pub(super) fn count(&self) -> usize {
        self.requests.len()
    }

    /// Returns the number of the thread of a device; 0 for a device that has none.
    pub(super) fn thread_of(&self, device: &str) -> usize {
        self.by_device.get(device).copied().unwrap_or_default()
    }

    /// Sends a request to a thread, which must have completed its previous request.
    pub(super) fn send(&self, thread: usize, request: Request) {
        // Fails only if the thread has panicked, which ends the run.
        _ = self.requests[thread].send(request);
    }

    /// Waits for the next reply of any thread.
    ///
    /// # Errors
    /// Returns an error if no thread is left.
    pub(super) fn next_reply(&self) -> Result<ThreadReply, RunError> {
        let none = |_| RunError::NoWorker(io::Error::other("no thread is left that measures"));
        self.replies.receive(None).map_err(none)
    }

    /// Sends a request to a thread while all others are idle, and calls `hear` with each reply until the request is done.
    pub(super) fn ask(
        &self,
        thread: usize,
        request: Request,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), RunError> {
        self.send(thread, request);
        loop {
            match self.next_reply()?.1? {
                Reply::Done => return Ok(()),
                reply => hear(reply),
            }
        }
    }
}

/// The thread of a device: owns its worker, and counts failures.
struct DeviceThread<'a> {
    supervisor: Supervisor<'a>,
    config: &'a RunConfig,
    /// Devices that could not be opened, the reasons, and the number of consecutive processes that failed to open each.
    open_failures: Map<String, (String, usize)>,
    /// The number of cases of each benchmark that have failed twice.
    confirmed: ConfirmedFailures,
    number: usize,
    replies: Sender<ThreadReply>,
}

/// The records of a job during its first attempt and the retry of failed cases.
struct JobAttempts<'a> {
    /// The properties of the device, which decide whether the declared work is in doubt.
    info: &'a DeviceInfo,
    reply: &'a dyn Fn(Reply),
    /// True during the first attempt, if failed cases can be retried.
    may_retry: bool,
    /// Failures of the first attempt that the retry has not measured yet.
    failed: Vec<Record>,
    confirmed: ConfirmedFailures,
    /// Records whose launch wrote less than it declares, with the number of bytes that write detection must
    /// find.
    in_doubt: Vec<(Record, Bytes)>,
}

impl JobAttempts<'_> {
    /// Sends a final record to the run. Keeps a failure that will be retried, unless it `is_final`, and a
    /// record whose declared work is in doubt. Adds the first failure to the record of a retry.
    fn accept(&mut self, mut record: Record, is_final: bool) {
        let is_same = |first: &Record| first.case.cache == record.case.cache;
        if let Some(failure) = record.failure()
            && self.may_retry
            && !is_final
            && !self.confirmed.need_no_retry(&record.case.benchmark, failure)
        {
            return self.failed.push(record);
        }
        if let Some(index) = self.failed.iter().position(is_same)
            && let Some(failure) = self.failed.swap_remove(index).failure()
        {
            if record.failure().is_some() {
                self.confirmed.add(&record.case.benchmark, failure);
            }
            record.set_first_failure(failure);
        }
        match record.declared_work_in_doubt(self.info).filter(|_| record.failure().is_none()) {
            Some(enough) => self.in_doubt.push((record, enough)),
            None => (self.reply)(Reply::Record(Box::new(record))),
        }
    }
}

impl DeviceThread<'_> {
    /// Answers requests until the run drops their sender.
    fn run(mut self, requests: &Receiver<Request>) {
        for request in requests.messages() {
            let done = match request {
                Request::DeviceInfo { device, .. } => device_info(&mut self.supervisor, self.config, &device)
                    .map(|answer| {
                        self.send(Ok(answer.map_or_else(Reply::NoDevice, Reply::DeviceInfo)));
                    }),
                Request::Measure(request) => self.measure_job(&request),
                _ => {
                    self.supervisor.dismiss();
                    Ok(())
                }
            };
            self.send(done.map(|()| Reply::Done));
        }
        self.supervisor.dismiss();
    }

    /// Sends a reply to the run, which may have ended.
    fn send(&self, reply: Result<Reply, RunError>) {
        _ = self.replies.send((self.number, reply));
    }

    /// Measures a job, and retries failed cases in a new worker. Before it sends records of launches that
    /// seem to write less than they declare, detects the writes of the job.
    fn measure_job(&mut self, request: &MeasureRequest) -> Result<(), RunError> {
        let (number, replies, job) = (self.number, self.replies.clone(), &request.job);
        let reply = move |reply| _ = replies.send((number, Ok(reply)));
        let record = |record| reply(Reply::Record(Box::new(record)));
        let (failed, in_doubt) = (Vec::new(), Vec::new());
        let may_retry = !self.config.settings.in_process;
        let confirmed = std::mem::take(&mut self.confirmed);
        let mut attempts =
            JobAttempts { info: &request.info, reply: &reply, may_retry, failed, confirmed, in_doubt };
        let mut ended = self.measure_cases(request, job.caches.clone(), &mut attempts);
        let can_open = self.open_failure(&job.device).is_none();
        if ended.is_ok() && !attempts.failed.is_empty() && can_open {
            attempts.may_retry = false;
            self.supervisor.dismiss_worker_of(&job.device);
            let caches = attempts.failed.iter().map(|record| record.case.cache).collect();
            ended = self.measure_cases(request, caches, &mut attempts);
        }
        self.confirmed = std::mem::take(&mut attempts.confirmed);
        // After an interrupt the second try is missing: the run that resumes this one measures these cases again.
        if !matches!(ended, Err(RunError::Interrupted)) {
            attempts.failed.into_iter().for_each(record);
        }
        let enough = attempts.in_doubt.iter().map(|(_, enough)| *enough).max_by_key(|enough| enough.0);
        let changed = match enough.filter(|_| ended.is_ok()) {
            None => Ok(None),
            Some(enough) => self.detect_writes(job, enough),
        };
        for (mut doubtful, _) in attempts.in_doubt {
            doubtful.set_changed_when_altered(*changed.as_ref().unwrap_or(&None), &request.info);
            record(doubtful);
        }
        ended.and(changed.map(drop))
    }

    /// Returns the reason if no worker can open a device. `None` until [`MAX_OPEN_ATTEMPTS`] consecutive processes have failed to.
    fn open_failure(&self, device: &str) -> Option<&String> {
        self.open_failures.get(device).filter(|(_, times)| *times >= MAX_OPEN_ATTEMPTS).map(|(why, _)| why)
    }

    /// Measures the cases of a job with these cache states, in as many workers as needed: a worker that exits
    /// fails one case. Passes all records to `attempts`.
    fn measure_cases(
        &mut self,
        request: &MeasureRequest,
        caches: Vec<Cache>,
        attempts: &mut JobAttempts<'_>,
    ) -> Result<(), RunError> {
        let mut job = request.job.clone().with_caches(caches);
        while !job.caches.is_empty() {
            if let Some(why) = self.open_failure(&job.device) {
                let failure = Failure::new(Stage::Device, why);
                let failed = |cache: &Cache| Record::failed(job.case(*cache), failure.clone());
                job.caches.iter().for_each(|cache| attempts.accept(failed(cache), true));
                return Ok(());
            }
            let asked = Request::Measure(Box::new(MeasureRequest { job: job.clone(), ..request.clone() }));
            let (before, is_used) = (job.caches.len(), self.supervisor.has_run_benchmark(&job.device));
            let (mut refused, mut sampled) = (None, Vec::<Record>::new());
            #[cfg(feature = "verify")]
            let mut traces = traces::Traces::default();
            let ended = self.supervisor.ask(&asked, request.limit, &mut |reply| match reply {
                Reply::Sampled(record) => sampled.push(*record),
                Reply::Record(record) => {
                    sampled.retain(|sampled| sampled.case.cache != record.case.cache);
                    job.caches.retain(|cache| *cache != record.case.cache);
                    #[cfg(feature = "verify")]
                    if request.verify {
                        return traces.await_trace(*record);
                    }
                    attempts.accept(*record, false);
                }
                #[cfg(feature = "verify")]
                Reply::Traced { cache, pass } => traces.add(cache, pass),
                Reply::NoDevice(message) => refused = Some(message),
                Reply::Step(_) => (attempts.reply)(reply),
                _ => {}
            });
            #[cfg(feature = "verify")]
            {
                if traces.was_traced {
                    self.supervisor.dismiss_worker_of(&job.device);
                }
                let lost = ended.as_ref().ok().and_then(Option::as_ref);
                traces.into_records(lost).into_iter().for_each(|record| attempts.accept(record, false));
            }
            let lost = ended?;
            if let Some(lost) = lost.as_ref().filter(|lost| lost.step.is_none()) {
                refused = Some(lost.to_string());
            }
            if let Some(why) = refused {
                self.supervisor.dismiss_worker_of(&job.device);
                let times = self.open_failures.get(&job.device).map_or(1, |(_, times)| times + 1);
                self.open_failures.insert(job.device.clone(), (why, times));
                continue;
            }
            self.open_failures.remove(&job.device);
            // A case that reached its limit in a new worker would reach it again.
            let is_final = lost.as_ref().is_some_and(|lost| lost.timed_out() && !is_used);
            let failure = match lost {
                Some(lost) => lost.failure(),
                // The device was lost after a case. A new worker measures the others.
                None if job.caches.len() < before => continue,
                None => Failure::new(Stage::Worker, "sent no result"),
            };
            let has_samples = |cache: &Cache| sampled.iter().any(|record| record.case.cache == *cache);
            if let Some(index) = job.caches.iter().position(|cache| !has_samples(cache)) {
                // The next worker also samples the other cases, whose launches after the samples did not run.
                let cache = job.caches.remove(index);
                attempts.accept(Record::failed(job.case(cache), failure), is_final);
                continue;
            }
            job.caches.clear();
            for mut record in sampled {
                record.verdict.add([Reason::FailedAfterwards(failure.clone())]);
                attempts.accept(record, is_final);
            }
        }
        Ok(())
    }

    /// Returns the size of the memory that launches of `job` change if it contains other values than before, up to `enough`. `None` if that is
    /// not known. Such launches may access invalid memory, so they run in a worker that exits afterwards. With `--in-process` there are none.
    fn detect_writes(&mut self, job: &Job, enough: Bytes) -> Result<Option<Bytes>, RunError> {
        if self.config.settings.in_process {
            return Ok(None);
        }
        let request = Request::Writes { job: job.clone(), enough };
        let mut changed = None;
        let limit = self.config.limit(job).min(WRITE_DETECTION_LIMIT);
        let lost = self.supervisor.ask(&request, limit, &mut |reply| {
            if let Reply::Writes(found) = reply {
                changed = found;
            }
        })?;
        self.supervisor.dismiss_worker_of(&job.device);
        Ok(changed.filter(|_| lost.is_none()))
    }
}

impl Drop for DeviceThread<'_> {
    /// Ends the wait for a thread that panics. The panic goes on where the threads are joined.
    fn drop(&mut self) {
        if thread::panicking() {
            self.send(Err(RunError::NoWorker(io::Error::other("its thread panicked"))));
        }
    }
}

/// The properties of a job that decide when it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduled {
    /// The index of the job in the plan.
    pub number: usize,
    /// The number of the thread that measures it.
    pub thread: usize,
    /// The number of its group, which the plan's order determines: jobs that differ only in their device have the same.
    pub group: usize,
    /// The resource that it shares with jobs on other devices: nothing, the link between host and devices, or the whole machine.
    pub shares: SharedResource,
}

impl Scheduled {
    /// Returns true if both jobs can run at the same time: on different threads, without a shared machine or link.
    fn can_run_alongside(&self, other: &Self) -> bool {
        let both = self.shares.max(other.shares);
        let both_on_link = self.shares == SharedResource::Link && other.shares == SharedResource::Link;
        self.thread != other.thread && both != SharedResource::Machine && !both_on_link
    }
}

/// The jobs that have not begun, and those in progress.
pub(super) struct Schedule {
    waiting: Vec<Scheduled>,
    pub running: Vec<Scheduled>,
}

impl Schedule {
    /// Schedules `jobs` on this many threads: first those that share a link, then those that share nothing, then those that share the machine,
    /// each in the order of their groups. On one thread, all are in the order of their groups.
    pub(super) fn new(mut jobs: Vec<Scheduled>, threads: usize) -> Self {
        let rank = |shares| match shares {
            _ if threads < 2 => 0,
            // First: at the end other devices would have to wait for the link.
            SharedResource::Link => 0,
            SharedResource::Nothing => 1,
            _ => 2,
        };
        gpubench_stats::sort_by_key(&mut jobs, |job| (rank(job.shares), job.group));
        Self { waiting: jobs, running: Vec::new() }
    }

    /// Moves the next job that can run alongside the jobs in progress from the waiting to the running jobs,
    /// and returns it. Returns `None` if no job can begin now.
    pub(super) fn begin_next(&mut self) -> Option<Scheduled> {
        let may_begin = |job: &Scheduled| self.running.iter().all(|other| job.can_run_alongside(other));
        let next = self.waiting.remove(self.waiting.iter().position(may_begin)?);
        self.running.push(next);
        Some(next)
    }

    /// Ends a job in progress. Returns true if it was the last of its group.
    pub(super) fn end_job(&mut self, job: Scheduled) -> bool {
        self.running.retain(|other| other.number != job.number);
        self.waiting.iter().chain(&self.running).all(|other| other.group != job.group)
    }

    /// Returns the job in progress on a thread; `None` if the thread has none.
    pub(super) fn running_on(&self, thread: usize) -> Option<Scheduled> {
        self.running.iter().find(|job| job.thread == thread).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows on two threads, in the order of devices, of which the second is a transfer and the third one of the CPU.
    fn jobs() -> Vec<Scheduled> {
        let shares =
            [SharedResource::Nothing, SharedResource::Link, SharedResource::Machine, SharedResource::Nothing];
        let job = move |thread, group: usize| Scheduled {
            number: 4 * thread + group,
            thread,
            group,
            shares: shares[group],
        };
        (0..2).flat_map(|thread| (0..4).map(move |group| job(thread, group))).collect()
    }

    /// The jobs that are in progress together, until all are done.
    fn steps(mut schedule: Schedule) -> Vec<Vec<usize>> {
        let mut steps = Vec::new();
        loop {
            let together: Vec<Scheduled> = std::iter::from_fn(|| schedule.begin_next()).collect();
            if together.is_empty() {
                return steps;
            }
            together.iter().for_each(|job| _ = schedule.end_job(*job));
            steps.push(together.iter().map(|job| job.number).collect());
        }
    }

    #[test]
    fn jobs_run_side_by_side_transfers_one_at_a_time_and_the_cpus_alone() {
        let schedule = Schedule::new(jobs(), 2);
        assert_eq!(steps(schedule), [vec![1, 4], vec![5, 0], vec![3, 7], vec![2], vec![6]]);
    }

    #[test]
    fn jobs_that_all_run_alone_are_in_the_order_of_rows() {
        let alone: Vec<_> =
            jobs().into_iter().map(|job| Scheduled { shares: SharedResource::Machine, ..job }).collect();
        assert_eq!(steps(Schedule::new(alone, 2)), [[0], [4], [1], [5], [2], [6], [3], [7]]);
    }

    #[test]
    fn one_lane_measures_in_the_order_of_the_plan() {
        let jobs: Vec<_> = jobs().into_iter().filter(|job| job.thread == 0).collect();
        assert_eq!(steps(Schedule::new(jobs, 1)), [[0], [1], [2], [3]]);
    }

    /// A thread that is done early waits for the others before anything runs alone.
    #[test]
    fn nothing_begins_alongside_a_job_that_runs_alone() {
        let (mut schedule, all) = (Schedule::new(jobs(), 2), jobs());
        let next = |schedule: &mut Schedule| schedule.begin_next().map(|job| job.number);
        assert_eq!([next(&mut schedule), next(&mut schedule), next(&mut schedule)], [Some(1), Some(4), None]);
        assert!(!schedule.end_job(all[4]));
        assert_eq!(next(&mut schedule), Some(7), "the link is not free");
        assert!(!schedule.end_job(all[1]) && !schedule.end_job(all[7]));
        assert_eq!([next(&mut schedule), next(&mut schedule), next(&mut schedule)], [Some(5), Some(0), None]);
        assert!(schedule.end_job(all[5]), "job 1 was the other one of its group");
        assert_eq!(next(&mut schedule), None, "thread 0 is still at work");
        assert!(schedule.end_job(all[0]));
        assert_eq!([next(&mut schedule), next(&mut schedule)], [Some(3), None]);
        assert!(schedule.end_job(all[3]));
        assert_eq!([next(&mut schedule), next(&mut schedule)], [Some(2), None]);
        assert!(!schedule.end_job(all[2]));
        assert_eq!([next(&mut schedule), schedule.running_on(1).map(|job| job.number)], [Some(6); 2]);
        assert!(schedule.end_job(all[6]) && schedule.running.is_empty());
    }
}
