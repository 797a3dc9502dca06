//! The standard streams, taken away from the user's code, so that what it reads and prints does not mix with what this process sends
//! and prints itself. In: the streams that this process was started with; out: files of its own, which no child inherits.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;

/// The first descriptor after the standard ones.
const FIRST_FREE: RawFd = 3;

/// Takes the socket away from standard input, where a child of a family got it: a file for requests, and one for replies. A launch or
/// its child reads nothing there then.
pub(crate) fn take_channel() -> io::Result<(File, File)> {
    let socket = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let replies = socket.try_clone()?;
    Ok((socket, replies))
}

/// Takes standard output, so that all other output of this process goes to standard error. Nothing where that cannot be, which here
/// is nowhere.
pub(crate) fn take_output() -> io::Result<Option<File>> {
    let ours = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(Some(File::from(ours)))
}
