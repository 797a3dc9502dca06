//! Sends requests to workers, one at a time. Each device has its own worker: a process of this program, or this process itself
//! with `--in-process`. After a worker exits, the next request starts a new one.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError, mpsc::RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{os::unix::net::UnixStream, path::PathBuf, thread};

use super::RunError;
use crate::system::{self, ProcessGroup};
use gpubench_records::threads::{self, Receiver, Sender, channel};
use gpubench_records::{DeviceId, Failure, Stage, Step};
use gpubench_runtime::worker::{FLAG, Reply, Request, WorkerState, read_reply, send_request};
use gpubench_stats::Map;

/// The time between two checks for a signal and for the end of the worker.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The longest wait for an idle worker that was asked to exit, and for one whose channel has closed. After it, the worker is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest time until a worker exits after SIGTERM, before it is killed.
const TERMINATE_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest wait for a worker that was killed. The driver may block its exit until a kernel is done.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest wait, after an external signal ended a worker, for a signal to this process: a scheduler
/// signals all processes of a job in any order. If none comes, the worker's exit counts as a failure of its
/// case.
const MAX_SIGNAL_DELAY: Duration = Duration::from_millis(500);
/// The longest time for a worker to open its device, unless the limit of a case is longer: the device may
/// still run a kernel of a killed worker.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

/// Answers requests: a worker process, this process with `--in-process`, or a script in tests.
pub(crate) trait Worker {
    /// Sends `request` and calls `hear` with each reply, until the request is done. A worker process is killed if a case takes longer
    /// than `limit` or if `stop` returns true; a worker in this process ignores both.
    ///
    /// # Errors
    /// Returns a [`WorkerExit`] if the worker exited or was killed; it cannot be used after that.
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerExit>;

    /// Asks an idle worker to exit, and waits briefly until it has.
    fn dismiss(self: Box<Self>);
}

impl Worker for WorkerState {
    fn ask(
        &mut self,
        request: &Request,
        _: Duration,
        _: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerExit> {
        self.answer(request, hear);
        Ok(())
    }

    fn dismiss(self: Box<Self>) {}
}

/// The reason why a worker exited or was killed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerExit {
    /// Its process exited.
    #[error("{}", system::describe_exit(*.0))]
    Exited(ExitStatus),
    /// It took longer than its limit, and was killed.
    #[error("took longer than {} s, and was killed (--timeout sets the limit)", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It sent an invalid reply.
    #[error("its process sent an invalid reply: {0}")]
    InvalidReply(io::Error),
    /// It was killed and has not exited.
    #[error("its process was killed and has not ended: the driver may hold it")]
    StillRunning,
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// A worker that exited or was killed before its request was done.
#[derive(Debug, thiserror::Error)]
#[error("{exit}")]
pub(crate) struct LostWorker {
    exit: WorkerExit,
    /// The last step of the case in progress; `None` if the device was not open yet.
    pub step: Option<Step>,
}

/// The text after the failure of a worker that crashed: how to find the place.
const CRASH_REMEDY: &str = ": to find the place, run `gdb --args PROGRAM --bench --in-process NAME` with the program that `cargo bench --no-run` prints";

impl LostWorker {
    /// Returns true if it took longer than its limit.
    pub(crate) fn timed_out(&self) -> bool {
        matches!(self.exit, WorkerExit::TimedOut(_))
    }

    /// Returns the failure of the case in progress.
    pub(crate) fn failure(&self) -> Failure {
        let is_crash = matches!(self.exit, WorkerExit::Exited(status) if system::is_crash(status));
        let remedy = if is_crash { CRASH_REMEDY } else { "" };
        let mut failure = Failure::new(Stage::Worker, format_args!("{}{remedy}", self.exit));
        failure.step = self.step;
        failure
    }
}

/// Starts a worker for the device of this name. The worker has no device open yet.
type StartWorker<'a> = Box<dyn FnMut(&str) -> io::Result<Box<dyn Worker>> + 'a>;
/// Called with each warning of a worker, to show it.
pub(crate) type ShowWarning<'a> = Box<dyn FnMut(String) + 'a>;

/// The workers of the devices, which it starts when they are needed, and replaces after they exit.
pub(crate) struct Supervisor<'a> {
    /// The worker of each device, and true if it has run a benchmark, which may have changed the state of the
    /// process. The key of a shared worker is empty.
    workers: Map<String, (Box<dyn Worker>, bool)>,
    start: StartWorker<'a>,
    /// True if one worker has all devices open: this process, with `--in-process`.
    is_shared: bool,
    stop: &'a dyn Fn() -> bool,
    warn: ShowWarning<'a>,
}

