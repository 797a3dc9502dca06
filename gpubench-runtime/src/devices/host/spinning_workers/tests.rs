//! Workers of a real pool, and the policy of waiting for them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use rayon::prelude::*;

use super::*;

/// A thread belongs to one pool, so each test has its own thread.
fn on_a_pool(test: impl FnOnce(&PinnedPool) + Send) {
    thread::scope(|scope| {
        scope.spawn(|| test(&PinnedPool::of_this_thread().expect("the pool starts")));
    });
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {}
}

/// Launches a part for each thread, and returns the threads that executed them.
fn launch(stream: &PinnedPool) -> HashSet<ThreadId> {
    let parts: Vec<usize> = (0..stream.threads()).collect();
    stream.pool.install(|| {
        let threads = parts.par_chunks(1).map(|_| {
            spin(Duration::from_micros(500));
            thread::current().id()
        });
        threads.collect()
    })
}

#[test]
fn launches_of_several_parts_keep_the_workers_spinning() {
    on_a_pool(|stream| {
        let mut spinning = SpinningWorkers::new(stream, Cache::Hot);
        let threads = (0..50).map(|_| {
            spinning.make_ready(stream);
            spinning.during(|| launch(stream)).len()
        });
        let threads: Vec<usize> = threads.collect();
        // If other programs run, workers may be late.
        let come = spinning.policy.next_launch_waits(true);
        assert_eq!(spinning.are_needed(), come && stream.threads() > 1, "{threads:?}");
        assert!(!come || threads.contains(&stream.threads()), "all threads work: {threads:?}");
    });
}

#[test]
fn launches_of_one_part_let_the_workers_sleep() {
    on_a_pool(|stream| {
        let mut spinning = SpinningWorkers::new(stream, Cache::Hot);
        for _ in 0..50 {
            spinning.make_ready(stream);
            spinning.during(|| spin(Duration::from_micros(20)));
        }
        assert!(!spinning.are_needed());
        let begin = Instant::now();
        while !spinning.is_ready() {
            assert!(begin.elapsed() < Duration::from_secs(10), "they sleep soon");
            spinning.make_ready(stream);
        }
    });
}

/// Spinning workers execute work between launches, such as a flush. It does not count as work of the
/// launches.
#[test]
fn work_between_launches_is_done_and_does_not_count() {
    on_a_pool(|stream| {
        let mut spinning = SpinningWorkers::new(stream, Cache::Hot);
        for _ in 0..20 {
            spinning.make_ready(stream);
            spinning.during(|| ());
            assert!(!launch(stream).is_empty());
            assert_eq!(stream.on_each_thread(|| ()).len(), stream.threads());
        }
        assert!(!spinning.workers.worked());
    });
}

/// A late worker was called several times, and executes the last call while it spins.
#[test]
fn a_call_during_a_launch_is_no_work_of_it() {
    on_a_pool(|stream| {
        let mut spinning = SpinningWorkers::new(stream, Cache::Hot);
        for _ in 0..20 {
            spinning.make_ready(stream);
            let (workers, returned) = (Arc::clone(&spinning.workers), Arc::new(AtomicUsize::new(0)));
            let count = Arc::clone(&returned);
            spinning.during(|| {
                stream.on_other_threads(move |index| {
                    workers.spin_as_worker(index - 1);
                    count.fetch_add(1, Ordering::Relaxed);
                });
                let begin = Instant::now();
                while returned.load(Ordering::Relaxed) + 1 < stream.threads() {
                    assert!(begin.elapsed() < Duration::from_secs(10), "each returns at once");
                }
            });
        }
        assert!(!spinning.workers.worked());
    });
}

#[test]
fn a_launch_that_panics_does_not_keep_the_workers() {
    on_a_pool(|stream| {
        let mut spinning = SpinningWorkers::new(stream, Cache::Hot);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            spinning.during(|| panic!("of the launch"));
        }));
        assert!(panicked.is_err());
        // During a launch it would return at once.
        let begin = Instant::now();
        spinning.workers.keep_spinning();
        if !spinning.workers.each.is_empty() {
            spinning.workers.spin_as_worker(0);
            assert!(begin.elapsed() > SPIN_TIME / 2);
        }
    });
}

