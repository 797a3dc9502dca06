//! How requests and replies travel: a line of JSON each, over the worker's standard input and what was its standard
//! output. In the worker, standard output is turned over to standard error first, so that nothing that a launch function
//! or a kernel prints can mix with a reply.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{OwnedFd, RawFd};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Bench, Reply, Request};

/// The first descriptor that is none of the standard ones.
const FIRST_FREE: RawFd = 3;

/// Answers requests until there are no more. This is all that a worker process does.
///
/// # Errors
/// Where the supervisor is gone, or does not speak this protocol.
pub fn serve() -> io::Result<()> {
    // Whatever a launch is busy with, the worker goes when its supervisor does.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let requests = take_standard_input()?;
    let mut replies = File::from(turn_over_standard_output()?);
    let mut bench = Bench::new();
    for line in BufReader::new(requests).lines() {
        let request: Request = decode(&line?)?;
        let mut sent = Ok(());
        bench.answer(&request, &mut |reply| {
            // What was printed comes before what was found. A reply that was lost must not be forgotten over the next.
            if sent.is_ok() {
                sent = io::stdout().flush().and_then(|()| send(&mut replies, &reply));
            }
        });
        sent?;
    }
    Ok(())
}

/// Has `bench` answer in this process, what it prints going to standard error as a worker's does.
pub(super) fn answer_here(
    bench: &mut Bench,
    request: &Request,
    reply: &mut dyn FnMut(Reply),
) -> io::Result<()> {
    let standard_output = turn_over_standard_output()?;
    bench.answer(request, reply);
    io::stdout().flush()?;
    Ok(rustix::stdio::dup2_stdout(standard_output)?)
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

/// What standard output was; what is printed from here on goes to standard error. No child of a launch inherits it: the
/// supervisor knows a worker's end by the end of this pipe.
fn turn_over_standard_output() -> io::Result<OwnedFd> {
    io::stdout().flush()?;
    let standard_output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(standard_output)
}

/// What standard input was; a launch or its child that reads it finds nothing, rather than a request.
fn take_standard_input() -> io::Result<File> {
    let requests = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(requests))
}