impl<'a> Supervisor<'a> {
    /// Uses worker processes that `starter` starts, or this process if `in_process`, until `stop` returns true.
    pub(crate) fn new(
        in_process: bool,
        starter: WorkerStarter,
        stop: &'a dyn Fn() -> bool,
        warn: ShowWarning<'a>,
    ) -> Self {
        let start: StartWorker<'a> = if in_process {
            Box::new(|_| Ok(Box::new(WorkerState::begin())))
        } else {
            Box::new(move |device| Ok(Box::new(starter.start(device)?)))
        };
        Self { workers: Map::default(), start, is_shared: in_process, stop, warn }
    }

    /// Uses workers made by `start`, one for each device.
    #[cfg(test)]
    pub(crate) fn with_workers(
        start: StartWorker<'a>,
        stop: &'a dyn Fn() -> bool,
        warn: ShowWarning<'a>,
    ) -> Self {
        Self { workers: Map::default(), start, is_shared: false, stop, warn }
    }

    /// Returns true if the user has asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    /// Sends a request to the worker of its device, which is started if needed, and passes replies to
    /// `reply`. Returns `None` when the request is done, or a [`LostWorker`] if the worker exited or was
    /// killed. Shows remarks as warnings, and discards a worker whose process cannot serve another request.
    ///
    /// # Errors
    /// Returns an error if no worker can be started, or if the user wants to stop.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Option<LostWorker>, RunError> {
        let name = self.worker_key(request.device()).to_owned();
        let (mut worker, is_used) = match self.workers.remove(&name) {
            Some(worker) => worker,
            None => ((self.start)(request.device()).map_err(RunError::NoWorker)?, false),
        };
        let (mut step, mut is_spent) = (None, false);
        let (is_shared, warn) = (self.is_shared, &mut self.warn);
        let asked = worker.ask(request, limit, self.stop, &mut |answer| match answer {
            Reply::Remark(remark) => warn(remark),
            Reply::DeviceLost => is_spent = true,
            // This process cannot be replaced.
            Reply::Changed => is_spent = !is_shared,
            answer => {
                match answer {
                    Reply::Step(reached) => step = Some(reached),
                    // A later exit belongs to the next case.
                    Reply::Record(_) => step = Some(Step::Preparation),
                    _ => {}
                }
                reply(answer);
            }
        });
        match asked {
            Ok(()) if is_spent => worker.dismiss(),
            Ok(()) => _ = self.workers.insert(name, (worker, is_used || request.is_job())),
            Err(WorkerExit::Interrupted) => return Err(RunError::Interrupted),
            Err(_) if self.is_stopped() => return Err(RunError::Interrupted),
            Err(exit) => return Ok(Some(LostWorker { exit, step })),
        }
        Ok(None)
    }

    /// Sends a request that has one answer, which `read` extracts from the replies. Returns the answer or the
    /// failure of the worker or device, and true if the worker was killed because it took longer than
    /// `limit`.
    pub(crate) fn ask_once<T>(
        &mut self,
        request: &Request,
        limit: Duration,
        read: &dyn Fn(Reply) -> Option<Result<T, Failure>>,
    ) -> Result<(Result<T, Failure>, bool), RunError> {
        let mut found = None;
        let lost = self.ask(request, limit, &mut |reply| match reply {
            Reply::NoDevice(message) => found = Some(Err(Failure::new(Stage::Device, message))),
            reply => found = read(reply).or_else(|| found.take()),
        })?;
        let timed_out = lost.as_ref().is_some_and(LostWorker::timed_out);
        let silent = || Failure::new(Stage::Worker, "sent no result");
        Ok((found.unwrap_or_else(|| Err(lost.map_or_else(silent, |lost| lost.failure()))), timed_out))
    }

    /// Returns the key of a device's worker in the map; empty for a shared worker.
    fn worker_key<'d>(&self, device: &'d str) -> &'d str {
        if self.is_shared { "" } else { device }
    }

    /// Asks the worker of a device to exit, if it has one, so that the next request gets a new one. A shared worker serves all devices.
    pub(crate) fn dismiss_worker_of(&mut self, device: &str) {
        if let Some((worker, _)) = self.workers.remove(self.worker_key(device)) {
            worker.dismiss();
        }
    }

    /// Returns true if the next request for a device goes to a worker that has run a benchmark.
    pub(crate) fn has_run_benchmark(&self, device: &str) -> bool {
        self.workers.get(self.worker_key(device)).is_some_and(|(_, is_used)| *is_used)
    }

    /// Asks all workers to exit.
    pub(crate) fn dismiss(&mut self) {
        std::mem::take(&mut self.workers).into_iter().for_each(|(_, (worker, _))| worker.dismiss());
    }
}

