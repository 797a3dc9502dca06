//! The transport of requests and replies: a line of JSON each, over the channel that a worker gets in place of its standard
//! input. Output of a launch function or a kernel goes elsewhere, so that it cannot mix with a reply. When the channel
//! closes, a worker knows that its supervisor is gone.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process;
use std::sync::mpsc::{Sender, channel};

use super::message::{Numbered, decode, send};
use super::{Reply, Request, WorkerState};
use crate::system::stdio::Patient;
use crate::system::{children, stdio};
use gpubench_records::threads;

/// Answers requests until there are no more: the whole life of a worker process.
///
/// # Errors
/// Returns an error if the supervisor does not speak this protocol.
pub fn serve() -> io::Result<()> {
    // Before any launch function's code, which may open the driver. `interposed` has the reason if this fails.
    _ = gpubench_driver::interpose();
    children::begin_work();
    // No child inherits the channel, since its closing tells the supervisor that the worker has ended.
    let (from, replies) = stdio::take_channel()?;
    let (sender, requests) = channel();
    threads::start("requests", move || receive(from, &sender))?;
    gpubench_driver::mark_copies();
    let mut replies = Patient(replies);
    let mut worker = WorkerState::for_one_device();
    for request in requests {
        let Numbered { number, message } = request?;
        worker.answer(&message, &mut |reply| say(&mut replies, &Numbered { number, message: reply }));
    }
    Ok(())
}

/// Passes requests on until there are no more. This thread waits here for the supervisor's end, whatever a launch is
/// doing, and then ends the worker.
fn receive(from: File, to: &Sender<io::Result<Numbered<Request>>>) {
    for line in BufReader::new(Patient(from)).lines() {
        match line.and_then(|line| decode(&line)) {
            Ok(Numbered { message: Request::End, .. }) => return,
            request => {
                // The receiver is gone only when this process ends.
                _ = to.send(request);
            }
        }
    }
    children::end_own_family();
}

/// Sends a reply of the worker.
fn say(replies: &mut Patient<File>, reply: &Numbered<Reply>) {
    end_if_copied();
    // Printed output comes before the reply.
    let sent = Patient(io::stdout()).flush().and_then(|()| send(replies, reply));
    if sent.is_err() {
        children::end_own_family();
    }
    if let Reply::DeviceLost = reply.message {
        leave();
    }
}

/// Ends the process at once. Nothing on the stack is dropped, since it belongs to a lost device. C's output buffers are
/// still written, since they may hold a kernel's last output.
#[expect(clippy::exit, reason = "the supervisor has been told, and starts another process")]
fn leave() -> ! {
    process::exit(0)
}

/// Ends the worker if this process is a forked copy of it, which a launch makes that calls `fork` and returns in both processes.
/// Copies that went on would double at each launch until the machine has no room for another process. In the worker this reads one
/// value of memory, since it is part of what is timed on the CPU.
#[inline]
pub(super) fn end_if_copied() {
    if gpubench_driver::is_copy() {
        children::end_copied_worker();
    }
}
