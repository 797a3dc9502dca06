//! Runs the user's code, so that a panic in it fails its case and does not end the process: also a panic in a thread that the code
//! has started and does not wait for.

use std::any::Any;
use std::collections::HashSet;
use std::fs;
use std::mem;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use gpubench_records::failure::{Failure, Stage};

/// Runs `code`, which belongs to `stage`. A panic becomes a failure of that stage.
pub(crate) fn catch<T>(stage: Stage, code: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    HOOK.call_once(keep_caught_panics_quiet);
    let before = panics().len();
    CATCHING.fetch_add(1, Ordering::SeqCst);
    let result = catch_unwind(AssertUnwindSafe(code));
    let own = thread::current().id();
    let caught = result.unwrap_or_else(|payload| {
        let mut new = since(before);
        // A pool passes on the panic of one of its threads: the last is the one that arrives.
        let place = new.iter().rposition(|panic| panic.thread == own).or(new.len().checked_sub(1));
        let recorded = place.map(|place| new.swap_remove(place).text);
        let message = recorded.unwrap_or_else(|| payload_text(payload.as_ref()).to_owned());
        drop_quietly(payload);
        Err(Failure::new(stage, format_args!("panicked at {message}")))
    });
    // The code may itself have caught panics of this thread.
    panics().retain(|panic| panic.thread != own);
    CATCHING.fetch_sub(1, Ordering::SeqCst);
    caught
}

/// Takes the panics behind the first `before`: those of all threads that worked for the code.
fn since(before: usize) -> Vec<Panic> {
    let mut panics = panics();
    let before = before.min(panics.len());
    panics.drain(before..).collect()
}

/// Drops what a panic carries. It may panic once more, and what that carries is not dropped.
fn drop_quietly(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(another);
    }
}

// One hook for all threads, because a launch may panic on a thread of its device's pool.
static HOOK: Once = Once::new();
static CATCHING: AtomicUsize = AtomicUsize::new(0);
static PANICS: Mutex<Vec<Panic>> = Mutex::new(Vec::new());

/// The number of panics that are remembered: a launch may start one thread after the other.
const REMEMBERED: usize = 100;

/// A panic that nobody has reported.
struct Panic {
    thread: ThreadId,
    /// The system's number of the thread.
    task: Option<String>,
    /// Its place and its message.
    text: String,
}

fn panics() -> MutexGuard<'static, Vec<Panic>> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The hook that the program had before the first job.
static UNCAUGHT: OnceLock<Hook> = OnceLock::new();

/// Keeps the place and message of a caught panic for the row of its case, and does not print them.
fn keep_caught_panics_quiet() {
    // A later one is ours, or one that a benchmark has left.
    _ = UNCAUGHT.set(panic::take_hook());
    panic::set_hook(Box::new(remember));
}

fn remember(info: &PanicHookInfo<'_>) {
    if CATCHING.load(Ordering::SeqCst) == 0
        && let Some(uncaught) = UNCAUGHT.get()
    {
        uncaught(info);
    }
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let text = format!("{place}: {}", payload_text(info.payload()));
    let mut panics = panics();
    if panics.len() < REMEMBERED {
        panics.push(Panic { thread: thread::current().id(), task: task(), text });
    }
}

/// The panics of threads that nobody waits for, while a job is in progress.
pub(crate) struct ThreadPanics {
    /// The threads that were there before the job.
    older: HashSet<String>,
}

impl ThreadPanics {
    /// Begins a job, with the hook of its own in the place of one that an earlier job may have left. Returns the panics of threads since
    /// that has ended.
    pub(crate) fn watch() -> (Self, Vec<String>) {
        keep_caught_panics_quiet();
        let late = panics().drain(..).map(|panic| panic.text).collect();
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let older = tasks.filter_map(|task| task.file_name().into_string().ok()).collect();
        (Self { older }, late)
    }

    /// Returns the first panic of a thread that the job has started, as the failure that it is. It stays the job's.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let panics = panics();
        let own = panics.iter().find(|panic| !self.is_older(panic))?;
        Some(Failure::new(
            Stage::Launch,
            format_args!("a thread that it had started panicked at {}", own.text),
        ))
    }

    /// Ends the job. Returns the panics of threads that were there before it.
    pub(crate) fn end(self) -> Vec<String> {
        let all: Vec<Panic> = panics().drain(..).collect();
        all.into_iter().filter(|panic| self.is_older(panic)).map(|panic| panic.text).collect()
    }

    fn is_older(&self, panic: &Panic) -> bool {
        panic.task.as_ref().is_some_and(|task| self.older.contains(task))
    }
}

/// Returns the system's number of this thread.
fn task() -> Option<String> {
    let path = fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str().map(str::to_owned)
}

fn payload_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("it goes off");
        }
    }

    fn message(failure: Result<(), Failure>) -> String {
        failure.expect_err("it panics").to_string()
    }

    #[test]
    fn a_panic_is_told_with_its_place_whatever_it_carries_and_whoever_had_set_a_hook() {
        let told = message(catch(Stage::Launch, || panic_any(Bomb)));
        assert!(told.contains("panicked at ") && told.ends_with(": (no message)"), "{told}");
        panic::set_hook(Box::new(|_| ()));
        _ = ThreadPanics::watch();
        let told = message(catch(Stage::Launch, || panic!("here")));
        assert!(told.contains("catch.rs:") && told.ends_with(": here"), "{told}");
    }
}
