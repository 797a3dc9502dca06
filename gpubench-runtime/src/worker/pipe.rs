//! The transport of requests and replies: a line of JSON each, over the socket that a worker gets as its standard
//! input. Output of a launch function or a kernel goes elsewhere, so that it cannot mix with a reply. When the socket
//! closes, a worker knows that its supervisor is gone.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::message::{decode, send};
use super::{Answer, Numbered, Reply, Request, WorkerState, copies};
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};

/// The first descriptor after the standard ones.
const FIRST_FREE: RawFd = 3;

/// Answers requests until there are no more: the whole life of a worker process.
///
/// # Errors
/// Returns an error if the supervisor does not speak this protocol.
pub fn serve() -> io::Result<()> {
    // Before any launch function's code, which may open the driver. `interposed` has the reason if this fails.
    _ = gpubench_driver::interpose();
    call_it_by_its_name();
    let socket = take_standard_input()?;
    let mut replies = socket.try_clone()?;
    let (sender, requests) = channel();
    thread::spawn(move || receive(socket, &sender));
    copies::watch(&replies)?;
    let mut worker = WorkerState::for_one_device();
    for request in requests {
        let Numbered { number, request } = request?;
        copies::begin(number);
        worker.answer(&request, &mut |reply| say(&mut replies, &Answer::new(number, reply)));
    }
    Ok(())
}

/// Sets the process name, so that `top` shows the program's name and not `exe`, the name of `/proc/self/exe`.
fn call_it_by_its_name() {
    let name = env::args_os().next().map(PathBuf::from);
    if let Some(name) = name.as_deref().and_then(Path::file_name) {
        // The name is for people only, and may be missing.
        _ = fs::write("/proc/self/comm", name.as_encoded_bytes());
    }
}

/// Passes requests on until there are no more. This thread waits here for the supervisor's end, whatever a launch is
/// doing, and then ends the worker.
fn receive(from: File, to: &Sender<io::Result<Numbered>>) {
    for line in BufReader::new(from).lines() {
        match line.and_then(|line| decode(&line)) {
            Ok(Numbered { request: Request::End, .. }) => return,
            request => {
                // The receiver is gone only when this process ends.
                _ = to.send(request);
            }
        }
    }
    end_orphaned();
}

/// Sends an answer of the worker. A copy of the worker sends that it is one, and ends.
fn say(replies: &mut File, answer: &Answer) {
    copies::end_copy();
    // Printed output comes before the reply.
    let sent = io::stdout().flush().and_then(|()| send(replies, answer));
    if sent.is_err() {
        end_orphaned();
    }
    if let Reply::DeviceLost = answer.reply {
        leave();
    }
}

/// Ends the process at once. Nothing on the stack is dropped, since it belongs to a lost device. C's output buffers are
/// still written, since they may hold a kernel's last output.
#[expect(clippy::exit, reason = "the supervisor has been told, and starts another process")]
fn leave() -> ! {
    process::exit(0)
}

/// Ends this process, whose supervisor is gone, and everything that its launches have started.
fn end_orphaned() -> ! {
    if getpgrp() == getpid() {
        // This cannot fail: the group contains this process.
        _ = kill_current_process_group(Signal::KILL);
    }
    process::abort()
}

/// Takes the socket away from standard input, so that a launch or its child reads nothing there instead of a request.
/// No child inherits the socket, since its closing tells the supervisor that the worker has ended.
fn take_standard_input() -> io::Result<File> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(socket))
}
