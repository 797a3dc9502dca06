//! Sends requests to workers, one at a time; each device has a worker of its own. In: a request and a
//! function for each reply. Out: the loss of the worker, if it was lost, and its last step. The next request
//! then gets a new worker.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io;
use std::time::Duration;

use crate::worker::{Libraries, Loss, Process, Reply, Request, Worker, WorkerState};
use gpubench_records::failure::{Failure, Stage, Step};

/// The link from the process that plans and reports to the workers that measure.
pub(crate) struct Supervisor<'a> {
    /// The workers, by the device that each has open. A shared worker has all devices open, under an empty
    /// name.
    workers: BTreeMap<String, KeptWorker>,
    start: Start<'a>,
    /// True if one worker has all devices open.
    shared: bool,
    stop: &'a dyn Fn() -> bool,
    /// Warnings of workers.
    remarks: Vec<String>,
}

/// A worker between two requests.
struct KeptWorker {
    worker: Box<dyn Worker>,
    /// True if it has done a job: that may have left something behind.
    is_used: bool,
}

/// Starts a worker.
type Start<'a> = Box<dyn FnMut() -> io::Result<Box<dyn Worker>> + 'a>;

/// The reason that no more requests are possible.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The user wants to stop.
    Interrupted,
    /// No worker process can be started.
    NoWorker(io::Error),
}

/// The loss of a worker, and the last step of the case in progress: `None` if its device was not open yet.
#[derive(Debug)]
pub(crate) struct Lost {
    loss: Loss,
    step: Option<Step>,
}

impl Lost {
    /// Returns true if it was lost while it opened its device, before the case itself began.
    pub(crate) fn before_the_case(&self) -> bool {
        self.step.is_none()
    }

    /// Returns true if it took longer than its limit.
    pub(crate) fn timed_out(&self) -> bool {
        matches!(self.loss, Loss::TimedOut(_) | Loss::Silent(_))
    }

    /// Returns this loss as a failure of the case in progress.
    pub(crate) fn failure(&self) -> Failure {
        let failure = Failure::new(Stage::Worker, &self.loss);
        match self.step {
            Some(step) => failure.at(step),
            None => failure,
        }
    }
}

impl Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.loss, f)
    }
}

impl<'a> Supervisor<'a> {
    /// Uses worker processes, or this process if `in_process`, until `stop` returns true.
    pub(crate) fn new(in_process: bool, libraries: Libraries, stop: &'a dyn Fn() -> bool) -> Self {
        let start: Start<'a> = if in_process {
            Box::new(|| Ok(Box::new(WorkerState::for_all_devices())))
        } else {
            Box::new(move || Ok(Box::new(Process::start(&libraries)?)))
        };
        Self { workers: BTreeMap::new(), start, shared: in_process, stop, remarks: Vec::new() }
    }

    /// Uses workers made by `start`, one for each device.
    #[cfg(test)]
    pub(crate) fn with_workers(start: Start<'a>, stop: &'a dyn Fn() -> bool) -> Self {
        Self { workers: BTreeMap::new(), start, shared: false, stop, remarks: Vec::new() }
    }

    /// Returns true if the user wants to stop.
    pub(crate) fn stops(&self) -> bool {
        (self.stop)()
    }

    /// Sends a request to the worker of its device, which is started if there is none. Returns the loss of
    /// the worker, if it was lost.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Option<Lost>, Ended> {
        let whose = self.whose(request.device().unwrap_or_default()).to_owned();
        let KeptWorker { mut worker, is_used } = match self.workers.remove(&whose) {
            Some(kept) => kept,
            None => KeptWorker { worker: (self.start)().map_err(Ended::NoWorker)?, is_used: false },
        };
        let is_used = is_used || request.is_job();
        let (mut step, mut is_spent) = (None, false);
        let shared = self.shared;
        let remarks = &mut self.remarks;
        let asked = worker.ask(request, limit, self.stop, &mut |answer| match answer {
            Reply::Step(reached) => {
                step = Some(reached);
                reply(Reply::Step(reached));
            }
            Reply::Remark(remark) => remarks.push(remark),
            Reply::DeviceLost => is_spent = true,
            // This process cannot be replaced.
            Reply::Changed => is_spent = !shared,
            Reply::Record(record) => {
                // A loss from here on belongs to the next case.
                step = Some(Step::Preparation);
                reply(Reply::Record(record));
            }
            answer => reply(answer),
        });
        match asked {
            Ok(()) if is_spent => {
                worker.dismiss();
                Ok(None)
            }
            Ok(()) => {
                self.workers.insert(whose, KeptWorker { worker, is_used });
                Ok(None)
            }
            Err(Loss::Interrupted) => Err(Ended::Interrupted),
            Err(_) if self.stops() => Err(Ended::Interrupted),
            Err(loss) => Ok(Some(Lost { loss, step })),
        }
    }

    /// Sends a request that has one answer, which `read` finds among the replies. Returns true with it if the worker took longer than
    /// its limit.
    pub(crate) fn answer<T>(
        &mut self,
        request: &Request,
        limit: Duration,
        read: &dyn Fn(Reply) -> Option<Result<T, Failure>>,
    ) -> Result<(Result<T, Failure>, bool), Ended> {
        let mut found = None;
        let lost = self.ask(request, limit, &mut |reply| match reply {
            Reply::NoDevice(message) => found = Some(Err(Failure::new(Stage::Device, message))),
            reply => found = read(reply).or_else(|| found.take()),
        })?;
        let timed_out = lost.as_ref().is_some_and(Lost::timed_out);
        let silent = || Failure::new(Stage::Worker, "sent no result");
        let found = found.unwrap_or_else(|| Err(lost.map_or_else(silent, |lost| lost.failure())));
        Ok((found, timed_out))
    }

    /// Takes the warnings of workers.
    pub(crate) fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// Returns the name under which the worker of a device is kept.
    fn whose<'d>(&self, device: &'d str) -> &'d str {
        if self.shared { "" } else { device }
    }

    /// Ends the worker of a device, which is no longer usable.
    pub(crate) fn replace(&mut self, device: &str) {
        if let Some(kept) = self.workers.remove(self.whose(device)) {
            kept.worker.dismiss();
        }
    }

    /// Returns true if the next request for a device goes to a worker that has done a job before.
    pub(crate) fn is_used(&self, device: &str) -> bool {
        self.workers.get(self.whose(device)).is_some_and(|kept| kept.is_used)
    }

    /// Lets all workers end by themselves.
    pub(crate) fn dismiss(&mut self) {
        std::mem::take(&mut self.workers).into_values().for_each(|kept| kept.worker.dismiss());
    }
}
