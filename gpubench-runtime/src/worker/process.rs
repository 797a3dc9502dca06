//! A worker process seen from outside: started, asked, waited for, and ended with everything that it started. In:
//! requests; out: its replies, or a [`Loss`].

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::message::{Numbered, decode, send};
use super::{Loss, Reply, Request, Worker};
use crate::system::children::{self, Family, Requests};
use gpubench_records::threads;

/// The first argument of a worker process.
pub const FLAG: &str = "--gpubench-worker";

/// The time between two checks if a wait is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// The longest time for a worker that is done to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The longest time for a worker that is asked to end, before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// The longest wait for a worker that was killed. The driver may hold it until a kernel is done.
const PATIENCE: Duration = Duration::from_secs(5);

/// The shared libraries that workers use, where their paths are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Libraries {
    /// The driver's, if a worker has found it.
    pub driver: Option<PathBuf>,
}

impl Libraries {
    /// Returns the variables of the environment that name those whose paths are known.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.driver.as_deref().map(|path| (gpubench_driver::VARIABLE, path)).into_iter()
    }
}

/// The longest time between the signal that ends a worker and the one that ends this process, where somebody signals both: a
/// scheduler signals all processes of a job, in any order.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(500);

/// The longest time for a worker to open its device, independent of the limit of a case: a kernel of a killed worker
/// may still be running.
const OPENING: Duration = Duration::from_secs(60);

/// A worker process with everything that it starts, and the channel to it.
pub(crate) struct Process {
    family: Family,
    requests: Requests,
    replies: Receiver<io::Result<Numbered<Reply>>>,
    /// The number of requests so far.
    asked: u64,
    /// True if the process was reaped, after which its number may belong to another.
    gone: bool,
}

impl Worker for Process {
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), Loss> {
        self.asked += 1;
        let number = self.asked;
        if send(&mut self.requests, &Numbered { number, message: request }).is_err() {
            return Err(self.lost(stop));
        }
        let mut begin = Instant::now();
        let (mut opened, mut allowed) = (false, limit.max(OPENING));
        loop {
            match self.replies.recv_timeout(GLANCE) {
                // Only a forked copy of the worker replies to an earlier request.
                Ok(Ok(reply)) if reply.number != number => {}
                Ok(Ok(Numbered { message: Reply::Done, .. })) => return Ok(()),
                Ok(Ok(Numbered { message: reply, .. })) => {
                    // The limit is per case. The first case begins with its first step, each other with the record
                    // before it. For a plan the limit is per list.
                    if !opened
                        || matches!(reply, Reply::Record(_) | Reply::Traced { .. } | Reply::Planning(_))
                    {
                        (begin, opened, allowed) = (Instant::now(), true, limit);
                    }
                    let is_last = matches!(reply, Reply::DeviceLost);
                    hear(reply);
                    if is_last {
                        return Ok(());
                    }
                }
                Ok(Err(error)) => return Err(Loss::Garbled(error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost(stop)),
                Err(RecvTimeoutError::Timeout) if stop() => return Err(Loss::Interrupted),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > allowed => {
                    return Err(if opened { Loss::TimedOut(allowed) } else { Loss::Silent(allowed) });
                }
                // A forked copy of the worker that lives on would keep the channel open.
                Err(RecvTimeoutError::Timeout) if self.family.has_ended() => return Err(self.lost(stop)),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Asks an idle worker to end by itself, so that it prints its buffered output.
    fn dismiss(mut self: Box<Self>) {
        // Fails if the worker is already ending.
        _ = send(&mut self.requests, &Numbered { number: self.asked + 1, message: Request::End });
        self.ends_within(LAST_WORDS);
    }
}

impl Process {
    /// Starts this program again as a worker. Its output goes to standard error. `libraries` has the path of the driver's library, for
    /// `interpose`: the worker must not search for the driver by its name.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a process.
    pub(crate) fn start(libraries: &Libraries) -> io::Result<Self> {
        let mut command = Command::new(children::this_program()?);
        command.arg(FLAG).envs(libraries.variables());
        let (family, requests, stream) = Family::start_with_channel(command)?;
        let (sender, replies) = channel();
        // Made first, so that the process is ended if there is no thread to listen to it.
        let process = Self { family, requests, replies, asked: 0, gone: false };
        threads::start("replies", move || forward(stream, &sender))?;
        Ok(process)
    }

    /// Returns the loss of the process. If somebody else ended it, waits a little for this process to be ended too: the loss is
    /// then no result of the case in progress.
    fn lost(&mut self, stop: &dyn Fn() -> bool) -> Loss {
        let loss = self.ended();
        let deadline = Instant::now() + BETWEEN_SIGNALS;
        while is_from_outside(&loss) && !stop() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        loss
    }

    /// Returns the way the process ended, after its channel closed. A worker that closed the channel and lives on is
    /// ended.
    fn ended(&mut self) -> Loss {
        self.ends_within(LAST_WORDS);
        self.end().map_or(Loss::Stays, Loss::Ended)
    }

    /// Ends the process and everything that it started, by force if needed. Returns the exit status if it ended.
    fn end(&mut self) -> Option<ExitStatus> {
        self.family.kill();
        let ended = self.ends_within(PATIENCE);
        self.gone = true;
        if ended { self.family.wait().ok() } else { None }
    }

    fn ends_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !self.family.has_ended() {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for Process {
    /// Ends the worker with its supervisor, together with everything that the worker started.
    fn drop(&mut self) {
        if !self.gone {
            if self.family.ask_to_end() {
                self.ends_within(GRACE);
            }
            self.end();
        }
    }
}

/// Returns true if the process was ended by what others send.
fn is_from_outside(loss: &Loss) -> bool {
    matches!(loss, Loss::Ended(status) if children::is_from_outside(*status))
}

/// Reads replies until the channel closes. One that is reset is closed too: its process ended with requests unread.
fn forward(from: impl Read, to: &Sender<io::Result<Numbered<Reply>>>) {
    for line in BufReader::new(from).lines() {
        let reply = match line {
            Err(error) if error.kind() != ErrorKind::InvalidData => return,
            line => line.and_then(|line| decode(&line)),
        };
        if to.send(reply).is_err() {
            return;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Reads what `says` writes before its end of the socket is closed with a request unread.
    fn heard(says: &[u8]) -> Vec<io::Result<Numbered<Reply>>> {
        let (mut ours, mut theirs) = UnixStream::pair().expect("a socket");
        ours.write_all(b"a request\n").expect("it is open");
        theirs.write_all(says).expect("it is open");
        drop(theirs);
        let (sender, replies) = channel();
        forward(ours, &sender);
        drop(sender);
        replies.iter().collect()
    }

    /// The reason for the loss is then how the process ended, and not that of the socket.
    #[test]
    fn a_worker_that_ends_before_it_reads_a_request_has_said_nothing_wrong() {
        assert!(heard(b"").is_empty());
        let mut done = Vec::new();
        send(&mut done, &Numbered { number: 7, message: Reply::Done }).expect("it takes everything");
        let replies = heard(&done);
        assert!(matches!(&replies[..], [Ok(Numbered { number: 7, .. })]), "{replies:?}");
        for garbled in [&b"no reply\n"[..], b"\xff\n"] {
            let replies = heard(garbled);
            assert!(matches!(&replies[..], [Err(_)]), "{replies:?}");
        }
    }
}
