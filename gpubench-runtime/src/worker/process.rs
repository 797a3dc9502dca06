//! A worker seen from outside: started, asked, waited for, and ended. In: requests; out: its replies, or how it was lost.
//! It can be this very process too, for debuggers.

use std::env;
use std::fmt::{self, Display};
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::pipe::{answer_here, decode, send};
use super::{Bench, Reply, Request};

/// The first argument of a worker process.
pub const FLAG: &str = "--gpubench-worker";

/// How often a wait looks whether it is still wanted.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a worker that is done may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A worker that answers requests.
pub enum Worker {
    /// A process of its own.
    Process(Process),
    /// This process.
    Here(Box<Bench>),
}

/// A worker process and the pipes to it.
pub struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    replies: Receiver<io::Result<Reply>>,
}

/// How a worker was lost before it was done.
#[derive(Debug)]
pub enum Loss {
    /// Its process ended.
    Ended(ExitStatus),
    /// It took longer than it may, and was killed.
    TimedOut(Duration),
    /// It said something that is no reply.
    Garbled(io::Error),
    /// The user wants to stop.
    Interrupted,
}

impl Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => write!(f, "the process was ended by signal {}", signal_name(signal)),
                (None, Some(code)) => write!(f, "the process exited with code {code}"),
                (None, None) => write!(f, "the process ended"),
            },
            Self::TimedOut(limit) => {
                write!(
                    f,
                    "took longer than {} s, and was killed (--timeout sets the limit)",
                    limit.as_secs_f64()
                )
            }
            Self::Garbled(error) => write!(f, "the process said what is no reply: {error}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned)
}

impl Worker {
    /// Starts this program again as a worker.
    ///
    /// # Errors
    /// Where the system starts no process.
    pub fn start() -> io::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .arg(FLAG)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("the worker has no pipe");
        let requests = Some(child.stdin.take().ok_or_else(missing)?);
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let (sender, replies) = channel();
        thread::spawn(move || forward(stdout, &sender));
        Ok(Self::Process(Process { child, requests, replies }))
    }

    /// Ends a worker that has nothing left to do.
    pub fn dismiss(self) {
        if let Self::Process(process) = self {
            process.dismiss();
        }
    }

    /// Asks for `request` and hands each reply to `reply`, until it is done, `limit` has passed or `stop` says so.
    ///
    /// # Errors
    /// How the worker was lost. It is of no use then.
    pub fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), Loss> {
        match self {
            Self::Here(bench) => answer_here(bench, request, reply).map_err(Loss::Garbled),
            Self::Process(process) => process.ask(request, limit, stop, reply),
        }
    }
}

impl Process {
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), Loss> {
        let mut begin = Instant::now();
        let sent = self.requests.as_mut().map(|requests| send(requests, request));
        if !matches!(sent, Some(Ok(()))) {
            return Err(self.ended());
        }
        loop {
            match self.replies.recv_timeout(GLANCE) {
                Ok(Ok(Reply::Done)) => return Ok(()),
                Ok(Ok(answer)) => {
                    reply(answer);
                    // The limit is one case's, and the next begins now.
                    begin = Instant::now();
                }
                Ok(Err(error)) => return Err(Loss::Garbled(error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if stop() => return Err(Loss::Interrupted),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > limit => {
                    return Err(Loss::TimedOut(limit));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// How the process ended, now that its pipe is closed. One that closed the pipe and lives on is ended.
    fn ended(&mut self) -> Loss {
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(Some(status)) => return Loss::Ended(status),
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(error) => return Loss::Garbled(error),
            }
        }
        // Fails only if the process has ended by now, which the wait will tell.
        drop(self.child.kill());
        self.child.wait().map_or_else(Loss::Garbled, Loss::Ended)
    }
}

impl Process {
    /// Lets a worker that is idle come to its own end, which prints what is still in its buffers.
    fn dismiss(mut self) {
        // Having no more requests is what ends it.
        drop(self.requests.take());
        let deadline = Instant::now() + LAST_WORDS;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Process {
    /// No worker outlives its supervisor: one that is lost must not go on.
    fn drop(&mut self) {
        // Both fail only if the process has ended, which is what they are for.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads replies until the pipe closes.
fn forward(from: ChildStdout, to: &Sender<io::Result<Reply>>) {
    for line in BufReader::new(from).lines() {
        let reply = line.and_then(|line| decode(&line));
        if to.send(reply).is_err() {
            return;
        }
    }
}
