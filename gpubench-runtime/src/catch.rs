//! Runs the user's code, so that a panic in it fails its case and does not end the process.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use gpubench_records::failure::{Failure, Stage};

/// Runs `code`, which belongs to `stage`. A panic becomes a failure of that stage.
pub(crate) fn catch<T>(stage: Stage, code: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    HOOK.call_once(keep_caught_panics_quiet);
    CATCHING.fetch_add(1, Ordering::SeqCst);
    let result = catch_unwind(AssertUnwindSafe(code));
    CATCHING.fetch_sub(1, Ordering::SeqCst);
    result.unwrap_or_else(|payload| {
        let recorded = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        let message = recorded.unwrap_or_else(|| payload_text(payload.as_ref()).to_owned());
        Err(Failure::new(stage, format_args!("panicked at {message}")))
    })
}

// One hook for all threads, because a launch may panic on a thread of its device's pool.
static HOOK: Once = Once::new();
static CATCHING: AtomicUsize = AtomicUsize::new(0);
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the place and message of a caught panic for the row of its case, and does not print them.
fn keep_caught_panics_quiet() {
    let uncaught = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if CATCHING.load(Ordering::SeqCst) == 0 {
            return uncaught(info);
        }
        let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let text = format!("{place}: {}", payload_text(info.payload()));
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }));
}

fn payload_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no message)")
}
