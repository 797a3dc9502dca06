//! How requests and replies travel: a line of JSON each, over the worker's standard input and what was its standard
//! output. In the worker, standard output is turned over to standard error first, so that nothing that a launch function
//! or a kernel prints can mix with a reply.

use std::fs::File;
use std::io::{self, BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Bench, Request};

/// Answers requests until there are no more. This is all that a worker process does.
///
/// # Errors
/// Where the supervisor is gone, or does not speak this protocol.
pub fn serve() -> io::Result<()> {
    let mut replies = take_standard_output()?;
    let mut bench = Bench::new();
    for line in io::stdin().lock().lines() {
        let request: Request = decode(&line?)?;
        let mut sent = Ok(());
        bench.answer(&request, &mut |reply| {
            if sent.is_ok() {
                sent = send(&mut replies, &reply);
            }
        });
        sent?;
    }
    Ok(())
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

/// The pipe that standard output was; what is printed from here on goes to standard error.
fn take_standard_output() -> io::Result<File> {
    io::stdout().flush()?;
    let replies = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(replies))
}
