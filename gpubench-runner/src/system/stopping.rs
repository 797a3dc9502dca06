//! The signals that ask a process to end: SIGINT, SIGTERM and SIGHUP. The first one is stored; a second one ends the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{ffi::c_int, fs, io};

use gpubench_records::threads;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_usize};
use signal_hook::{iterator::Signals, low_level::exit};

/// The signals that ask this process to end.
const STOP_SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];
/// The same signal again within this time is the same request: `timeout` of GNU sends its signal to a process and to its group.
const SAME_REQUEST_INTERVAL: Duration = Duration::from_millis(500);

/// The number of the last signal since [`watch`] was called; 0 if none came.
static LAST_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// The first signal, and when it came: decides whether a second one is a new request.
static FIRST_SIGNAL: Mutex<Option<(c_int, Instant)>> = Mutex::new(None);

/// Begins to watch for a signal that asks this process to end, and discards earlier ones. A second signal ends the process at once, unless it
/// is the same one within half a second.
pub(crate) fn watch() {
    static LISTENING: Once = Once::new();

    *FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner) = None;
    LAST_SIGNAL.store(0, Ordering::SeqCst);
    LISTENING.call_once(listen);
}

/// Returns the number of the signal that came since, if any.
pub(crate) fn signal() -> Option<u8> {
    u8::try_from(LAST_SIGNAL.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
}

/// Returns true if a signal came.
pub(crate) fn has_signal() -> bool {
    signal().is_some()
}

/// Stores these signals at once, and handles them on a thread, one after the other. Without a thread, the first one ends the process, as
/// it does in any program.
fn listen() {
    let ready = Arc::new(Barrier::new(2));
    let is_ready = Arc::clone(&ready);
    let thread = threads::start("signals", move || {
        // `nohup` ignores the end of the terminal, and its child processes inherit that.
        let heeded = STOP_SIGNALS.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP));
        // Fails only for signals that cannot be caught, and these can.
        let signals = Signals::new(heeded.clone());
        heeded.for_each(|signal| _ = register_usize(signal, Arc::clone(&LAST_SIGNAL), signal as usize));
        ready.wait();
        if let Ok(mut signals) = signals {
            signals.forever().for_each(handle);
        }
    });
    if thread.is_ok() {
        is_ready.wait();
    }
}

/// Stores the first signal. Ends the process at a second one, unless it belongs to the same request.
fn handle(signal: c_int) {
    let mut first = FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner);
    match *first {
        None => *first = Some((signal, Instant::now())),
        Some(first) if is_same_request(first, signal, Instant::now()) => {}
        Some(_) => exit(128 + signal),
    }
}

/// Returns true if a signal that comes `now` asks for no more than the first one.
fn is_same_request((first, came): (c_int, Instant), signal: c_int, now: Instant) -> bool {
    signal == first && now.duration_since(came) < SAME_REQUEST_INTERVAL
}

/// Makes this process ignore the signals that ask it to end.
pub(crate) fn ignore_stop_signals() -> io::Result<()> {
    for signal in STOP_SIGNALS {
        register(signal, Arc::default())?;
    }
    Ok(())
}

/// Has writes beyond a limit on the size of files return an error, where the system would end the process.
pub(crate) fn ignore_file_size_signal() {
    // Fails only for signals that cannot be caught, and this one can. No code reads the flag: the write returns an error.
    _ = register(SIGXFSZ, Arc::default());
}

/// Returns true if this process was started with `signal` ignored, as far as the system reports it.
pub(super) fn is_ignored(signal: c_int) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_in_mask(&status, signal))
}

/// Looks for `signal` in the mask of ignored signals. The lowest bit is that of signal 1.
fn is_in_mask(status: &str, signal: c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_signal_within_half_a_second_is_the_same_request() {
        let came = Instant::now();
        let is_same =
            |signal, after| is_same_request((SIGTERM, came), signal, came + Duration::from_millis(after));
        assert!(is_same(SIGTERM, 0) && is_same(SIGTERM, 499));
        assert!(!is_same(SIGTERM, 500) && !is_same(SIGINT, 0));
    }

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status = "Name:\tsuite\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignores = |signal| is_in_mask(status, signal);
        assert!(ignores(SIGHUP) && ignores(13) && !ignores(SIGINT));
        assert!(!is_in_mask("Name:\tsuite\n", SIGHUP));
    }
}
