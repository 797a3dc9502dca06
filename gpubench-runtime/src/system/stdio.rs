//! Takes the standard streams of a process for messages, so that the input and output of the user's code do
//! not mix with them. Child processes do not inherit the taken streams.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, RawFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;

/// The first file descriptor after the standard streams.
const FIRST_FREE: RawFd = 3;

/// Takes the socket that a worker gets as its standard input. Returns two files of that socket: one to read
/// requests from, and one to write replies to. Afterwards standard input is `/dev/null`, also for child
/// processes.
pub fn take_channel() -> io::Result<(File, File)> {
    let socket = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let replies = socket.try_clone()?;
    Ok((socket, replies))
}

/// Takes standard output, and returns it as a file. Afterwards all other output of this process to standard
/// output goes to standard error.
pub fn take_output() -> io::Result<File> {
    let ours = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(ours))
}

/// A stream whose reads and writes wait and retry after `EWOULDBLOCK`. All processes that share a pipe share
/// its non-blocking mode, which the parent process or a benchmark may have set.
#[derive(Debug)]
pub struct RetryOnWouldBlock<S>(pub S);

impl<S: AsFd> RetryOnWouldBlock<S> {
    /// Runs `work` until it succeeds or fails with an error other than `WouldBlock`. After each `WouldBlock`,
    /// waits until the stream is `ready`.
    fn retry<T>(&mut self, ready: PollFlags, mut work: impl FnMut(&mut S) -> io::Result<T>) -> io::Result<T> {
        loop {
            match work(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    retry_on_intr(|| poll(&mut [PollFd::new(&self.0, ready)], None))?;
                }
                done => return done,
            }
        }
    }
}

impl<S: AsFd + Write> Write for RetryOnWouldBlock<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.retry(PollFlags::OUT, Write::flush)
    }
}

impl<S: AsFd + Read> Read for RetryOnWouldBlock<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.retry(PollFlags::IN, |stream| stream.read(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    #[test]
    fn non_blocking_streams_are_waited_for() {
        let (ours, theirs) = UnixStream::pair().expect("a socket");
        for end in [&ours, &theirs] {
            end.set_nonblocking(true).expect("it is open");
        }
        // More than any socket holds.
        let text = "a line\n".repeat(1 << 18);
        let written = thread::spawn({
            let text = text.clone();
            move || RetryOnWouldBlock(ours).write_all(text.as_bytes())
        });
        let read = io::read_to_string(RetryOnWouldBlock(theirs)).expect("all of it");
        assert!(read == text, "{} of {} bytes", read.len(), text.len());
        written.join().expect("no panic").expect("all of it");
    }
}