/// Starts worker processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkerStarter {
    /// The path of the driver's library, if it is known.
    pub driver: Option<PathBuf>,
    /// A worker that was started in advance, and the kind of its device; `None` once it is in use.
    in_advance: Arc<Mutex<Option<(&'static str, WorkerProcess)>>>,
}

impl WorkerStarter {
    /// Has later workers load the driver's library from `driver`, unless its path is known already. If `kind` is given, starts the
    /// first worker for this kind now and has it list the devices, so that the driver initialises while the run is planned.
    pub(crate) fn set_driver(&mut self, driver: PathBuf, kind: Option<&'static str>) {
        if self.driver.is_some() {
            return;
        }
        self.driver = Some(driver);
        let Some(kind) = kind else { return };
        let Ok(mut worker) = WorkerProcess::start(self.driver.as_ref()) else { return };
        // Nobody reads the replies, since later requests have other numbers. If the request fails, the next one fails too.
        worker.request_number += 1;
        let request = Request::Devices { kinds: vec![kind.to_owned()] };
        _ = send_request(&mut worker.requests, worker.request_number, &request);
        self.in_advance = Arc::new(Mutex::new(Some((kind, worker))));
    }

    /// Ends the worker that was started in advance, unless `is_needed` returns true for the kind of its device.
    pub(crate) fn retain(&self, is_needed: impl Fn(&str) -> bool) {
        drop(self.take(|kind| !is_needed(kind)));
    }

    /// Takes the worker that was started in advance if `is_wanted` returns true for the kind of its device.
    fn take(&self, is_wanted: impl Fn(&str) -> bool) -> Option<WorkerProcess> {
        let mut in_advance = self.in_advance.lock().unwrap_or_else(PoisonError::into_inner);
        in_advance.take_if(|(kind, _)| is_wanted(kind)).map(|(_, worker)| worker)
    }

    /// Returns the worker that was started in advance for the kind of `device`, or starts one.
    fn start(&self, device: &str) -> io::Result<WorkerProcess> {
        let in_advance = self.take(|kind| kind == DeviceId::parse(device).kind);
        in_advance.map_or_else(|| WorkerProcess::start(self.driver.as_ref()), Ok)
    }
}

/// A worker process with everything that it starts, and the channel to it.
#[derive(Debug)]
struct WorkerProcess {
    group: ProcessGroup,
    requests: UnixStream,
    replies: Receiver<io::Result<(u64, Reply)>>,
    /// The number of requests so far.
    request_number: u64,
    /// True once [`kill`](Self::kill) was called: the process may have been reaped, and the system may then
    /// reuse its number.
    killed: bool,
}

impl Worker for WorkerProcess {
    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        stop: &dyn Fn() -> bool,
        hear: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerExit> {
        self.request_number += 1;
        if send_request(&mut self.requests, self.request_number, request).is_err() {
            return Err(self.exit_reason(stop));
        }
        let mut begin = Instant::now();
        let (mut opened, mut allowed, mut has_ended) = (false, limit.max(OPEN_TIMEOUT), false);
        loop {
            match self.replies.receive(Some(POLL_INTERVAL)) {
                // Only a forked child of the worker replies to an earlier request.
                Ok(Ok((number, _))) if number != self.request_number => {}
                Ok(Ok((_, Reply::Done))) => return Ok(()),
                Ok(Ok((_, reply))) => {
                    // The limit is per case, and per list for a plan. The first begins with its first step.
                    if !opened || reply.restarts_time_limit() {
                        (begin, opened, allowed) = (Instant::now(), true, limit);
                    }
                    let is_last = matches!(reply, Reply::DeviceLost);
                    hear(reply);
                    if is_last {
                        return Ok(());
                    }
                }
                Ok(Err(error)) => return Err(WorkerExit::InvalidReply(error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.exit_reason(stop)),
                Err(RecvTimeoutError::Timeout) if stop() => return Err(WorkerExit::Interrupted),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > allowed => {
                    return Err(WorkerExit::TimedOut(allowed));
                }
                // A forked child that outlives the worker keeps the channel open.
                Err(RecvTimeoutError::Timeout) if has_ended => return Err(self.exit_reason(stop)),
                // The last replies may still be in the channel.
                Err(RecvTimeoutError::Timeout) => has_ended = self.group.has_ended(),
            }
        }
    }

    /// Asks an idle worker to exit, so that it prints its buffered output.
    fn dismiss(mut self: Box<Self>) {
        // Fails if the worker is already exiting.
        _ = send_request(&mut self.requests, self.request_number + 1, &Request::End);
        self.has_ended_within(EXIT_TIMEOUT);
    }
}

impl WorkerProcess {
    /// Starts this program again as a worker. Its output goes to standard error. If `driver` is known, the
    /// worker loads the driver's library from this path, and does not search for it.
    fn start(driver: Option<&PathBuf>) -> io::Result<Self> {
        let mut command = Command::new(system::THIS_PROGRAM);
        command.arg(FLAG).envs(driver.map(|path| (gpubench_driver::LIBCUDA_VARIABLE, path)));
        let (group, requests) = ProcessGroup::start_with_channel(command)?;
        let (stream, (sender, replies)) = (requests.try_clone()?, channel());
        // Created first, so that the process is killed if no thread can listen to it.
        let process = Self { group, requests, replies, request_number: 0, killed: false };
        threads::start("replies", move || forward_replies(stream, &sender))?;
        Ok(process)
    }

