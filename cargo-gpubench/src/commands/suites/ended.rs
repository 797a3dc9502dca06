//! The end of a program. In: its status, as the system tells it; out: an exit code in the words of all programs here.

use std::process::ExitStatus;

use gpubench_records::exit::Exit;

/// Returns the exit code of a suite in the words of all programs here. A program that ended in another way failed.
pub(in crate::commands) fn exit(status: ExitStatus) -> Exit {
    let code = || Exit::of_code(u8::try_from(status.code()?).ok()?);
    killed(status).or_else(code).unwrap_or(Exit::Failed)
}

/// Returns the end of a program by one of the signals that end a run; nothing if it ended by itself.
pub(in crate::commands) fn killed(status: ExitStatus) -> Option<Exit> {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status)
        && let 1 | 2 | 15 = signal
    {
        return Some(Exit::Interrupted(signal as u8));
    }
    _ = status;
    None
}
