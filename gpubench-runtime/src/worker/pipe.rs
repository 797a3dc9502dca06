//! The worker process: it reads requests and sends replies, a line of JSON each, over the channel that it gets in place of its standard
//! input. Output of a launch function or a kernel goes elsewhere, so that it cannot mix with a reply. When the channel closes, a worker
//! knows that its supervisor is gone.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process;
use std::sync::mpsc::{Sender, channel};

use serde::Serialize;

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
    children::set_process_name();
    // No child inherits the channel, since its closing tells the supervisor that the worker has ended.
    let (from, replies) = stdio::take_channel()?;
    let (sender, requests) = channel();
    threads::start("requests", move || receive(from, &sender))?;
    gpubench_driver::mark_copies();
    let mut replies = Patient(replies);
    let mut worker = WorkerState::for_one_device();
    for request in requests {
        let (number, request) = request?;
        worker.answer(&request, &mut |reply| send_reply(&mut replies, number, &reply));
    }
    Ok(())
}

/// Passes requests on until there are no more. This thread waits here for the supervisor's end, whatever a launch is
/// doing, and then ends the worker.
fn receive(from: File, to: &Sender<io::Result<(u64, Request)>>) {
    for line in BufReader::new(Patient(from)).lines() {
        match line.and_then(|line| Ok(serde_json::from_str(&line)?)) {
            Ok((_, Request::End)) => return,
            // The receiver is gone only when this process ends.
            request => _ = to.send(request),
        }
    }
    children::end_own_family();
}

/// Writes a request or a reply, with the number of the request: the reply of a forked copy of a worker is never taken for the reply to
/// a later request.
pub(crate) fn send(to: &mut dyn Write, numbered: &(u64, impl Serialize)) -> io::Result<()> {
    let mut line = serde_json::to_vec(numbered)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

#[expect(clippy::exit, reason = "the supervisor knows, and starts another process")]
fn send_reply(replies: &mut Patient<File>, number: u64, reply: &Reply) {
    end_if_copied();
    // Printed output comes before the reply.
    if Patient(io::stdout()).flush().and_then(|()| send(replies, &(number, reply))).is_err() {
        children::end_own_family();
    }
    if let Reply::DeviceLost = reply {
        // Nothing on the stack is dropped, since it belongs to a lost device. C's output buffers, which may hold a kernel's last
        // output, are written.
        process::exit(0)
    }
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
