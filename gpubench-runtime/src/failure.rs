//! What went wrong with one case. In: an error of the user's code, of a device, or a panic; out: one sentence with
//! the stage it happened in, which becomes the case's row. A failure costs its case and nothing else.

use std::any::Any;
use std::fmt::{self, Display};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use serde::{Deserialize, Serialize};

/// The part of a case's protocol in which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Evaluating the benchmark's `args`.
    Args,
    /// Opening the device or making its stream.
    Device,
    /// The user's `setup`.
    Setup,
    /// A call of the launch function.
    Launch,
    /// The user's `reset`.
    Reset,
    /// The user's `check` of the outputs.
    Check,
    /// The user's `bytes`, `reads`, `writes` or `flops`.
    Counts,
    /// Warming up and sampling.
    Sampling,
    /// The worker process itself.
    Worker,
}

impl Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Args => "args",
            Self::Device => "device",
            Self::Setup => "setup",
            Self::Launch => "launch",
            Self::Reset => "reset",
            Self::Check => "check",
            Self::Counts => "counts",
            Self::Sampling => "sampling",
            Self::Worker => "worker",
        })
    }
}

/// Why a case has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{stage}: {message}")]
pub struct Failure {
    /// Where in the protocol it happened.
    pub stage: Stage,
    /// What happened, in the words of whoever noticed it.
    pub message: String,
}

impl Failure {
    /// A failure of `stage` that reads as `message`.
    pub fn new(stage: Stage, message: impl Display) -> Self {
        Self { stage, message: message.to_string() }
    }

    /// Runs the user's code of `stage`, so that a panic in it is that case's failure rather than the process's end.
    pub(crate) fn catch<T>(stage: Stage, code: impl FnOnce() -> Result<T, Self>) -> Result<T, Self> {
        HOOK.call_once(keep_caught_panics_quiet);
        CATCHING.fetch_add(1, Ordering::SeqCst);
        let result = catch_unwind(AssertUnwindSafe(code));
        CATCHING.fetch_sub(1, Ordering::SeqCst);
        result.unwrap_or_else(|payload| {
            let told = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            let message = told.unwrap_or_else(|| payload_text(payload.as_ref()).to_owned());
            Err(Self::new(stage, format_args!("panicked at {message}")))
        })
    }
}

// Shared by all threads, since a launch may panic on a thread of its device's pool.
static HOOK: Once = Once::new();
static CATCHING: AtomicUsize = AtomicUsize::new(0);
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the place and message of a caught panic for the row of its case, in place of printing them.
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
