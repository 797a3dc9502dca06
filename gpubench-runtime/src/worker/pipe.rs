//! How requests and replies travel: a line of JSON each, over the socket that a worker finds as its standard input. What a
//! launch function or a kernel prints goes elsewhere, so that it cannot mix with a reply; and the socket's end tells a worker
//! that its supervisor is gone.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Bench, Reply, Request};

/// The first descriptor that is none of the standard ones.
const FIRST_FREE: RawFd = 3;

/// Answers requests until there are no more. This is all that a worker process does.
///
/// # Errors
/// Where the supervisor does not speak this protocol.
pub fn serve() -> io::Result<()> {
    call_it_by_its_name();
    let socket = take_standard_input()?;
    let mut replies = socket.try_clone()?;
    let (sender, requests) = channel();
    thread::spawn(move || receive(socket, &sender));
    let mut bench = Bench::for_one_device();
    for request in requests {
        bench.answer(&request?, &mut |reply| say(&mut replies, &reply));
    }
    Ok(())
}

/// What was started as `/proc/self/exe` is `exe` to `top` and the like.
fn call_it_by_its_name() {
    let name = env::args_os().next().map(PathBuf::from);
    if let Some(name) = name.as_deref().and_then(Path::file_name) {
        // A name is for people, and the system may have none.
        _ = fs::write("/proc/self/comm", name.as_encoded_bytes());
    }
}

/// Passes requests on until there are no more. Whatever a launch is busy with, this thread waits here for the supervisor's
/// end, and is the worker's own end then.
fn receive(from: File, to: &Sender<io::Result<Request>>) {
    for line in BufReader::new(from).lines() {
        match line.and_then(|line| decode(&line)) {
            Ok(Request::End) => return,
            request => {
                // Nobody waits for requests any more where this process ends.
                _ = to.send(request);
            }
        }
    }
    end_orphaned();
}

fn say(replies: &mut File, reply: &Reply) {
    // What was printed comes before what was found.
    let sent = io::stdout().flush().and_then(|()| send(replies, reply));
    if sent.is_err() {
        end_orphaned();
    }
    if let Reply::DeviceLost = reply {
        leave();
    }
}

/// Ends the process where it stands: nothing on the stack is dropped, for it belongs to a device that is lost. What C has in
/// its buffers is still written, a kernel's last words among it.
#[expect(clippy::exit, reason = "the supervisor has been told, and starts another process")]
fn leave() -> ! {
    process::exit(0)
}

/// Ends this process, whose supervisor is gone, and whatever its launches have started.
fn end_orphaned() -> ! {
    if getpgrp() == getpid() {
        // It cannot fail: the group has this process in it.
        _ = kill_current_process_group(Signal::KILL);
    }
    process::abort()
}

/// Writes one message.
pub(super) fn send(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one message.
pub(super) fn decode<T: DeserializeOwned>(line: &str) -> io::Result<T> {
    Ok(serde_json::from_str(line)?)
}

/// What standard input was; a launch or its child that reads it finds nothing, rather than a request. No child inherits it:
/// the supervisor knows a worker's end by the end of this socket.
fn take_standard_input() -> io::Result<File> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(socket))
}
