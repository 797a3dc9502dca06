//! Workers that answer by a function, and records with a measurement for them to send.

use std::path::Path;

use super::*;
use gpubench_records::{Measurement, files::read};

/// What a worker replies to a request, and how it is lost over it, if it is.
pub(super) type Replies = (Vec<Reply>, Option<WorkerExit>);

/// The replies to each request, the first of which has the number 1.
type ReplyScript = dyn Fn(usize, &Request) -> Replies + Send + Sync;

/// Workers by a script, and what they were asked for, each time with the number of the worker.
pub(super) struct Scripted {
    script: Box<ReplyScript>,
    started: AtomicUsize,
    /// The number of workers that ended by themselves.
    ended: AtomicUsize,
    asked: Mutex<Vec<(usize, Request)>>,
}

struct ScriptedWorker {
    number: usize,
    scripted: Arc<Scripted>,
}

impl Scripted {
    pub(super) fn by(script: impl Fn(usize, &Request) -> Replies + Send + Sync + 'static) -> Arc<Self> {
        let (started, ended, asked) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { script: Box::new(script), started, ended, asked })
    }

    pub(super) fn supervisor<'a>(
        self: &Arc<Self>,
        stop: &'a Stop<'a>,
        warn: ShowWarning<'a>,
    ) -> Supervisor<'a> {
        let scripted = Arc::clone(self);
        let start = move |_: &str| -> io::Result<Box<dyn Worker>> {
            let number = scripted.started.fetch_add(1, Ordering::SeqCst) + 1;
            Ok(Box::new(ScriptedWorker { number, scripted: Arc::clone(&scripted) }))
        };
        Supervisor::with_workers(Box::new(start), stop, warn)
    }

    pub(super) fn asked(&self) -> Vec<(usize, Request)> {
        self.asked.lock().expect("nobody panics with it").clone()
    }

    /// Returns the numbers of workers that were started and that were let end by themselves.
    pub(super) fn lives(&self) -> [usize; 2] {
        [&self.started, &self.ended].map(|count| count.load(Ordering::SeqCst))
    }

    /// Returns the number of the worker of each request.
    pub(super) fn workers(&self) -> Vec<usize> {
        self.asked().iter().map(|(worker, _)| *worker).collect()
    }
}

impl Worker for ScriptedWorker {
    fn ask(
        &mut self,
        request: &Request,
        _: Duration,
        _: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerExit> {
        let mut asked = self.scripted.asked.lock().expect("nobody panics with it");
        asked.push((self.number, request.clone()));
        let (replies, lost) = (self.scripted.script)(asked.len(), request);
        replies.into_iter().for_each(hear);
        lost.map_or(Ok(()), Err)
    }

    fn dismiss(self: Box<Self>) {
        self.scripted.ended.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns the first measurement of a recorded run.
pub(in crate::runner) fn measurement(run: &str) -> Measurement {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parsing/corpus/runs");
    let stored =
        read(std::fs::File::open(folder.join(run)).expect("it is there")).expect("a recorded run").run;
    stored.records.into_iter().find_map(|record| record.measurement).expect("one was measured")
}

/// Returns the job of a benchmark on `fake`, hot.
pub(super) fn job(benchmark: &str) -> Job {
    let mut job = plan(&[benchmark], &["fake"]).jobs.remove(0).0;
    job.caches = vec![Cache::Hot];
    job
}

/// Returns a valid record of the one case of a job.
pub(in crate::runner) fn record(job: &Job, measurement: Measurement) -> Record {
    Record::new(job.case(job.caches[0]), Some(measurement), Verdict::of(Vec::new()))
}

pub(super) fn failed(stage: Stage) -> Failure {
    Failure::new(stage, "out of paper")
}

pub(super) fn killed() -> WorkerExit {
    WorkerExit::Exited(ExitStatus::from_raw(9))
}
