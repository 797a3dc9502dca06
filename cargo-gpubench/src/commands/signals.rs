//! Signals that end a command early: SIGINT, SIGTERM and SIGHUP. The child process that runs gets them too, so that
//! it can print and store what it has, and the command ends after it.

use std::process::{Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::{io, os::unix::process::ExitStatusExt};

use gpubench_records::Exit;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::output::{CommandError, Result};

/// The signal that came first; 0 before.
static FIRST: AtomicU8 = AtomicU8::new(0);
/// The child process that runs; 0 if none does.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Catches the signals from now on, until this process ends.
pub(super) fn listen() -> Result<()> {
    let catch = || -> io::Result<()> {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        gpubench_records::threads::start("signals", move || signals.forever().for_each(on_signal)).map(drop)
    };
    catch().map_err(|error| CommandError::usage(format!("signals cannot be caught: {error}")))
}

/// Remembers the first signal, and passes each one on to the child, but for Ctrl-C, which the terminal sends to both.
fn on_signal(signal: i32) {
    _ = FIRST.compare_exchange(0, signal as u8, Ordering::Relaxed, Ordering::Relaxed);
    // A terminal sends Ctrl-C to the child too, which would end at once if a second one came.
    let signal = match Signal::from_named_raw(signal) {
        Some(signal) if signal != Signal::INT => signal,
        _ => return,
    };
    if let Some(child) = Pid::from_raw(CHILD.load(Ordering::Relaxed)) {
        // A child that has ended needs no signal.
        _ = kill_process(child, signal);
    }
}

/// Runs a program to its end. It gets the signals that come meanwhile. `exit` is that of a program that does not start.
pub(super) fn output(program: &mut Command, exit: Exit) -> Result<Output> {
    let ended = program.spawn().and_then(|child| {
        CHILD.store(child.id() as i32, Ordering::Relaxed);
        child.wait_with_output()
    });
    CHILD.store(0, Ordering::Relaxed);
    ended.map_err(|error| {
        CommandError::new(exit, format!("{} does not start: {error}", program.get_program().display()))
    })
}

/// Runs cargo or git to its end, unless a signal ends it. Returns its standard output; its messages reach the user.
pub(super) fn tool_output(program: &mut Command) -> Result<Output> {
    let ended = output(program.stdin(Stdio::null()).stdout(Stdio::piped()), Exit::Usage)?;
    ended_by(ended.status).map_or(Ok(ended), |exit| Err(interrupted(exit)))
}

/// Returns the error of a command that a signal ended.
pub(super) fn interrupted(exit: Exit) -> CommandError {
    CommandError::new(exit, "a signal ended the command before it had a result to show")
}

/// Returns the end of this command, if a signal came.
pub(super) fn received() -> Option<Exit> {
    let signal = FIRST.load(Ordering::Relaxed);
    (signal != 0).then_some(Exit::Interrupted(signal))
}

/// Returns the end of this command, if a signal came or ended a child process. A terminal sends Ctrl-C to both, and the end of the child may
/// be seen first.
pub(super) fn ended_by(child: ExitStatus) -> Option<Exit> {
    received().or_else(|| Exit::of_code(u8::try_from(128 + child.signal()?).ok()?))
}

/// Returns the exit code of a benchmark binary. One that ended in another way failed.
pub(super) fn exit(status: ExitStatus) -> Exit {
    ended_by(status).or_else(|| Exit::of_code(u8::try_from(status.code()?).ok()?)).unwrap_or(Exit::Failed)
}
