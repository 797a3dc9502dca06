//! Threads that work on when their job is done: they would take processors from the next one. In: the threads of this process; out:
//! true if one works on and on. Threads that wait are no matter, however many: pools and drivers keep theirs.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::system::stat::Stat;

/// The longest time for a thread to come to rest. A thread of a pool looks for more work for a moment.
const REST: Duration = Duration::from_millis(100);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The processor time of each thread that runs or could, but for this one, in the system's ticks.
type Running = BTreeMap<String, u64>;

/// Returns true if a thread other than this one uses processor time without a pause. Takes longer than one look only if some thread
/// runs.
pub(super) fn work_on() -> bool {
    let begin = Instant::now();
    let first = running();
    let mut always = first.clone();
    while !always.is_empty() && begin.elapsed() < REST {
        thread::sleep(PAUSE);
        let now = running();
        always = always.into_keys().filter_map(|task| now.get_key_value(&task)).map(owned).collect();
    }
    // One that only waited for a processor all the time has used none.
    always.iter().any(|(task, ticks)| first.get(task).is_some_and(|before| ticks > before))
}

fn owned((task, ticks): (&String, &u64)) -> (String, u64) {
    (task.clone(), *ticks)
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
        // On a busy machine it may get no processor within one look.
        let found = (0..50).any(|_| work_on());
        end.store(true, Ordering::Relaxed);
        spins.join().expect("no panic");
        assert!(found);
    }
}
