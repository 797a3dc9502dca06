//! The signals that ask a process to end.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown, register_usize};

/// Returns the place of the number of the signal that comes from now on, 0 before. A second one ends the process.
pub(crate) fn watch() -> Arc<AtomicUsize> {
    let seen = Arc::new(AtomicUsize::new(0));
    let again = Arc::new(AtomicBool::new(false));
    // `nohup` ignores the end of the terminal, and its child processes inherit that.
    let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
        // Registration fails only for signals that cannot be caught, and these can. The handler that
        // notes a signal is registered last, so that the first signal finds no earlier one.
        _ = register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
        _ = register(signal, Arc::clone(&again));
        _ = register_usize(signal, Arc::clone(&seen), signal as usize);
    }
    seen
}

/// Has all such signals end nothing.
pub(crate) fn outlive() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Has writes beyond a limit on the size of files return an error, where the system would end the process.
pub(crate) fn outlive_file_limits() {
    // Fails only for signals that cannot be caught, and this one can. The flag is nobody's: the write says what happened.
    _ = register(SIGXFSZ, Arc::default());
}

/// Returns true if this process was started with `signal` ignored, as far as the system reports it.
fn is_ignored(signal: c_int) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| mask_has(&status, signal))
}

/// Looks for `signal` in the mask of ignored signals. The lowest bit is that of signal 1.
fn mask_has(status: &str, signal: c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status = "Name:\tsuite\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert!(mask_has(status, SIGHUP) && mask_has(status, 13));
        assert!(!mask_has(status, SIGINT) && !mask_has("Name:\tsuite\n", SIGHUP));
    }
}