#[test]
fn a_call_within_a_launch_returns_at_once() {
    let workers = Workers::new(1);
    workers.keep_spinning();
    let launching = workers.begin_launch();
    workers.spin_as_worker(0);
    assert!(workers.none_spins());
    drop(launching);
    // It spins on this thread for the whole time.
    let begin = Instant::now();
    workers.spin_as_worker(0);
    assert!(begin.elapsed() > SPIN_TIME / 2);
    assert!(workers.none_spins() && !workers.worked());
}

#[test]
fn few_may_be_missing_and_without_workers_none_is() {
    assert!(Workers::new(0).ping());
    assert!(!Workers::new(1).ping());
    let workers = Workers::new(WORKERS_PER_MISSING_ONE);
    for worker in &workers.each[1..] {
        worker.answer.store(1, Ordering::Release);
    }
    assert!(workers.ping(), "one of sixteen");
    assert!(!workers.ping(), "the next ping has no answer yet");
}

/// Counts launches of this length until they do not wait for workers, at most `most`.
fn waiting_launches(micros: u64, gave_work: bool, most: usize) -> usize {
    let mut policy = WakeUpPolicy::new(Cache::Hot);
    for number in 0..most {
        if !policy.next_launch_waits(gave_work) {
            return number;
        }
        policy.count_waited(true);
        policy.add_launch_time(Duration::from_micros(micros));
    }
    most
}

#[test]
fn launches_that_give_work_always_wait() {
    assert_eq!(waiting_launches(2, true, 1_000), 1_000);
    assert_eq!(waiting_launches(10_000, true, 1_000), 1_000);
}

#[test]
fn launches_that_give_no_work_stop_waiting_after_some_tries() {
    assert_eq!(waiting_launches(2, false, 1_000), TRIES_OF_SHORT);
    assert_eq!(waiting_launches(10_000, false, 1_000), TRIES_OF_LONG);
}

#[test]
fn launches_much_longer_than_the_wake_up_time_do_not_wait() {
    assert_eq!(waiting_launches(20_001, true, 1_000), 1);
}

#[test]
fn late_workers_are_not_waited_for_until_later() {
    let mut policy = WakeUpPolicy::new(Cache::Cold);
    for _ in 0..=LATE_LAUNCHES {
        assert!(policy.next_launch_waits(true));
        policy.count_waited(false);
    }
    for _ in 0..RETRY_AFTER_LAUNCHES {
        assert!(!policy.next_launch_waits(true));
        policy.count_not_waited();
    }
    assert!(policy.next_launch_waits(true), "they may come now");
    // Some of many launches may begin without them.
    for number in 0..20 * LAUNCHES_PER_LATE_ONE {
        policy.count_waited(number % (2 * LAUNCHES_PER_LATE_ONE) > 0);
        assert!(policy.next_launch_waits(true), "{number}");
    }
}

#[test]
fn short_back_to_back_launches_wait_for_a_short_time() {
    let patience = |cache, micros: &[u64]| {
        let mut policy = WakeUpPolicy::new(cache);
        micros.iter().for_each(|micros| policy.add_launch_time(Duration::from_micros(*micros)));
        policy.next_wait()
    };
    assert_eq!(patience(Cache::Hot, &[]), LONGEST_WAIT);
    assert_eq!(patience(Cache::Hot, &[900, 2]), SHORTEST_WAIT);
    assert_eq!(patience(Cache::Hot, &[100, 140]), Duration::from_micros(6_400));
    assert_eq!(patience(Cache::Hot, &[5_000]), LONGEST_WAIT);
    assert_eq!(patience(Cache::Cold, &[2]), LONGEST_WAIT);
}
