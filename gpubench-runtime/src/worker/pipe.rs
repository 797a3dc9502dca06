//! The worker process: it reads requests and sends replies, a line of JSON each, over the channel that it gets instead of standard
//! input. Output of a launch function or a kernel goes elsewhere, so that it cannot mix with a reply. When the channel closes, a worker
//! knows that its supervisor is gone.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process;

use serde::{Deserialize, Serialize};

use crate::cases::Job;
use crate::system::{self, RetryOnWouldBlock};
use crate::worker::{Reply, Request, WorkerState};
use gpubench_records::threads::{self, Sender, channel};
use gpubench_records::{PlannedCase, json};

/// Answers the requests of the supervisor until [`Request::End`]: the whole life of a worker process. If the
/// channel closes before, kills the process group.
///
/// # Errors
/// Returns an error if the channel or a thread cannot be set up, or if the supervisor does not speak this
/// protocol.
pub fn serve() -> io::Result<()> {
    // Before any launch function's code, which may open the driver. `interposed` has the reason if this fails.
    _ = gpubench_driver::interpose();
    // No child inherits the channel, since its closing tells the supervisor that the worker has ended.
    let (from, replies) = system::take_channel()?;
    let (sender, requests) = channel();
    threads::start("requests", move || forward_requests(from, &sender))?;
    gpubench_driver::detect_forks();
    let mut replies = RetryOnWouldBlock(replies);
    let mut worker = WorkerState::begin();
    for request in requests.messages() {
        let (number, request) = request?;
        worker.answer(&request, &mut |reply| send_reply(&mut replies, number, &reply));
    }
    Ok(())
}

/// Passes the requests that arrive in `from` on to the worker's main thread, and returns after
/// [`Request::End`]. If the channel closes before, kills the worker's process group, whatever a launch is
/// doing: the supervisor is gone.
fn forward_requests(from: File, to: &Sender<io::Result<(u64, Request)>>) {
    for line in BufReader::new(RetryOnWouldBlock(from)).lines() {
        match line.and_then(|line| Ok(json::from_slice(line.as_bytes())?)) {
            Ok((_, Request::End)) => return,
            // The receiver is gone only when this process ends.
            request => _ = to.send(request),
        }
    }
    system::kill_own_process_group();
}

/// Writes a request with its number, which its replies will carry: the supervisor thereby recognises late
/// replies, such as those of a forked child of the worker.
///
/// # Errors
/// Returns an error if `to` cannot be written.
pub fn send_request(to: &mut dyn Write, number: u64, request: &Request) -> io::Result<()> {
    write_line(to, serde_json::to_vec(&(number, request))?)
}

/// Parses a line that has a reply and the number of its request. Not generic, so that the parser is compiled
/// only in this crate.
///
/// # Errors
/// Returns an error if the line contains anything else.
pub fn read_reply(line: &str) -> io::Result<(u64, Reply)> {
    Ok(json::from_slice(line.as_bytes())?)
}

/// Writes `line` and a line break to `to`, and flushes `to`.
fn write_line(to: &mut dyn Write, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Writes a reply with the number of its request, after everything that was printed before. If the supervisor
/// is gone, kills the process group. After [`Reply::DeviceLost`], exits.
#[expect(clippy::exit, reason = "the supervisor knows, and starts another process")]
fn send_reply(replies: &mut RetryOnWouldBlock<File>, number: u64, reply: &Reply) {
    system::exit_if_forked_child();
    // Printed output comes before the reply.
    let printed = RetryOnWouldBlock(io::stdout()).flush();
    if printed.and_then(|()| write_line(replies, serde_json::to_vec(&(number, reply))?)).is_err() {
        system::kill_own_process_group();
    }
    if let Reply::DeviceLost = reply {
        // Nothing on the stack is dropped, since it belongs to a lost device. C's output buffers, which may hold a kernel's last
        // output, are written.
        process::exit(0)
    }
}

/// The first argument of a process that launches cases for a profiler. The path of a file with
/// [`ProfiledCases`] follows.
pub const PROFILED_FLAG: &str = "--gpubench-profiled";

/// The contents of the file that a profiled process reads: which cases to launch.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProfiledCases {
    /// The cases to launch.
    pub cases: Vec<PlannedCase>,
    /// The number of launches of each case.
    pub launches: usize,
    /// The path of the file to which failures are written. Each failed case has a line, with the number of
    /// the case, counted from 0, and the reason.
    pub failures: PathBuf,
}

/// Launches the cases in `file`, which contains [`ProfiledCases`]: the whole life of a profiled process.
///
/// # Errors
/// Returns an error if there is no such file, or if failures cannot be written.
pub fn serve_profiled(file: &Path) -> io::Result<()> {
    let ProfiledCases { cases, launches, failures } = json::from_slice(&fs::read(file)?)?;
    let mut failures = File::create(failures)?;
    let mut worker = WorkerState::begin();
    for (number, case) in cases.into_iter().enumerate() {
        let PlannedCase { benchmark, args, device, cache } = case;
        let job = Job::new(benchmark, args, device, vec![cache]);
        let request = Request::Profile { job, number, launches };
        let mut failed = None;
        worker.answer(&request, &mut |reply| match reply {
            Reply::Tested(Err(failure)) => failed = Some(failure.to_string()),
            Reply::NoDevice(why) => failed = Some(why),
            _ => {}
        });
        if let Some(why) = failed {
            writeln!(failures, "{}", serde_json::to_string(&(number, why))?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::method::Cache;

    /// A profiled process reports each case that it cannot launch, with its number, and continues.
    #[test]
    fn failed_cases_are_reported_with_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let [cases, file] = ["cases", "failures"].map(|name| folder.path().join(name));
        let case = |device: &str| PlannedCase {
            benchmark: "nobody has it".to_owned(),
            args: Vec::new(),
            device: device.to_owned(),
            cache: Cache::Hot,
        };
        let request = ProfiledCases {
            cases: ["host", "nowhere:0"].map(case).to_vec(),
            launches: 3,
            failures: file.clone(),
        };
        fs::write(&cases, serde_json::to_vec(&request).expect("JSON")).expect("it can be written");
        serve_profiled(&cases).expect("it can be read");
        let text = fs::read_to_string(&file).expect("it was written");
        let failed: Vec<(usize, String)> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(failed.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1], "{failed:?}");
        assert!(
            failed.iter().all(|(_, why)| why.contains("nobody has it") || why.contains("nowhere")),
            "{failed:?}"
        );
    }
}