    /// Returns why the process exited, after its channel has closed. Kills the process if it still runs. If
    /// an external signal ended it, waits up to [`MAX_SIGNAL_DELAY`] for a signal to this process. If one
    /// comes, the exit does not count as a failure of the case.
    fn exit_reason(&mut self, stop: &dyn Fn() -> bool) -> WorkerExit {
        self.has_ended_within(EXIT_TIMEOUT);
        let Some(status) = self.kill() else { return WorkerExit::StillRunning };
        let deadline = Instant::now() + MAX_SIGNAL_DELAY;
        while system::is_external_signal(status) && !stop() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        WorkerExit::Exited(status)
    }

    /// Kills the process group. Returns the exit status, or `None` if the process has not exited within
    /// [`KILL_TIMEOUT`].
    fn kill(&mut self) -> Option<ExitStatus> {
        self.group.kill();
        let ended = self.has_ended_within(KILL_TIMEOUT);
        self.killed = true;
        if ended { self.group.wait().ok() } else { None }
    }

    /// Waits until the process has exited, for at most `limit`. Returns true if it has. Does not kill it.
    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while !self.group.has_ended() {
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
        true
    }
}

impl Drop for WorkerProcess {
    /// Terminates the worker and its process group with the supervisor.
    fn drop(&mut self) {
        if !self.killed {
            self.group.terminate();
            self.has_ended_within(TERMINATE_TIMEOUT);
            self.kill();
        }
    }
}

/// Reads replies with their request numbers, and sends them to `to` until the channel closes. A read error,
/// such as a reset after the process exited with requests unread, counts as closed. A line that is not a
/// reply is sent as an error.
fn forward_replies(from: impl Read, to: &Sender<io::Result<(u64, Reply)>>) {
    for line in BufReader::new(from).lines() {
        let reply = match line {
            Err(error) if error.kind() != ErrorKind::InvalidData => return,
            line => line.and_then(|line| read_reply(&line)),
        };
        if !to.send(reply) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Reads what `says` writes before its end of the socket is closed with a request unread.
    fn heard(says: &[u8]) -> Vec<io::Result<(u64, Reply)>> {
        let (mut ours, mut theirs) = UnixStream::pair().expect("a socket");
        ours.write_all(b"a request\n").expect("it is open");
        theirs.write_all(says).expect("it is open");
        drop(theirs);
        let (sender, replies) = channel();
        forward_replies(ours, &sender);
        drop(sender);
        replies.messages().collect()
    }

    /// The reason is then the exit of the process, and not an error of the socket.
    #[test]
    fn a_worker_that_exits_before_it_reads_a_request_sent_no_invalid_reply() {
        assert!(heard(b"").is_empty());
        let replies = heard(b"[7,\"done\"]\n");
        assert!(matches!(&replies[..], [Ok((7, _))]), "{replies:?}");
        for garbled in [&b"no reply\n"[..], b"\xff\n"] {
            let replies = heard(garbled);
            assert!(matches!(&replies[..], [Err(_)]), "{replies:?}");
        }
    }

    /// The processes are this test program, which does not know the flag of a worker and exits.
    #[test]
    fn a_worker_that_was_started_in_advance_is_for_devices_of_its_kind() {
        let started = || {
            let mut starter = WorkerStarter::default();
            starter.set_driver("/lib/libcuda.so.1".into(), Some("cuda"));
            starter
        };
        let is_left = |starter: &WorkerStarter| starter.in_advance.lock().expect("no panic").is_some();
        let starter = started();
        drop(starter.start("host").expect("a process"));
        starter.retain(|kind| kind == "cuda");
        assert!(is_left(&starter), "the CPU has a worker of its own");
        drop(starter.start("cuda:1").expect("it was started"));
        assert!(!is_left(&starter));
        let unused = started();
        unused.retain(|kind| kind == "host");
        assert!(!is_left(&unused));
    }
}
