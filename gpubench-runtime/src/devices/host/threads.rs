//! The times of a pool's threads, by the scheduler's own counts. In: the pool; out: for each of its threads the time that it ran, and the
//! time that it had work and waited for a processor. Nothing if the system does not count it.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::Path;

use super::Stream;
use crate::device::one_by_one::ThreadTime;
use gpubench_stats::units::Nanoseconds;

/// The files of a pool's threads, which stay open.
#[derive(Debug, Default)]
pub(super) struct PoolThreads {
    /// The thread that measures comes first.
    threads: Vec<File>,
}

impl PoolThreads {
    /// Opens the files of all threads of the stream's pool; none if one of them has none.
    pub(super) fn of(stream: &Stream) -> Self {
        let threads: Option<Vec<File>> = stream.on_each_thread(of_this_thread).into_iter().collect();
        Self { threads: threads.unwrap_or_default() }
    }

    /// Appends the time of each thread since it began. A wait is counted once it has ended.
    pub(super) fn times(&self, times: &mut Vec<ThreadTime>) {
        times.extend(self.threads.iter().filter_map(|thread| read(&contents(thread)?)));
    }
}

/// Opens the counts of the calling thread.
fn of_this_thread() -> Option<File> {
    // By its number: `thread-self` would be whoever reads.
    let thread = fs::read_link("/proc/thread-self").ok()?;
    File::open(Path::new("/proc").join(thread).join("schedstat")).ok()
}

/// Reads a file of counts from its start.
fn contents(mut file: &File) -> Option<String> {
    let mut room = [0; 96];
    file.rewind().ok()?;
    let length = file.read(&mut room).ok()?;
    String::from_utf8(room[..length].to_vec()).ok()
}

/// `989850 3021 2`: nanoseconds that it ran and that it waited, and the number of times that it ran.
fn read(counts: &str) -> Option<ThreadTime> {
    let mut counts = counts.split_whitespace().map(|count| count.parse().map(Nanoseconds).ok());
    Some(ThreadTime { ran: counts.next()??, waited: counts.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn counts_read_as_linux_writes_them() {
        let told = read("989850 3021 2\n").expect("they are counts");
        assert_eq!(told, ThreadTime { ran: Nanoseconds(989_850.0), waited: Nanoseconds(3_021.0) });
        assert_eq!([read(""), read("17"), read("- - -")], [None; 3]);
    }

    #[test]
    fn each_thread_that_works_runs() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let stream = Stream::of_this_thread().expect("the pool starts");
            let threads = PoolThreads::of(&stream);
            let times = || {
                let mut times = Vec::new();
                threads.times(&mut times);
                times
            };
            let before = times();
            // Not every system counts.
            if before.is_empty() {
                return;
            }
            assert_eq!(before.len(), stream.threads());
            stream.on_each_thread(|| {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(30) {
                    black_box(begin);
                }
            });
            for (before, after) in before.iter().zip(times()) {
                let occupied = (after.ran + after.waited) - (before.ran + before.waited);
                assert!(occupied > Nanoseconds(20e6), "{before:?} {after:?}");
            }
        });
        checked.join().expect("it holds");
    }
}
