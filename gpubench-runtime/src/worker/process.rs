//! A worker process seen from outside: started, asked, waited for, and ended with all that it has started. In: requests; out:
//! its replies, or how it was lost.

use std::env;
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::pipe::{decode, send};
use super::{Loss, Reply, Request, Worker};

/// The first argument of a worker process.
pub const FLAG: &str = "--gpubench-worker";

/// How often a wait looks whether it is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a worker that is done may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long one that is asked to end may take before it is killed.
const GRACE: Duration = Duration::from_millis(500);

/// How long one that is killed is waited for. The driver may hold it until a kernel is done.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a worker may take to open its device, whatever a case may take: a kernel of one that was killed may still be
/// running.
const OPENING: Duration = Duration::from_secs(60);

/// A worker process, which leads a group of all that it starts, and the socket to it.
pub(crate) struct Process {
    child: Child,
    group: Pid,
    requests: UnixStream,
    replies: Receiver<io::Result<Reply>>,
    /// Whether the system has told how it ended, and may give its number to another.
    gone: bool,
}

/// This very program, also where its file has been replaced since: a run is one build's.
fn program() -> io::Result<PathBuf> {
    let itself = Path::new("/proc/self/exe");
    if itself.exists() { Ok(itself.to_owned()) } else { env::current_exe() }
}

impl Worker for Process {
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), Loss> {
        if send(&mut self.requests, request).is_err() {
            return Err(self.ended());
        }
        let mut begin = Instant::now();
        let (mut opened, mut allowed) = (false, limit.max(OPENING));
        loop {
            match self.replies.recv_timeout(GLANCE) {
                Ok(Ok(Reply::Done)) => return Ok(()),
                Ok(Ok(Reply::DeviceLost)) => {
                    reply(Reply::DeviceLost);
                    return Ok(());
                }
                Ok(Ok(answer)) => {
                    // The limit is one case's. The first begins with its first step, each other with the record before it.
                    if !opened || matches!(answer, Reply::Record(_)) {
                        (begin, opened, allowed) = (Instant::now(), true, limit);
                    }
                    reply(answer);
                }
                Ok(Err(error)) => return Err(Loss::Garbled(error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if stop() => return Err(Loss::Interrupted),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > allowed => {
                    return Err(if opened { Loss::TimedOut(allowed) } else { Loss::Silent(allowed) });
                }
                // A copy of it that lives on, as a fork leaves it, would keep the socket open.
                Err(RecvTimeoutError::Timeout) if self.has_ended() => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Lets a worker that is idle come to its own end, which prints what is still in its buffers.
    fn dismiss(mut self: Box<Self>) {
        // Fails where it is about to end without being told.
        _ = send(&mut self.requests, &Request::End);
        self.ends_within(LAST_WORDS);
    }
}

impl Process {
    /// Starts this program again as a worker. What it prints goes to standard error.
    ///
    /// # Errors
    /// Where the system starts no process.
    pub(crate) fn start() -> io::Result<Self> {
        let (requests, theirs) = UnixStream::pair()?;
        let mut command = Command::new(program()?);
        command.arg(FLAG).stdin(OwnedFd::from(theirs)).stdout(io::stderr()).process_group(0);
        if let Some(name) = env::args_os().next() {
            command.arg0(name);
        }
        let child = command.spawn()?;
        // The command has a copy of the worker's end, which must go for its end to be seen.
        drop(command);
        let group = Pid::from_child(&child);
        let stream = requests.try_clone()?;
        let (sender, replies) = channel();
        thread::spawn(move || forward(stream, &sender));
        Ok(Self { child, group, requests, replies, gone: false })
    }

    /// How the process ended, now that it says nothing more. One that closed the socket and lives on is ended.
    fn ended(&mut self) -> Loss {
        self.ends_within(LAST_WORDS);
        self.end().map_or(Loss::Stays, Loss::Ended)
    }

    /// Ends the process and all that it has started, those that do not listen too. How it ended, if it did.
    fn end(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::KILL);
        let ended = self.ends_within(PATIENCE);
        self.gone = true;
        if ended { self.child.wait().ok() } else { None }
    }

    /// Whether the process has ended. It is kept from being forgotten, so that its group's number stays its own.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that somebody has waited for it already.
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    fn ends_within(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !self.has_ended() {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// To the process and to all that it has started and that has not left its group.
    fn signal(&self, signal: Signal) {
        // Fails only where nobody is left.
        _ = kill_process_group(self.group, signal);
    }
}

impl Drop for Process {
    /// No worker outlives its supervisor, and nothing that one has started outlives it.
    fn drop(&mut self) {
        if !self.gone {
            self.signal(Signal::TERM);
            self.ends_within(GRACE);
            self.end();
        }
    }
}

/// Reads replies until the socket closes.
fn forward(from: UnixStream, to: &Sender<io::Result<Reply>>) {
    for line in BufReader::new(from).lines() {
        let reply = line.and_then(|line| decode(&line));
        if to.send(reply).is_err() {
            return;
        }
    }
}
