//! Keeps the worker threads of a pool spinning for timed launches, as they do in a program that launches
//! continuously.
//!
//! A thread of rayon's pool that finds no work goes to sleep, and takes up to 50 µs to wake on a virtual
//! machine. A launch of 45 µs on two threads then takes 45 or 85 µs, for thousands of consecutive samples,
//! since the second thread is late each time. If other programs compete for the processors, an idle thread
//! yields its processor for milliseconds before it sleeps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{hint::spin_loop, sync::Arc, thread::sleep};

use crossbeam_utils::CachePadded;
use rayon::Yield;

use super::PinnedPool;
use gpubench_records::Cache;

/// The pause between pings of the workers, so that the measuring thread keeps a time slice for the launch.
const PING_PAUSE: Duration = Duration::from_micros(100);

/// Keeps the worker threads of a pool spinning, or asleep, during the launches of a case.
pub(super) struct SpinningWorkers {
    workers: Arc<Workers>,
    policy: WakeUpPolicy,
    /// True once [`Self::stop_spinning`] has found that no worker spins, until the workers are called to spin
    /// again.
    asleep: bool,
}

impl SpinningWorkers {
    /// Returns the state before the launches of a case, in this state of the cache. No worker spins yet.
    pub(super) fn new(stream: &PinnedPool, cache: Cache) -> Self {
        let workers = Arc::new(Workers::new(stream.threads() - 1));
        Self { workers, policy: WakeUpPolicy::new(cache), asleep: false }
    }

    /// Waits for the workers before a launch: until they spin and answer if launches may give them work,
    /// otherwise until none spins. Each wait has a limit. Counts the launch in the policy. Returns false if
    /// earlier launches gave work to the workers, and this launch must begin without them and is not very
    /// long.
    pub(super) fn make_ready(&mut self, stream: &PinnedPool) -> bool {
        if self.are_needed() {
            self.asleep = false;
            let all_spin = self.wake(stream);
            self.policy.count_waited(all_spin);
            return all_spin || !self.workers.worked();
        }
        self.stop_spinning();
        self.policy.count_not_waited();
        !self.workers.worked() || self.policy.is_very_long()
    }

    /// Returns true if a back-to-back launch can begin now: the workers answer a ping if they are needed, or
    /// none of them spins if they are not needed. Counts a launch that can begin with its workers.
    pub(super) fn is_ready(&mut self) -> bool {
        if !self.are_needed() {
            return self.asleep || self.workers.none_spins();
        }
        self.workers.keep_spinning();
        let all_spin = self.workers.ping();
        if all_spin {
            self.policy.count_waited(all_spin);
        }
        all_spin
    }

    /// Runs `launch`, and returns its result. Stores the time of the launch, unless it panics, and whether
    /// workers execute work during the launch.
    pub(super) fn during<R>(&mut self, launch: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let launched = {
            let _launching = self.workers.begin_launch();
            launch()
        };
        self.policy.add_launch_time(begin.elapsed());
        launched
    }

    /// Returns true if the next launch should wait for spinning workers, according to the wake-up policy and
    /// to whether workers took part in any earlier launch. Always returns false without other threads in the
    /// pool.
    pub(super) fn are_needed(&self) -> bool {
        !self.workers.each.is_empty() && self.policy.next_launch_waits(self.workers.worked())
    }

    /// Calls the workers to spin, and pings them repeatedly until a ping succeeds. Returns true then, and
    /// false if none succeeds within [`WakeUpPolicy::next_wait`].
    fn wake(&self, stream: &PinnedPool) -> bool {
        let (begin, patience) = (Instant::now(), self.policy.next_wait());
        while begin.elapsed() < patience {
            self.workers.keep_spinning();
            if !self.workers.all_spin() {
                let workers = Arc::clone(&self.workers);
                stream.on_other_threads(move |index| workers.spin_as_worker(index - 1));
            }
            if self.workers.ping() {
                return true;
            }
            sleep(PING_PAUSE);
        }
        false
    }

