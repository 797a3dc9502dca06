//! Threads that work on when their job is done: they would take processors from the next one. In: the threads of this process; out:
//! true if one works on and on. Threads that wait are no matter, however many: pools and drivers keep theirs.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::system::stat::Stat;

/// A thread works on if it has used so much processor time without being seen at rest, in the system's ticks of 10 ms. One of a pool
/// looks for more work for a moment; beside other busy programs that moment takes a hundred times as long, and no more processor time.
const REST: u64 = 8;
/// The longest wait for that. A thread that got less time until then is let be.
const PATIENCE: Duration = Duration::from_millis(800);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The processor time of each thread that runs or could, but for this one, in the system's ticks.
type Running = BTreeMap<String, u64>;

/// Returns true if a thread other than this one uses processor time without a pause. Takes longer than one look only if some thread
/// runs.
pub(super) fn work_on() -> bool {
    let begin = Instant::now();
    let first = running();
    let mut always: Vec<String> = first.keys().cloned().collect();
    while !always.is_empty() && begin.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
        let now = running();
        always.retain(|task| now.contains_key(task));
        if always.iter().any(|task| has_worked(first[task], now[task])) {
            return true;
        }
    }
    false
}

/// Returns true if a thread that was never seen at rest has used too much time for one that is about to rest.
fn has_worked(first: u64, now: u64) -> bool {
    now >= first + REST
}

fn running() -> Running {
    let own = fs::read_link("/proc/thread-self").ok();
    let own = own.as_deref().and_then(|path| path.file_name()).unwrap_or_default();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = tasks.filter(|task| task.file_name() != own);
    let read = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("stat")).ok()?;
        let stat = Stat::read(&text).filter(Stat::is_runnable)?;
        Some((task.file_name().into_string().ok()?, stat.ticks()?))
    };
    others.filter_map(read).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Waiting for a processor is no work, and a tick may begin at any moment.
    #[test]
    fn what_counts_is_processor_time() {
        assert_eq!(
            [(100, 100), (100, 107), (100, 108)].map(|(first, now)| has_worked(first, now)),
            [false, false, true]
        );
    }

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
        let found = (0..50).any(|_| work_on());
        end.store(true, Ordering::Relaxed);
        spins.join().expect("no panic");
        assert!(found);
    }
}
