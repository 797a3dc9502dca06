//! Has a worker do what is asked, one request at a time. In: requests and what to do with each reply; out: how the worker
//! was lost, if it was. The next request then gets a new one.

use std::io;
use std::time::Duration;

use crate::worker::{Loss, Reply, Request, Worker};

/// The process that plans and reports, towards the one that measures.
pub(crate) struct Supervisor<'a> {
    worker: Option<Worker>,
    in_process: bool,
    stop: &'a dyn Fn() -> bool,
}

/// Why nothing more can be asked.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The user wants to stop.
    Interrupted,
    /// No worker process can be started.
    NoWorker(io::Error),
}

impl<'a> Supervisor<'a> {
    /// One that asks until `stop` says otherwise, this very process where `in_process`.
    pub(crate) fn new(in_process: bool, stop: &'a dyn Fn() -> bool) -> Self {
        Self { worker: None, in_process, stop }
    }

    /// Whether the user wants to stop.
    pub(crate) fn stops(&self) -> bool {
        (self.stop)()
    }

    /// Asks the worker, a new one where there is none. Returns how it was lost, if it was.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Option<Loss>, Ended> {
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None if self.in_process => Worker::Here(Box::default()),
            None => Worker::start().map_err(Ended::NoWorker)?,
        };
        match worker.ask(request, limit, self.stop, reply) {
            Ok(()) => {
                self.worker = Some(worker);
                Ok(None)
            }
            Err(Loss::Interrupted) => Err(Ended::Interrupted),
            Err(_) if self.stops() => Err(Ended::Interrupted),
            Err(loss) => Ok(Some(loss)),
        }
    }

    /// Ends a worker whose device is of no more use to it.
    pub(crate) fn replace(&mut self) {
        self.worker = None;
    }

    /// Lets the worker come to its own end.
    pub(crate) fn dismiss(self) {
        if let Some(worker) = self.worker {
            worker.dismiss();
        }
    }
}
