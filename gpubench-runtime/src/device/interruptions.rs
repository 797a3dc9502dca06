//! Detects samples that other programs interrupted: a thread of the launch waited for a processor during the
//! sample, and other programs used the processors.

use std::time::Instant;

use super::launch_timer::{LaunchTimer, ThreadTime};
use gpubench_stats::Nanoseconds;

/// A sample counts as interrupted if one of its threads waits both longer than this (10 µs) and longer than
/// [`LONGEST_IGNORED_PART`] allows. A woken thread waits some microseconds even on an idle machine.
const LONGEST_IGNORED_WAIT: Nanoseconds = Nanoseconds(10_000.0);
/// The longest wait that is ignored between two readings, as a fraction of the time of the samples between
/// them.
const LONGEST_IGNORED_PART: f64 = 0.1;

/// The largest part of the time that reading the times of the threads may take between back-to-back samples,
/// as a fraction of the time of the samples.
const LARGEST_READING_PART: f64 = 0.1;
/// The number of readings from which the time of one reading is computed, as their mean.
const COST_READINGS: usize = 8;

/// Waits count only if other programs used more than this fraction of the time of one processor since the
/// first sample, and more than [`TICK_ERROR`]. With less, the threads of the launches only waited for each
/// other.
const LEAST_OTHERS_PART: f64 = 0.1;
/// The error of processor times that the operating system counts in ticks (30 ms). Other programs that used
/// at most this much time count as not running.
const TICK_ERROR: Nanoseconds = Nanoseconds(30e6);

/// The waits for a processor of the threads that run launches, since the first sample, and the samples that
/// these waits interrupted.
pub(super) struct Interruptions {
    /// The start of the first sample.
    begin: Instant,
    /// The times of the threads at the start of the first sample.
    first: Vec<ThreadTime>,
    /// The times of the threads at the reading before the last.
    last: Vec<ThreadTime>,
    /// The times of the threads at the last reading.
    now: Vec<ThreadTime>,
    /// The processor time that other programs had used when the first sample began; `None` if it is not
    /// counted.
    others_time_before: Option<Nanoseconds>,
    /// The time that one reading of the times of the threads takes.
    reading_time: Nanoseconds,
    /// One mark per sample, true if the sample is interrupted: a thread waited during it, or it began without
    /// a thread that launches need.
    interrupted: Vec<bool>,
    /// For each reading, its time since `begin`, and the index of the first sample since the reading before
    /// it.
    ends: Vec<(Nanoseconds, usize)>,
}

impl Interruptions {
    /// Starts to observe the threads, right before the first sample. Returns `None` if no thread of this
    /// machine runs launches, or if the operating system does not count the times of threads.
    pub(super) fn begin<D: LaunchTimer>(device: &mut D) -> Option<Self> {
        let mut first = Vec::new();
        let begin = Instant::now();
        for _ in 0..COST_READINGS {
            first.clear();
            device.thread_times(&mut first);
        }
        let reading_time = Nanoseconds::from(begin.elapsed()) / COST_READINGS as f64;
        (!first.is_empty()).then(|| Self {
            begin: Instant::now(),
            last: Vec::with_capacity(first.len()),
            now: first.clone(),
            first,
            others_time_before: device.others_time(),
            reading_time,
            interrupted: Vec::new(),
            ends: Vec::new(),
        })
    }

    /// Returns the number of back-to-back samples of duration `sample` to take between two readings: enough
    /// that [`LARGEST_READING_PART`] is kept, at least 1.
    pub(super) fn samples_per_reading(&self, sample: Nanoseconds) -> usize {
        (self.reading_time / (LARGEST_READING_PART * sample.max(Nanoseconds(1.0)))).ceil().max(1.0) as usize
    }

    /// Reads the times of the threads, after `samples` new samples that took `time` together. Marks the new
    /// samples if a thread waited. With `back_to_back`, nothing came between the new samples and earlier
    /// ones: if the wait is longer than the new samples, the earlier samples during the wait are marked too.
    pub(super) fn add_samples<D: LaunchTimer>(
        &mut self,
        device: &mut D,
        samples: usize,
        time: Nanoseconds,
        back_to_back: bool,
    ) {
        let longest = self.longest_new_wait(device);
        let waits = longest > LONGEST_IGNORED_WAIT.max(LONGEST_IGNORED_PART * time);
        let now = Nanoseconds::from(self.begin.elapsed());
        if waits && back_to_back {
            self.mark_samples_since(now - longest);
        }
        self.ends.push((now, self.interrupted.len()));
        self.interrupted.extend(std::iter::repeat_n(waits, samples));
    }

    /// Marks the last `samples` samples: they began while a thread that launches need was not ready.
    pub(super) fn mark_last_samples(&mut self, samples: usize) {
        let first = self.interrupted.len().saturating_sub(samples);
        self.interrupted[first..].fill(true);
    }

    /// Marks the samples since the last reading at or before `since`, a time that is measured from `begin`.
    fn mark_samples_since(&mut self, since: Nanoseconds) {
        let meanwhile = self.ends.iter().rev().take_while(|(end, _)| *end > since).last();
        let first = meanwhile.map_or(self.interrupted.len(), |(_, first)| *first);
        self.interrupted[first..].fill(true);
    }

