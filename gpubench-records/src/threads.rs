//! Threads of a process beside its first. In: a name and work; out: the thread, or an error that says what to do.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread. [`std::thread::spawn`] panics where the system has no more.
///
/// # Errors
/// If the system has no more threads.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    // One type for all work with the same result: the code that starts a thread is compiled once for each type.
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    Builder::new().name(name.to_owned()).spawn(work).map_err(|error| not_started(&error))
}

/// Returns the error of a thread that could not be started, with what to do.
pub fn not_started(error: &io::Error) -> io::Error {
    let advice = "raise the limit of processes and threads: `ulimit -u`, or pids.max of the container";
    io::Error::new(error.kind(), format!("cannot start a thread: {error} ({advice})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_and_a_missing_one_says_what_to_do() {
        assert_eq!(start("adds", || 1 + 1).expect("it starts").join().expect("no panic"), 2);
        let error = not_started(&io::ErrorKind::WouldBlock.into());
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(error.to_string().contains("`ulimit -u`"), "{error}");
    }
}
