//! Runs the user's code so that a panic fails its case and does not end the process. This also holds for a
//! panic in a thread that the code started and does not wait for.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::{any::Any, env, mem};

use gpubench_records::{Failure, Stage};

/// Runs `code`, and returns its result. A panic of `code` becomes a failure of `stage`. Meanwhile, panics of
/// all threads print nothing. Panics of other threads are remembered for [`panic_in_detached_thread`], unless
/// `code` panics too.
pub(crate) fn catch<T>(stage: Stage, code: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let before = begin_catching();
    let result =
        catch_unwind(AssertUnwindSafe(code)).map_err(|payload| failure_of_panic(stage, payload, before));
    end_catching();
    result.flatten()
}

/// Runs `code`, which fails only if it panics. See [`catch`].
pub(crate) fn catch_panic<T>(stage: Stage, code: impl FnOnce() -> T) -> Result<T, Failure> {
    catch(stage, || Ok(code()))
}

// What follows is compiled once and not for each `T`.

/// Begins a call of [`catch`]. Returns the number of panics that are remembered so far.
fn begin_catching() -> usize {
    INSTALL_HOOK.call_once(install_hook);
    ACTIVE_CATCHES.fetch_add(1, Ordering::SeqCst);
    remembered_panics().len()
}

/// Ends a call of [`catch`]. Forgets the panics of this thread, which `code` may have caught itself.
fn end_catching() {
    // The code may itself have caught panics of this thread.
    let own = thread::current().id();
    remembered_panics().retain(|(thread, _)| *thread != own);
    ACTIVE_CATCHES.fetch_sub(1, Ordering::SeqCst);
}

/// Returns the failure of `stage` for a caught panic with this payload, and drops the payload. The message is
/// that of the last new panic of this thread; if there is none, that of the last new panic of any thread; if
/// there is none either, the text of the payload. New are the remembered panics after the first `before`;
/// they are forgotten.
fn failure_of_panic(stage: Stage, payload: Box<dyn Any + Send>, before: usize) -> Failure {
    let own = thread::current().id();
    let mut panics = remembered_panics();
    let before = before.min(panics.len());
    let mut new = panics.split_off(before);
    drop(panics);
    // A pool passes on the panic of one of its threads: the last is the one that arrives.
    let index = new.iter().rposition(|(thread, _)| *thread == own).or(new.len().checked_sub(1));
    let recorded = index.map(|index| new.swap_remove(index).1);
    let mut message = recorded.unwrap_or_else(|| payload_text(payload.as_ref()).to_owned());
    drop_payload(payload);
    // The system's error has no path.
    if message.contains("kind: NotFound") {
        let folder = env::current_dir().unwrap_or_default();
        message += &format!(" (paths are relative to {})", folder.display());
    }
    Failure::new(stage, format_args!("panicked at {message}"))
}

/// Drops the payload of a panic. If the drop panics too, leaks the payload of the second panic.
fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(another);
    }
}

/// Runs [`install_hook`] before the first call of [`catch`]. All threads share the hook, because a launch may
/// panic on a thread of its device's pool.
static INSTALL_HOOK: Once = Once::new();
/// The number of calls of [`catch`] in progress, on all threads.
static ACTIVE_CATCHES: AtomicUsize = AtomicUsize::new(0);
/// The panics since the job began that no failure has reported, oldest first: of each, the thread, and the
/// source location and the message.
static REMEMBERED_PANICS: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

/// The most panics that are remembered at a time. Later panics are not remembered: a launch may start thread
/// after thread that panics.
const MOST_REMEMBERED_PANICS: usize = 100;

/// Locks and returns the remembered panics.
fn remembered_panics() -> MutexGuard<'static, Vec<(ThreadId, String)>> {
    REMEMBERED_PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A panic hook, as the standard library stores it.
type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// The panic hook of the program before gpubench first installed its own. It prints panics while no call of
/// [`catch`] is in progress.
static ORIGINAL_HOOK: OnceLock<Hook> = OnceLock::new();

/// Installs [`remember_panic`] as the panic hook. The first call stores the former hook in [`ORIGINAL_HOOK`].
fn install_hook() {
    // A later one is ours, or one that a benchmark has left.
    _ = ORIGINAL_HOOK.set(panic::take_hook());
    panic::set_hook(Box::new(remember_panic));
}

/// The installed panic hook. Remembers the source location and the message of a panic, and calls the original
/// hook if no call of [`catch`] is in progress.
fn remember_panic(info: &PanicHookInfo<'_>) {
    if ACTIVE_CATCHES.load(Ordering::SeqCst) == 0
        && let Some(uncaught) = ORIGINAL_HOOK.get()
    {
        uncaught(info);
    }
    let location = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let text = format!("{location}: {}", payload_text(info.payload()));
    let mut panics = remembered_panics();
    if panics.len() < MOST_REMEMBERED_PANICS {
        panics.push((thread::current().id(), text));
    }
}

/// Begins a job: forgets the panics of earlier jobs' threads, and installs the panic hook again in case an
/// earlier job has replaced it.
pub(crate) fn forget_panics() {
    install_hook();
    remembered_panics().clear();
}

/// Returns a failure for the first remembered panic: one since the job began, of a thread that no launch
/// waits for. Returns `None` if no panic is remembered.
pub(crate) fn panic_in_detached_thread() -> Option<Failure> {
    let panics = remembered_panics();
    let (_, text) = panics.first()?;
    Some(Failure::new(Stage::Launch, format_args!("a thread that nobody waits for panicked at {text}")))
}

/// Returns the message of a panic, or `(no message)` if its payload is no string.
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
    fn a_panic_is_reported_with_its_location_with_any_payload_and_any_hook() {
        let text = message(catch(Stage::Launch, || panic_any(Bomb)));
        assert!(text.contains("panicked at ") && text.ends_with(": (no message)"), "{text}");
        panic::set_hook(Box::new(|_| ()));
        forget_panics();
        let text = message(catch(Stage::Launch, || panic!("here")));
        assert!(text.contains("catch.rs:") && text.ends_with(": here"), "{text}");
        // The system's error names no file.
        let text = message(catch(Stage::Args, || {
            std::fs::read("no-such-file").expect("sizes");
            Ok(())
        }));
        assert!(
            text.starts_with("args: panicked at ") && text.contains(" (paths are relative to /"),
            "{text}"
        );
    }
}
