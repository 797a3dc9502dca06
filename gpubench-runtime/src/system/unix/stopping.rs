//! The signals that ask a process to end.

use std::ffi::c_int;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gpubench_records::threads;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown, register_usize};
use signal_hook::low_level::pipe;

/// The signals that ask this process to end.
const ASKING: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The same signal again within this time is the same request: `timeout` of GNU sends its signal to a process and to its group.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// The signals that are heeded, each with a flag that is true once it ends the process.
type Heeded = Vec<(c_int, Arc<AtomicBool>)>;

/// Looks for a signal that asks this process to end.
pub(crate) struct SignalWatch {
    /// The number of the signal that came, 0 before.
    seen: Arc<AtomicUsize>,
    /// True if the process was started with some of them blocked.
    some_blocked: bool,
}

impl SignalWatch {
    /// Begins to look. A second signal ends the process: another one at once, the same again after half a second.
    pub(crate) fn start() -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        heed(&seen);
        Self { seen, some_blocked: ASKING.iter().any(|signal| is_in("SigBlk:", *signal)) }
    }

    /// Returns the number of the first signal that came, 0 before.
    pub(crate) fn signal(&self) -> usize {
        match self.seen.load(Ordering::SeqCst) {
            // A blocked signal reaches no handler, and waits.
            0 if self.some_blocked => waiting().unwrap_or(0) as usize,
            seen => seen,
        }
    }
}

/// Notes the first signal in `seen`, and has a second one end the process.
fn heed(seen: &Arc<AtomicUsize>) -> Heeded {
    // `nohup` ignores the end of the terminal, and its child processes inherit that.
    let asking = ASKING.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP));
    let heeded: Heeded = asking.map(|signal| (signal, Arc::default())).collect();
    for (signal, ends) in &heeded {
        // Registration fails only for signals that cannot be caught, and these can. The handler that ends the process is registered
        // first, so that it finds what earlier signals did, and not this one.
        _ = register_conditional_shutdown(*signal, 128 + signal, Arc::clone(ends));
        for (_, ends) in heeded.iter().filter(|(other, _)| other != signal) {
            _ = register(*signal, Arc::clone(ends));
        }
        _ = register_usize(*signal, Arc::clone(seen), *signal as usize);
    }
    if end_by_the_same(heeded.clone()).is_err() {
        // Without a thread that waits, nobody knows how late it is.
        for (signal, ends) in &heeded {
            _ = register(*signal, Arc::clone(ends));
        }
    }
    heeded
}

/// Has all of these signals end the process, some time after the first that comes.
fn end_by_the_same(heeded: Heeded) -> io::Result<()> {
    let (mut first, teller) = UnixStream::pair()?;
    for (signal, _) in &heeded {
        pipe::register(*signal, teller.try_clone()?)?;
    }
    threads::start("signals", move || {
        if first.read_exact(&mut [0]).is_ok() {
            thread::sleep(SAME_REQUEST);
            heeded.iter().for_each(|(_, ends)| ends.store(true, Ordering::SeqCst));
        }
    })?;
    Ok(())
}

/// Returns a signal that waits for this process to unblock it.
fn waiting() -> Option<c_int> {
    ASKING.into_iter().find(|signal| is_in("ShdPnd:", *signal))
}

/// Has all such signals end nothing.
pub(crate) fn outlive() -> io::Result<()> {
    for signal in ASKING {
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
pub(super) fn is_ignored(signal: c_int) -> bool {
    is_in("SigIgn:", signal)
}

/// Looks for `signal` in the mask of this `name` in the status of this process.
fn is_in(name: &str, signal: c_int) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| mask_has(&status, name, signal))
}

/// Looks for `signal` in a mask. The lowest bit is that of signal 1.
fn mask_has(status: &str, name: &str, signal: c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use signal_hook::low_level::raise;

    use super::*;

    /// Behind a first signal, another one ends the process, and the same one after a while.
    #[test]
    fn the_same_signal_again_ends_a_process_later_than_another() {
        let seen = Arc::new(AtomicUsize::new(0));
        let heeded = heed(&seen);
        let ends = |signal| heeded.iter().any(|(it, ends)| *it == signal && ends.load(Ordering::SeqCst));
        assert!(!ends(SIGINT) && !ends(SIGTERM));
        let begin = Instant::now();
        raise(SIGTERM).expect("it is heeded");
        raise(SIGTERM).expect("it is heeded");
        assert!(ends(SIGINT));
        assert_eq!(seen.load(Ordering::SeqCst), SIGTERM as usize);
        while !ends(SIGTERM) && begin.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(ends(SIGTERM) && begin.elapsed() >= SAME_REQUEST, "{:?}", begin.elapsed());
    }

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status = "Name:\tsuite\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignores = |signal| mask_has(status, "SigIgn:", signal);
        assert!(ignores(SIGHUP) && ignores(13) && !ignores(SIGINT));
        assert!(mask_has(status, "SigBlk:", SIGHUP) && !mask_has(status, "SigBlk:", 13));
        assert!(!mask_has("Name:\tsuite\n", "SigIgn:", SIGHUP));
    }
}