    /// Makes all workers stop spinning, and waits for that, at most [`SPIN_TIME`]. A spinning worker makes a
    /// launch of 80 ns on this thread take 140 ns.
    fn stop_spinning(&mut self) {
        if self.asleep {
            return;
        }
        self.workers.stop();
        let begin = Instant::now();
        while !self.workers.none_spins() && begin.elapsed() < SPIN_TIME {
            sleep(PING_PAUSE);
        }
        self.asleep = self.workers.none_spins();
    }
}

impl Drop for SpinningWorkers {
    fn drop(&mut self) {
        self.workers.stop();
    }
}

/// A worker spins for this long after the last call of `keep_spinning`: mostly longer than the time between
/// two samples.
const SPIN_TIME: Duration = Duration::from_millis(20);
/// A ping waits this long for the answers of spinning workers, plus [`ANSWER_TIME_EACH`] for each worker. A
/// worker takes longer if another program uses its processor.
const ANSWER_TIME: Duration = Duration::from_micros(20);
/// The additional time of a ping for each worker, since all workers read one value.
const ANSWER_TIME_EACH: Duration = Duration::from_nanos(500);
/// A ping succeeds if at most one in this many workers does not answer.
const WORKERS_PER_MISSING_ONE: usize = 16;

/// The state that the measuring thread and the worker threads share.
struct Workers {
    /// The origin of all times.
    origin: Instant,
    /// The time at which workers stop spinning, in nanoseconds since `origin`.
    until: CachePadded<AtomicU64>,
    /// True during a launch.
    launching: CachePadded<AtomicBool>,
    /// True once a worker has executed work of a launch.
    worked: CachePadded<AtomicBool>,
    /// The number of the last ping.
    ping: CachePadded<AtomicU64>,
    /// The state of each worker.
    each: Vec<CachePadded<SpinningWorker>>,
}

/// The state of one worker thread.
#[derive(Default)]
struct SpinningWorker {
    /// True while the worker spins.
    spins: AtomicBool,
    /// True after the worker, while it spins already, has executed a further call to spin. The worker clears
    /// it, and does not count the call as work of a launch.
    called_again: AtomicBool,
    /// The number of the last ping that the worker answered.
    answer: AtomicU64,
}

