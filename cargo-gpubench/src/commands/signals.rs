//! Signals that end a command early: SIGINT, SIGTERM and SIGHUP. The running child process receives them too, so
//! that it can print and store its results. The command ends after it.

use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{io, os::unix::process::ExitStatusExt};

use gpubench_records::Exit;
use gpubench_runner::__private::stop_signals;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::iterator::Signals;

use crate::output::{CommandError, Result};

/// The first signal that arrived; 0 if none did.
static FIRST_SIGNAL: AtomicU8 = AtomicU8::new(0);
/// The id of the running child process; 0 without one. Locked while a child is started, so that a signal at
/// this moment reaches it.
static CHILD_PROCESS: Mutex<i32> = Mutex::new(0);

/// Starts a thread that catches SIGHUP, SIGINT and SIGTERM, so that they do not end this program any more.
/// [`on_signal`] handles them. SIGHUP stays ignored under `nohup`.
pub(super) fn listen() -> Result<()> {
    let catch = || -> io::Result<()> {
        let mut signals = Signals::new(stop_signals())?;
        gpubench_records::threads::start("signals", move || signals.forever().for_each(on_signal)).map(drop)
    };
    catch().map_err(|error| CommandError::usage(format!("signals cannot be caught: {error}")))
}

/// Stores `signal` if it is the first. Passes it on to the child process, except for SIGINT, since a terminal
/// sends Ctrl-C to both processes.
fn on_signal(signal: i32) {
    _ = FIRST_SIGNAL.compare_exchange(0, signal as u8, Ordering::Relaxed, Ordering::Relaxed);
    // A terminal sends Ctrl-C to the child too, which would end at once if a second one came.
    let signal = match Signal::from_named_raw(signal) {
        Some(signal) if signal != Signal::INT => signal,
        _ => return,
    };
    if let Some(child) = Pid::from_raw(*child_process()) {
        // A child that has ended needs no signal.
        _ = kill_process(child, signal);
    }
}

/// Locks [`CHILD_PROCESS`].
fn child_process() -> MutexGuard<'static, i32> {
    CHILD_PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program to its end, and passes signals on to it. Returns its status and the output that it was set
/// to capture. A program that does not start is an error with the exit code `exit`.
pub(super) fn run_child(program: &mut Command, exit: Exit) -> Result<Output> {
    let mut running = child_process();
    let started = program.spawn().inspect(|child| *running = child.id() as i32);
    drop(running);
    let ended = started.and_then(Child::wait_with_output);
    *child_process() = 0;
    ended.map_err(|error| {
        CommandError::new(exit, format!("{} does not start: {error}", program.get_program().display()))
    })
}

/// Runs cargo or git to its end, without standard input. Returns its status and standard output; its messages
/// go to standard error unless the caller redirects them. A signal is an error; a failure of the program is
/// not.
pub(super) fn run_tool(program: &mut Command) -> Result<Output> {
    let ended = run_child(program.stdin(Stdio::null()).stdout(Stdio::piped()), Exit::Usage)?;
    interruption(ended.status).map_or(Ok(ended), |exit| Err(interrupted_error(exit)))
}

/// Returns the error of a command that a signal ended. `exit` is the exit code for the signal.
pub(super) fn interrupted_error(exit: Exit) -> CommandError {
    CommandError::new(exit, "a signal ended the command before it had a result to show")
}

/// Returns the exit code for the first signal; `None` if none arrived.
pub(super) fn received_signal() -> Option<Exit> {
    let signal = FIRST_SIGNAL.load(Ordering::Relaxed);
    (signal != 0).then_some(Exit::Interrupted(signal))
}

/// Returns the exit code for a signal that this program received, or else for the signal that ended the child
/// process; `None` without SIGHUP, SIGINT or SIGTERM. A terminal sends Ctrl-C to both processes, and the
/// child may end before this program receives it.
fn interruption(child: ExitStatus) -> Option<Exit> {
    received_signal().or_else(|| exit_of_code(u8::try_from(128 + child.signal()?).ok()?))
}

/// Returns the variant whose exit code is `code`; `None` for a code that no program of gpubench ends with.
fn exit_of_code(code: u8) -> Option<Exit> {
    let named = [Exit::Usage, Exit::NoDevice, Exit::Nothing, Exit::Failed, Exit::Regression, Exit::Done];
    let interrupted = [1, 2, 15].map(Exit::Interrupted);
    named.into_iter().chain(interrupted).find(|exit| exit.code() == code)
}

/// Returns the exit code for a benchmark binary that ended with this status. After a signal to the binary or
/// to this program, it is that of the signal. A crash and an unknown code count as [`Exit::Failed`].
pub(super) fn exit_of_child(status: ExitStatus) -> Exit {
    interruption(status).or_else(|| exit_of_code(u8::try_from(status.code()?).ok()?)).unwrap_or(Exit::Failed)
}
