//! The seam between the process that plans and the processes that measure. In: requests; out: replies, or a [`Loss`].

use std::fmt::{self, Display};
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::{Reply, Request, WorkerState};
use crate::system::children;

/// Answers requests. It is a process of its own, this very process (for debuggers), or a script (in tests).
pub(crate) trait Worker {
    /// Sends `request` and passes each reply to `hear`, until the request is done, a case takes longer than `limit`, or `stop`
    /// returns true.
    ///
    /// # Errors
    /// Returns a [`Loss`] if the worker was lost; it is of no use then.
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), Loss>;

    /// Ends a worker that has nothing left to do.
    fn dismiss(self: Box<Self>);
}

/// This process.
impl Worker for WorkerState {
    fn ask(
        &mut self,
        request: &Request,
        _: Duration,
        _: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), Loss> {
        self.answer(request, hear);
        Ok(())
    }

    fn dismiss(self: Box<Self>) {}
}

/// The reason why a worker was lost before it was done.
#[derive(Debug)]
pub(crate) enum Loss {
    /// Its process ended.
    Ended(ExitStatus),
    /// It took longer than its limit, and was killed.
    TimedOut(Duration),
    /// It did not even open its device, and was killed.
    Silent(Duration),
    /// It sent something that is no reply.
    Garbled(io::Error),
    /// It sends nothing more, and does not end though it was killed.
    Stays,
    /// The user asked to stop.
    Interrupted,
}

impl Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(status) => f.write_str(&children::end_in_words(*status)),
            Self::TimedOut(limit) => {
                write!(
                    f,
                    "took longer than {} s, and was killed (--timeout sets the limit)",
                    limit.as_secs_f64()
                )
            }
            Self::Silent(limit) => {
                write!(f, "took longer than {} s over its device, and was killed", limit.as_secs_f64())
            }
            Self::Garbled(error) => write!(f, "the process said what is no reply: {error}"),
            Self::Stays => f.write_str("the process was killed and does not end: the driver may hold it"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}