    /// Reads the times of the threads. Returns the part of their time since the first sample in which they
    /// waited for a processor, over all threads: wait ÷ (run + wait). Returns `None` if no thread ran since
    /// then, or if their times are lower than then, since a thread has ended.
    pub(super) fn processor_wait<D: LaunchTimer>(&mut self, device: &mut D) -> Option<f64> {
        self.longest_new_wait(device);
        let sum = |times: &[ThreadTime]| ThreadTime {
            ran: times.iter().map(|time| time.ran).sum(),
            waited: times.iter().map(|time| time.waited).sum(),
        };
        sum(&self.now).waited_since(sum(&self.first))
    }

    /// Returns one mark per sample, true if the sample is interrupted. Returns `None` if other programs used
    /// the processors for at most 30 ms since the first sample, or for at most a tenth of the time since
    /// then. Also returns `None` if the operating system does not count the time of other programs.
    pub(super) fn interrupted_samples<D: LaunchTimer>(&self, device: &mut D) -> Option<&[bool]> {
        let others = device.others_time()? - self.others_time_before?;
        let elapsed = Nanoseconds::from(self.begin.elapsed());
        (others > TICK_ERROR.max(LEAST_OTHERS_PART * elapsed)).then_some(&self.interrupted)
    }

    /// Reads the times of the threads, and returns the longest time that one of them waited since the
    /// previous reading.
    pub(super) fn longest_new_wait<D: LaunchTimer>(&mut self, device: &mut D) -> Nanoseconds {
        std::mem::swap(&mut self.last, &mut self.now);
        self.now.clear();
        device.thread_times(&mut self.now);
        let waits = self.last.iter().zip(&self.now).map(|(last, now)| now.waited - last.waited);
        waits.fold(Nanoseconds::ZERO, Nanoseconds::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::single_launch_sampler::sampler;
    use crate::device::{SampleOptions, Work};
    use gpubench_records::failure::Failure;
    use gpubench_records::method::{Cache, Flush, Timer};

    /// A device of two threads. Its launches take 100 µs, and keep the second thread waiting as their numbers
    /// say: in nanoseconds, of the launch, and of the flush before it.
    struct SharedProcessors {
        launches: Vec<f64>,
        flushes: Vec<f64>,
        launched: usize,
        flushed: usize,
        /// The launches after which it is not ready, so that the second thread is waited for.
        unready: Vec<usize>,
        /// The launches before which it waits for nothing more, and launches without it.
        without: Vec<usize>,
        waited: f64,
        /// The time that others used between two calls.
        others: f64,
        now: f64,
    }

    impl SharedProcessors {
        fn new(launches: &[f64], flushes: &[f64]) -> Self {
            let [launches, flushes] = [launches.to_vec(), flushes.to_vec()];
            let [unready, without] = [vec![], vec![]];
            let [launched, flushed] = [0, 0];
            Self {
                launches,
                flushes,
                launched,
                flushed,
                unready,
                without,
                waited: 0.0,
                others: 100e6,
                now: 0.0,
            }
        }
    }

    impl LaunchTimer for SharedProcessors {
        const FLUSHES: &'static [Flush] = &[Flush::Read];

        fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
            work.launch()?;
            self.waited += self.launches.get(self.launched).copied().unwrap_or_default();
            self.launched += 1;
            Ok(Nanoseconds(100e3 + self.launched as f64))
        }

        fn flush(&mut self, _: Flush, _: &dyn Work) -> Result<(), Failure> {
            self.waited += self.flushes.get(self.flushed).copied().unwrap_or_default();
            self.flushed += 1;
            Ok(())
        }

        fn make_ready(&mut self) -> bool {
            self.waited += 3e6;
            !self.without.contains(&self.launched)
        }

        fn is_ready(&mut self) -> bool {
            !self.unready.contains(&self.launched)
        }

        fn thread_times(&mut self, times: &mut Vec<ThreadTime>) {
            let ran = Nanoseconds(1e5 * self.launched as f64);
            times.push(ThreadTime { ran, waited: Nanoseconds(0.0) });
            times.push(ThreadTime { ran, waited: Nanoseconds(self.waited) });
        }

        fn others_time(&mut self) -> Option<Nanoseconds> {
            self.now += self.others;
            Some(Nanoseconds(self.now))
        }
    }

    /// Launches nothing.
    struct Idle;

    impl Work for Idle {
        fn launch(&mut self) -> Result<(), Failure> {
            Ok(())
        }
    }

    /// Takes six samples, and returns the marks of those that were interrupted, if there are marks, and the
    /// event times.
    fn sampled(mut device: SharedProcessors, cache: Cache) -> (Option<Vec<bool>>, Vec<Nanoseconds>) {
        let mut work = Idle;
        let mut sampler =
            sampler(&mut device, &mut work, &SampleOptions::new(cache)).expect("it can be sampled");
        sampler.begin(Timer::new(Nanoseconds(1.0))).expect("nothing fails");
        let mut events = Vec::new();
        for _ in 0..2 {
            events.extend(sampler.group(3).expect("nothing fails").events);
        }
        (sampler.interrupted().map(<[bool]>::to_vec), events)
    }

    /// For a launch of 100 µs, a wait of 5 µs is short, and one of 11 µs is not.
    const WAITS: [f64; 6] = [0.0, 11e3, 5e3, 0.0, 3e6, 10e3];

    #[test]
    fn a_cold_sample_is_interrupted_by_what_waits_within_it() {
        let device = SharedProcessors::new(&WAITS, &[0.0, 0.0, 3e6, 3e6]);
        let (marks, events) = sampled(device, Cache::Cold);
        assert_eq!(marks.expect("others used the processors"), [false, true, false, false, true, false]);
        assert_eq!(events.len(), 6, "what is left out is the protocol's to decide");
    }

    /// Before each group, and after the second launch and the fifth, the second thread is waited for. Only
    /// its wait within the last launch counts for a sample.
    #[test]
    fn waits_before_a_launch_do_not_count_for_its_sample() {
        let mut device = SharedProcessors::new(&[0.0, 0.0, 0.0, 0.0, 0.0, 3e6], &[]);
        device.unready = vec![2, 5];
        let (marks, _) = sampled(device, Cache::Hot);
        assert_eq!(marks.expect("others used the processors"), [false, false, false, false, false, true]);
    }

    /// The second group begins without the second thread, which has come again before its last sample.
    #[test]
    fn a_sample_that_begins_without_a_thread_is_interrupted() {
        for (cache, expected) in [(Cache::Hot, [0, 0, 0, 1, 1, 0]), (Cache::Cold, [0, 0, 0, 1, 0, 0])] {
            let mut device = SharedProcessors::new(&[], &[]);
            device.unready = vec![5];
            device.without = vec![3];
            let (marks, _) = sampled(device, cache);
            assert_eq!(marks.expect("others used the processors"), expected.map(|mark| mark == 1));
        }
    }

    #[test]
    fn a_hot_sample_shares_its_mark_with_those_of_the_same_reading() {
        let mut device = SharedProcessors::new(&WAITS, &[]);
        let mut waits = Interruptions::begin(&mut device).expect("threads are counted");
        waits.reading_time = Nanoseconds(25e3);
        assert_eq!(waits.samples_per_reading(Nanoseconds(100e3)), 3);
        assert_eq!(waits.samples_per_reading(Nanoseconds(1e9)), 1);
        waits.longest_new_wait(&mut device);
        for _ in 0..2 {
            for _ in 0..3 {
                device.time(&mut Idle).expect("nothing fails");
            }
            waits.add_samples(&mut device, 3, Nanoseconds(300e3), false);
        }
        // Of 300 µs the waits of the first three samples are a small part.
        let marks = waits.interrupted_samples(&mut device).expect("others used the processors");
        assert_eq!(marks, [false, false, false, true, true, true]);
        assert!(
            waits.processor_wait(&mut device).is_some_and(|waited| (waited - 3.026 / 4.226).abs() < 1e-9)
        );
    }

    #[test]
    fn a_wait_that_is_seen_late_is_of_the_samples_before() {
        let waits = |since: f64| {
            let mut waits =
                Interruptions::begin(&mut SharedProcessors::new(&[], &[])).expect("threads are counted");
            waits.interrupted = vec![false; 6];
            waits.ends =
                [(10.0, 0), (20.0, 2), (30.0, 3)].map(|(end, first)| (Nanoseconds(end), first)).to_vec();
            waits.mark_samples_since(Nanoseconds(since));
            waits.interrupted.iter().filter(|mark| **mark).count()
        };
        assert_eq!([35.0, 30.0, 29.0, 20.0, 15.0, 10.0, 9.0, -5.0].map(waits), [0, 0, 3, 3, 4, 4, 6, 6]);
        // One that is longer than all samples so far.
        let mut device = SharedProcessors::new(&[1e15], &[]);
        let mut long = Interruptions::begin(&mut device).expect("threads are counted");
        long.add_samples(&mut device, 2, Nanoseconds(1e5), true);
        device.time(&mut Idle).expect("nothing fails");
        long.add_samples(&mut device, 1, Nanoseconds(1e5), true);
        assert_eq!(long.interrupted, [true; 3]);
    }

    #[test]
    fn threads_that_wait_for_each_other_are_not_interrupted() {
        let device = SharedProcessors { others: 0.0, ..SharedProcessors::new(&WAITS, &[]) };
        assert_eq!(sampled(device, Cache::Cold).0, None);
        let device = SharedProcessors { others: 29e6, ..SharedProcessors::new(&WAITS, &[]) };
        assert_eq!(sampled(device, Cache::Cold).0, None, "less than what ticks may miss");
    }

    #[test]
    fn a_device_that_counts_nothing_has_no_marks() {
        struct Uncounted;
        impl LaunchTimer for Uncounted {
            fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
                work.launch().map(|()| Nanoseconds(1.0))
            }
        }
        assert!(Interruptions::begin(&mut Uncounted).is_none());
    }
}