impl Workers {
    /// Returns the state of `count` workers, none of which spins yet.
    fn new(count: usize) -> Self {
        Self {
            origin: Instant::now(),
            until: CachePadded::default(),
            launching: CachePadded::default(),
            worked: CachePadded::default(),
            ping: CachePadded::default(),
            each: (0..count).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Lets the workers that spin go on for [`SPIN_TIME`] from now.
    fn keep_spinning(&self) {
        self.until.store(self.now() + SPIN_TIME.as_nanos() as u64, Ordering::Release);
    }

    /// Makes the workers stop spinning soon. Does not wait for that.
    fn stop(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Returns true if all workers spin.
    fn all_spin(&self) -> bool {
        self.each.iter().all(|worker| worker.spins.load(Ordering::Acquire))
    }

    /// Returns true if no worker spins.
    fn none_spins(&self) -> bool {
        !self.each.iter().any(|worker| worker.spins.load(Ordering::Acquire))
    }

    /// Returns true if a worker has executed work of any launch since this state was made. Each sampler makes
    /// a new state.
    fn worked(&self) -> bool {
        self.worked.load(Ordering::Relaxed)
    }

    /// Pings the workers, and waits for their answers. Returns true if at most one in
    /// [`WORKERS_PER_MISSING_ONE`] does not answer in time.
    fn ping(&self) -> bool {
        let ping = self.ping.fetch_add(1, Ordering::AcqRel) + 1;
        let (begin, patience) = (Instant::now(), ANSWER_TIME + ANSWER_TIME_EACH * self.each.len() as u32);
        let answers = |worker: &CachePadded<SpinningWorker>| {
            while worker.answer.load(Ordering::Acquire) != ping {
                if begin.elapsed() > patience {
                    return false;
                }
                spin_loop();
            }
            true
        };
        let missing = self.each.iter().filter(|worker| !answers(worker)).count();
        missing <= self.each.len() / WORKERS_PER_MISSING_ONE
    }

    /// Marks the beginning of a launch, which ends when the returned guard is dropped.
    fn begin_launch(&self) -> Launching<'_> {
        self.launching.store(true, Ordering::Release);
        Launching(&self.launching)
    }

    /// Spins on the calling thread, which is worker `number`, until [`Self::until`] has passed. Meanwhile
    /// executes work of the pool and answers pings. Returns at once if this worker spins already, or during a
    /// launch.
    fn spin_as_worker(&self, number: usize) {
        let worker = &self.each[number];
        // A spinning worker may execute a further call of this function, even during a launch: that is no
        // work of the launch.
        if worker.spins.load(Ordering::Acquire) {
            worker.called_again.store(true, Ordering::Relaxed);
            return;
        }
        // A late worker may execute this call within its part of a launch, for which other threads wait.
        if self.launching.load(Ordering::Acquire) {
            return;
        }
        worker.spins.store(true, Ordering::Release);
        loop {
            worker.answer.store(self.ping.load(Ordering::Acquire), Ordering::Release);
            let launching = self.launching.load(Ordering::Acquire);
            match rayon::yield_now() {
                Some(Yield::Executed) if worker.called_again.swap(false, Ordering::Relaxed) => (),
                Some(Yield::Executed) if launching => self.worked.store(true, Ordering::Relaxed),
                // A pause, since each iteration reads a value that the launching thread writes.
                _ => (0..4).for_each(|_| spin_loop()),
            }
            if self.now() > self.until.load(Ordering::Acquire) {
                break;
            }
        }
        worker.spins.store(false, Ordering::Release);
    }

    /// Returns the time since `origin` in nanoseconds.
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// The guard of a launch in progress. Dropping it, even during a panic, ends the launch.
struct Launching<'a>(&'a AtomicBool);

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Once this many launches with spinning workers gave them no work, later launches are assumed to give them
/// none either. The workers then sleep, since a spinning processor lowers the clock of the others and uses
/// the caches of its core. For long launches, [`TRIES_OF_LONG`] is used instead.
const TRIES_OF_SHORT: usize = 16;
/// For launches of at least this time (100 µs), [`TRIES_OF_LONG`] launches without work for the workers are
/// enough.
const LONG_LAUNCH: Duration = Duration::from_micros(100);
/// Once this many long launches with spinning workers gave them no work, later launches are assumed to give
/// them none either, and the workers sleep.
const TRIES_OF_LONG: usize = 3;
/// A launch longer than this (20 ms) needs no spinning workers: their wake-up time of 50 µs is a small part
/// of it.
const VERY_LONG_LAUNCH: Duration = Duration::from_millis(20);
/// The longest time that a launch waits for workers; then it begins without them. Another program returns a
/// processor after a time slice or two.
const LONGEST_WAIT: Duration = Duration::from_millis(20);
/// The longest wait of a back-to-back launch for workers, as a multiple of the shortest launch so far; at
/// least [`SHORTEST_WAIT`], at most [`LONGEST_WAIT`]. Longer waits would slow short launches: after an idle
/// time of milliseconds, a launch of 2 µs takes three times as long.
const WAIT_PER_SHORTEST: u32 = 64;
/// The least value of the longest wait of a back-to-back launch for workers.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// The number of launches that may wait in vain for their workers, in addition to one for every
/// [`LAUNCHES_PER_LATE_ONE`] launches with workers. After more, launches do not wait: the measuring thread
/// would lose its own processor for a time slice whenever it waits.
const LATE_LAUNCHES: usize = 2;
/// For this many launches with workers, one more launch may wait in vain, in addition to [`LATE_LAUNCHES`].
const LAUNCHES_PER_LATE_ONE: usize = 16;
/// The number of launches without waiting after which launches wait for workers again.
const RETRY_AFTER_LAUNCHES: usize = 64;

/// Decides whether launches wait for spinning workers, from the launches of the case so far.
#[derive(Default)]
struct WakeUpPolicy {
    /// The number of launches that waited and began with all workers spinning.
    with_workers: usize,
    /// The number of launches that waited in vain.
    without_workers: usize,
    /// The number of launches that did not wait, since workers came too late before.
    not_waited: usize,
    /// The shortest launch so far.
    shortest: Option<Duration>,
    /// True if launches are back-to-back, as hot ones are.
    back_to_back: bool,
}

impl WakeUpPolicy {
    /// Returns the policy before the first launch, for launches in this state of the cache.
    fn new(cache: Cache) -> Self {
        Self { back_to_back: cache == Cache::Hot, ..Self::default() }
    }

    /// Counts a launch that waited for the workers. `all_spin` is true if they were in time.
    fn count_waited(&mut self, all_spin: bool) {
        *(if all_spin { &mut self.with_workers } else { &mut self.without_workers }) += 1;
    }

    /// Counts a launch that did not wait, if the reason is that workers came too late before. After
    /// [`RETRY_AFTER_LAUNCHES`] such launches, forgets these launches and all that waited, so that launches
    /// wait again.
    fn count_not_waited(&mut self) {
        if !self.workers_are_in_time() {
            self.not_waited += 1;
            if self.not_waited == RETRY_AFTER_LAUNCHES {
                (self.not_waited, self.with_workers, self.without_workers) = (0, 0, 0);
            }
        }
    }

    /// Stores `time` as the shortest time of a launch, unless an earlier launch took less.
    fn add_launch_time(&mut self, time: Duration) {
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
    }

    /// Returns true if the next launch should wait for the workers, which requires all of these conditions:
    ///
    /// - An earlier launch gave the workers work (`gave_work`), or fewer than [`TRIES_OF_SHORT`] launches
    ///   have begun with spinning workers. If launches are long, fewer than [`TRIES_OF_LONG`].
    /// - Launches are not very long, see [`Self::is_very_long`].
    /// - The workers are in time, see [`Self::workers_are_in_time`].
    fn next_launch_waits(&self, gave_work: bool) -> bool {
        let is_long = self.shortest.is_some_and(|shortest| shortest >= LONG_LAUNCH);
        let tries = if is_long { TRIES_OF_LONG } else { TRIES_OF_SHORT };
        (gave_work || self.with_workers < tries) && !self.is_very_long() && self.workers_are_in_time()
    }

    /// Returns the longest time that the next launch waits for the workers: [`LONGEST_WAIT`], or less before
    /// a short back-to-back launch.
    fn next_wait(&self) -> Duration {
        let of = |shortest: Duration| {
            shortest.saturating_mul(WAIT_PER_SHORTEST).clamp(SHORTEST_WAIT, LONGEST_WAIT)
        };
        self.shortest.filter(|_| self.back_to_back).map_or(LONGEST_WAIT, of)
    }

    /// Returns true if even the shortest launch is longer than [`VERY_LONG_LAUNCH`]. Returns false before the
    /// first launch.
    fn is_very_long(&self) -> bool {
        self.shortest.is_some_and(|shortest| shortest > VERY_LONG_LAUNCH)
    }

    /// Returns false if too many launches waited in vain for the workers: more than [`LATE_LAUNCHES`] plus
    /// one for every [`LAUNCHES_PER_LATE_ONE`] launches with workers.
    fn workers_are_in_time(&self) -> bool {
        self.without_workers <= LATE_LAUNCHES + self.with_workers / LAUNCHES_PER_LATE_ONE
    }
}

#[cfg(test)]
mod tests;
