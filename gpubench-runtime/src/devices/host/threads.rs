//! The time of this process's threads, by the scheduler's own counts. In: `/proc/self/task`; out: the time that they ran, and the
//! time that they had work and waited for a processor. Nothing if the system does not count it.

use std::fs;

use crate::device::one_by_one::ThreadTime;
use gpubench_stats::units::Nanoseconds;

/// Returns the times of all threads together, since each began.
pub(super) fn time() -> Option<ThreadTime> {
    let threads = fs::read_dir("/proc/self/task").ok()?.flatten();
    let counts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    counts
        .filter_map(|counts| of_thread(&counts))
        .reduce(|sum, other| ThreadTime { ran: sum.ran + other.ran, waited: sum.waited + other.waited })
}

/// `989850 3021 2`: nanoseconds that it ran and that it waited, and the number of times that it ran.
fn of_thread(counts: &str) -> Option<ThreadTime> {
    let mut counts = counts.split_whitespace().map(|count| count.parse().map(Nanoseconds).ok());
    Some(ThreadTime { ran: counts.next()??, waited: counts.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_linux_writes_them() {
        let told = of_thread("989850 3021 2\n").expect("they are counts");
        assert_eq!(told, ThreadTime { ran: Nanoseconds(989_850.0), waited: Nanoseconds(3_021.0) });
        assert_eq!([of_thread(""), of_thread("17"), of_thread("- - -")], [None; 3]);
    }

    #[test]
    fn a_thread_that_works_runs() {
        // Only this thread: others of this process may end, with their counts.
        let own = || of_thread(&fs::read_to_string("/proc/thread-self/schedstat").ok()?);
        let Some(before) = own() else { return };
        assert!(time().is_some(), "all of them are counted, or none");
        let begin = std::time::Instant::now();
        while begin.elapsed().as_millis() < 30 {
            std::hint::black_box(begin);
        }
        let after = own().expect("it was counted before");
        let occupied = (after.ran + after.waited) - (before.ran + before.waited);
        assert!(occupied > Nanoseconds(20e6), "{before:?} {after:?}");
    }
}
