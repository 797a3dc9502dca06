//! Has workers do what is asked, one request at a time: each device has a worker of its own. In: requests and what to do with
//! each reply; out: how the worker was lost, if it was, and how far it had come. The next request then gets a new one.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::worker::{Bench, Loss, Process, Reply, Request, Worker};
use gpubench_records::failure::{Failure, Stage, Step};

/// The process that plans and reports, towards those that measure.
pub(crate) struct Supervisor<'a> {
    /// By the device that each has open. A shared one has them all, and goes by no name.
    workers: BTreeMap<String, Box<dyn Worker>>,
    start: Start<'a>,
    /// One worker has all devices open.
    shared: bool,
    stop: &'a dyn Fn() -> bool,
}

/// Starts a worker.
type Start<'a> = Box<dyn FnMut() -> io::Result<Box<dyn Worker>> + 'a>;

/// Why nothing more can be asked.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The user wants to stop.
    Interrupted,
    /// No worker process can be started.
    NoWorker(io::Error),
}

/// How a worker was lost, and how far the case in progress had come: nowhere, where its device was not open yet.
#[derive(Debug)]
pub(crate) struct Lost {
    loss: Loss,
    step: Option<Step>,
}

impl Lost {
    /// Whether it was lost over its device, before the case itself began.
    pub(crate) fn before_the_case(&self) -> bool {
        self.step.is_none()
    }

    /// The failure that this is of the case in progress.
    pub(crate) fn failure(&self) -> Failure {
        let failure = Failure::new(Stage::Worker, &self.loss);
        match self.step {
            Some(step) => failure.at(step),
            None => failure,
        }
    }
}

impl<'a> Supervisor<'a> {
    /// Asks processes of their own, or this very one where `in_process`, until `stop` says otherwise.
    pub(crate) fn new(in_process: bool, stop: &'a dyn Fn() -> bool) -> Self {
        let start: Start<'a> = if in_process {
            Box::new(|| Ok(Box::new(Bench::for_all_devices())))
        } else {
            Box::new(|| Ok(Box::new(Process::start()?)))
        };
        Self { workers: BTreeMap::new(), start, shared: in_process, stop }
    }

    /// Asks workers that `start` starts, one for each device.
    #[cfg(test)]
    pub(crate) fn with_workers(start: Start<'a>, stop: &'a dyn Fn() -> bool) -> Self {
        Self { workers: BTreeMap::new(), start, shared: false, stop }
    }

    /// Whether the user wants to stop.
    pub(crate) fn stops(&self) -> bool {
        (self.stop)()
    }

    /// Asks the worker of the request's device, a new one where there is none. Returns how it was lost, if it was.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Option<Lost>, Ended> {
        let whose = self.whose(request.device().unwrap_or_default());
        let mut worker = match self.workers.remove(whose) {
            Some(worker) => worker,
            None => (self.start)().map_err(Ended::NoWorker)?,
        };
        let (mut step, mut device_lost) = (None, false);
        let asked = worker.ask(request, limit, self.stop, &mut |answer| match answer {
            Reply::Step(reached) => step = Some(reached),
            Reply::DeviceLost => device_lost = true,
            Reply::Record(record) => {
                // What is lost from here on is the next case.
                step = Some(Step::Preparation);
                reply(Reply::Record(record));
            }
            answer => reply(answer),
        });
        match asked {
            Ok(()) if device_lost => {
                worker.dismiss();
                Ok(None)
            }
            Ok(()) => {
                self.workers.insert(whose.to_owned(), worker);
                Ok(None)
            }
            Err(Loss::Interrupted) => Err(Ended::Interrupted),
            Err(_) if self.stops() => Err(Ended::Interrupted),
            Err(loss) => Ok(Some(Lost { loss, step })),
        }
    }

    /// The name by which the worker of a device is kept.
    fn whose<'d>(&self, device: &'d str) -> &'d str {
        if self.shared { "" } else { device }
    }

    /// Ends the worker of a device, which is of no more use.
    pub(crate) fn replace(&mut self, device: &str) {
        if let Some(worker) = self.workers.remove(self.whose(device)) {
            worker.dismiss();
        }
    }

    /// Ends all workers, which come to their own ends.
    pub(crate) fn dismiss(&mut self) {
        std::mem::take(&mut self.workers).into_values().for_each(<dyn Worker>::dismiss);
    }
}
