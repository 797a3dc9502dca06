//! The signals that ask a process to end.

use std::ffi::c_int;
use std::fs;
use std::sync::Arc;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

/// The signals that end a run: Ctrl-C, SIGTERM, and the end of the terminal unless `nohup` ignores it, which its child processes
/// inherit.
pub(crate) fn signals() -> impl Iterator<Item = c_int> {
    [SIGINT, SIGTERM].into_iter().chain((!is_ignored(SIGHUP)).then_some(SIGHUP))
}

/// All signals that may do so.
pub(crate) const ALL: [c_int; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Has writes beyond a limit on the size of files return an error, where the system would end the process.
pub(crate) fn outlive_file_limits() {
    // Fails only for signals that cannot be caught, and this one can. The flag is nobody's: the write says what happened.
    _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
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
