//! Two changes that a job can leave in its process and that falsify the times of later jobs: another rounding mode, and threads
//! that still run.

use std::time::{Duration, Instant};
use std::{collections::HashMap, fs, hint::black_box, thread};

use crate::system::machine::Stat;

/// The processor time, in ticks of 10 ms, after which a thread that was runnable at each observation counts
/// as busy. A pool's thread spins for a moment before it sleeps.
const BUSY_TICKS: u64 = 8;
/// The longest time for which threads are observed.
const MAX_OBSERVATION: Duration = Duration::from_millis(800);
const OBSERVATION_INTERVAL: Duration = Duration::from_millis(1);

/// Returns the bits of sums and products that differ between rounding modes, and if denormal numbers are
/// flushed to zero. Two equal results mean that this thread's floating-point mode is unchanged; only unsafe
/// code could read the register itself.
pub(super) fn arithmetic_fingerprint() -> [u64; 5] {
    let [one, tiny] = [1.0, f64::EPSILON / 1024.0].map(black_box);
    let [least, denormal, half] = [f64::MIN_POSITIVE, f64::from_bits(1), 0.5].map(black_box);
    // The first three differ in each direction of rounding.
    let results = [one + tiny, -one - tiny, one - tiny, least * half, denormal / black_box(f64::EPSILON)];
    results.map(|result| black_box(result).to_bits())
}

/// Observes the other threads of this process for at most [`MAX_OBSERVATION`]. Returns true if one of them
/// uses processor time without a pause. Returns false at once if no other thread runs.
pub(super) fn has_busy_threads() -> bool {
    let begin = Instant::now();
    let mut always = running_threads();
    while !always.is_empty() && begin.elapsed() < MAX_OBSERVATION {
        thread::sleep(OBSERVATION_INTERVAL);
        let now = running_threads();
        always.retain(|thread, _| now.contains_key(thread));
        if always.iter().any(|(thread, first)| now[thread] >= first + BUSY_TICKS) {
            return true;
        }
    }
    false
}

/// Returns the processor time of each other thread that runs or waits for a processor, in ticks. Empty where the system has no
/// `/proc`.
fn running_threads() -> HashMap<String, u64> {
    let own = fs::read_link("/proc/thread-self").ok();
    let own = own.as_deref().and_then(|path| path.file_name()).unwrap_or_default();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("stat")).ok()?;
        let stat = Stat::read(&text).filter(Stat::is_runnable)?;
        Some((thread.file_name().into_string().ok()?, stat.ticks()?))
    };
    threads.filter(|thread| thread.file_name() != own).filter_map(read).collect()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_thread_that_spins_is_found() {
        let end = Arc::new(AtomicBool::new(false));
        let spins = thread::spawn({
            let end = Arc::clone(&end);
            move || {
                while !end.load(Ordering::Relaxed) {
                    black_box(&end);
                }
            }
        });
        // On a busy machine it may get too little time within one wait.
        let found = (0..50).any(|_| has_busy_threads());
        end.store(true, Ordering::Relaxed);
        spins.join().expect("no panic");
        assert!(found);
    }
}
