//! What a machine has for measuring, and what it lacks. In: its devices, drivers and limits; out: a [`Finding`] for each, with what to
//! do. Looks, and changes nothing.
//!
//! A driver may hang, or end the process that asks it, so a process of its own asks: see [`examine`].

use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::device::finding::{Finding, Level};
use crate::devices::kinds::KINDS;
use gpubench_records::threads;

/// The first argument of a process that asks the drivers.
const FLAG: &str = "--gpubench-doctor";
/// The time in which every driver answers. One that starts takes a second or two, and longer for each of many GPUs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Examines this machine, kind by kind of device. The program must call [`run_as_child`] first in its `main`.
///
/// # Errors
/// Returns an error if no process can be started.
pub fn examine() -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for kind in &KINDS {
        match ask(kind.name)? {
            Ok(found) => findings.extend(found),
            Err(silence) => findings.push(Finding::of(
                format!("{}s", kind.noun),
                Level::Problem,
                silence,
                "the driver does not work on this machine: `dmesg` and its own tools may say why",
            )),
        }
    }
    Ok(findings)
}

/// Does the work of a process that asks the drivers, if this is one.
#[must_use]
pub fn run_as_child() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    if arguments.next()? != FLAG {
        return None;
    }
    let wanted = arguments.next()?;
    let kind = KINDS.iter().find(|kind| wanted == kind.name)?;
    let answer = serde_json::to_string(&(kind.examine)()).unwrap_or_default();
    // If nobody reads it, nobody needs it.
    _ = writeln!(io::stdout(), "{answer}");
    Some(ExitCode::SUCCESS)
}

/// Asks about a kind of device in a process of its own. Returns its findings, or the words for its silence.
fn ask(kind: &str) -> io::Result<Result<Vec<Finding>, String>> {
    let mut child = Command::new(env::current_exe()?)
        .args([FLAG, kind])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (send, receive) = mpsc::channel();
    if let Some(answer) = child.stdout.take() {
        threads::start("answer", move || drop(send.send(io::read_to_string(answer))))?;
    }
    let answer = receive.recv_timeout(PATIENCE);
    let findings =
        answer.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs())).and_then(|answer| {
            let answer = answer.map_err(|error| error.to_string())?;
            serde_json::from_str(answer.lines().next_back().unwrap_or_default()).map_err(|_| end(&mut child))
        });
    // One that hangs is left to the system if it cannot be ended.
    _ = child.kill();
    _ = child.try_wait();
    Ok(findings)
}

/// The end of a process that said nothing.
fn end(child: &mut Child) -> String {
    child
        .wait()
        .map_or_else(|error| error.to_string(), |status| format!("the process that asks ended: {status}"))
}
