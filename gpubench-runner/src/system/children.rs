//! Starts child processes, each the leader of a process group, and kills whole groups.

use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Once};
use std::{env, io, os::fd::OwnedFd};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{
    SIGABRT, SIGBUS, SIGCHLD, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGKILL, SIGSEGV, SIGTERM,
};
use signal_hook::low_level::signal_name;

use super::stopping::is_ignored;

/// A child process that leads a process group, and the processes in this group.
pub struct ProcessGroup {
    child: Child,
    group: Pid,
}

impl ProcessGroup {
    /// Starts `command` in a new process group, which a terminal's Ctrl-C does not reach.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        keep_exit_statuses();
        let child = command.process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group })
    }

    /// Starts `command` with a socket as its standard input, by which it gets requests and replies to them: see
    /// [`take_channel`](gpubench_runtime::system::take_channel). Its output goes to standard error. It is named as this process.
    pub(crate) fn start_with_channel(mut command: Command) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(theirs)).stdout(io::stderr());
        if let Some(name) = env::args_os().next() {
            command.arg0(name);
        }
        // The command holds a copy of the child's end of the socket; it is dropped here, so that this side sees the socket close.
        Ok((Self::start(&mut command)?, ours))
    }

    /// Returns true if the child has exited. Does not reap it, so that the system does not reuse the group's number.
    pub fn has_ended(&mut self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that the process was reaped already.
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None))
    }

    /// Asks all processes of the group to exit.
    pub(crate) fn terminate(&self) {
        // Fails only if no process is left.
        _ = kill_process_group(self.group, Signal::TERM);
    }

    /// Kills all processes of the group.
    pub fn kill(&self) {
        // Fails only if no process is left.
        _ = kill_process_group(self.group, Signal::KILL);
    }

    /// Waits for the child. The system may then reuse its number, so no other method may be called.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// Has the system keep the exit statuses of children until they are waited for. It discards them in a process that was started with
/// SIGCHLD ignored, as with `trap '' CHLD`.
pub fn keep_exit_statuses() {
    static CHECKED: Once = Once::new();

    CHECKED.call_once(|| {
        if is_ignored(SIGCHLD) {
            // Any handler has this effect. This cannot fail: the signal can be caught. No code reads the flag.
            _ = signal_hook::flag::register(SIGCHLD, Arc::default());
        }
    });
}

/// The path of this running program, which stays valid if its file was replaced: a run uses one build only.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// Describes the exit of a process.
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned);
            format!("the process was ended by {name}")
        }
        (None, Some(code)) => format!("the process exited with code {code}"),
        (None, None) => "the process ended".to_owned(),
    }
}

/// Returns true if the process crashed: a debugger shows where.
pub(crate) fn is_crash(status: ExitStatus) -> bool {
    status.signal().is_some_and(|signal| [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV].contains(&signal))
}

/// Returns true if a signal that other processes send ended the process.
pub(crate) fn is_external_signal(status: ExitStatus) -> bool {
    status.signal().is_some_and(|signal| [SIGHUP, SIGINT, SIGKILL, SIGTERM].contains(&signal))
}

/// Takes this process out of reach of a terminal's Ctrl-C.
pub(crate) fn leave_terminal() {
    // Fails if this process already leads a process group. That group is then its own.
    _ = rustix::process::setsid();
}
