//! The method of sampling: cache state, flush, path and timer, as a device used them.

use crate::clock_faults::is_plausible_time;
use gpubench_stats::{DramStallPeriod, Nanoseconds, format};

gpubench_stats::stored! {
    /// The state of the caches when a sample starts.
    #[derive(Copy, Default, Eq, PartialOrd, Ord, Hash)]
    pub enum Cache {
        /// The launch before has just run.
        #[default]
        Hot,
        /// The last-level cache was flushed.
        Cold,
    }

    /// The way in which samples are taken. Cases whose methods differ are not compared silently.
    #[non_exhaustive]
    #[derive(Default)]
    pub struct Method {
        /// The path that times them.
        pub path: Path,
        /// The reason why it is not the path that the device prefers.
        pub path_reason: Option<String>,
        /// The number of back-to-back launches that a sample times together, if one is too short for the timer. Event times and the
        /// timer are then those of one of them, which is the part of the readings.
        pub batch: Option<usize>,
        /// The number of kernels that a launch put on its stream; `None` if that was not observed.
        pub kernel_count: Option<usize>,
        /// The number of kernels, copies and memsets that a launch put on its stream; `None` if that was not observed.
        pub operations: Option<usize>,
        /// The flush before each sample.
        pub flush: Flush,
        /// The reason that it is not the flush that the device prefers, or a doubt about it.
        pub flush_reason: Option<String>,
        /// The flush verification, made before the first sample, if the device offers one.
        pub flush_verification: Option<FlushVerification>,
    }

    /// The verification that a flush empties the cache: event times of reads of memory that the last-level cache held, and of memory that
    /// it did not, behind this flush and behind the reference, a sweep that reads twice the cache's size.
    #[derive(Copy, Default)]
    #[non_exhaustive]
    pub struct FlushVerification {
        /// Reading a quarter of the cache that was just read: it is all there.
        pub cached_read: Nanoseconds,
        /// Reading the same behind the flush: it should be gone.
        pub flushed_read: Nanoseconds,
        /// Reading the same behind the reference.
        pub reference_read: Nanoseconds,
        /// Reading three quarters of the cache behind the flush: dirty lines must be written back first.
        pub large_read: Nanoseconds,
        /// Reading the same behind the reference, which leaves nothing dirty.
        pub reference_large_read: Nanoseconds,
    }

    /// The way to empty the last-level cache before a sample.
    #[derive(Copy, Default, Eq, Hash)]
    pub enum Flush {
        /// Write a buffer of the cache's size, then discard its lines: the cache is empty and clean
        #[default]
        Discard,
        /// Read a buffer of twice the cache's size
        Read,
        /// Write a buffer of the cache's size: the launch pays for its write-back
        Write,
        /// Drop the lines of the inputs' memory, and no others: what else the launch needs may be in the cache
        Lines,
        /// Do nothing
        None,
    }

    /// The path that times the samples.
    #[derive(Copy, Default, Eq, Hash)]
    #[non_exhaustive]
    pub enum Path {
        /// Events in a captured graph.
        #[default]
        Graph,
        /// Events on the stream, behind a delay.
        Stream,
        /// This machine's monotonic clock around each call.
        Host,
        /// The device's own clock around each launch.
        Device,
    }

    /// The timer of a device, measured on the path that its samples take.
    #[derive(Copy, Default)]
    pub struct Timer {
        /// The smallest difference between two readings.
        pub resolution: Nanoseconds,
        /// The reading of an empty pair of events.
        pub empty_span: Nanoseconds,
        /// The reading of a pair around an empty launch, if that is more than `empty_span`.
        pub empty_launch_time: Option<Nanoseconds>,
        /// The time that one more empty launch adds to a row of flushes, each before an empty launch: the launch's own begin and end.
        /// Nothing in an old record, whose overhead is half of `empty_launch_time`.
        pub marginal_empty_launch: Option<Nanoseconds>,
        /// True if the empty launches read a parameter, as nearly all kernels do: beside samples behind a flush in a CUDA graph, where
        /// parameters come from memory. Not in records before 2026-11-25, whose times there are about 0.06 µs longer.
        #[serde(default)]
        pub reads_parameter: bool,
        /// True if kernels before and after each launch store the time of the GPU's clock, in the place of events.
        #[serde(default)]
        pub timestamp_kernels: bool,
        /// The overhead that is taken off each event time, where a group has none of its own: `empty_launch_time` less `marginal_empty_launch`.
        pub overhead: Nanoseconds,
        /// The standard error of all that the samples of a process have in common: of `marginal_empty_launch`, and of the driver's placement of
        /// code.
        pub shared_error: Option<Nanoseconds>,
        /// The difference of times that averages of samples resolve, where a coarse timer reads them from all places of its steps.
        pub averaged_resolution: Option<Nanoseconds>,
        /// The standard error, as a part of a time, of what every process has for itself and all of its samples share, such as the places
        /// of inputs.
        pub relative_error: Option<f64>,
        /// The spread of single pairs around such a launch, from the 5th percentile to the 95th. Smaller differences of times
        /// may come from the timer.
        pub empty_launch_spread: Nanoseconds,
        /// The same of the medians of groups of them.
        pub group_median_spread: Nanoseconds,
        /// The period at which the device's memory is held up, whatever runs, if reads of memory show one. Samples that met it are told
        /// apart by their starts.
        pub dram_stall_period: Option<DramStallPeriod>,
        /// True if its times are computed and do not pass, as in a simulator: then it may be ahead of this machine's clock.
        #[serde(default)]
        pub simulated: bool,
    }
}

impl Method {
    /// Returns the method of samples that are timed on `path`, with no flush before them.
    pub fn new(path: Path) -> Self {
        Self { path, flush: Flush::None, ..Self::default() }
    }

    /// Returns the same method with this flush before each sample.
    #[must_use]
    pub fn with_flush(self, flush: Flush) -> Self {
        Self { flush, ..self }
    }

    /// Returns the same method with `launches` back-to-back launches in each sample; with 0 or 1, samples have one launch.
    #[must_use]
    pub fn with_batch(self, launches: usize) -> Self {
        Self { batch: Some(launches).filter(|launches| *launches > 1), ..self }
    }
}

impl FlushVerification {
    /// A verified flush must evict at least this fraction of the lines that the reference evicts (a sweep
    /// that reads twice the cache's size).
    const MIN_EVICTED_FRACTION: f64 = 0.9;
    /// A flush counts as clean if the times of the large read after the flush and after the reference differ
    /// by at most this fraction.
    const MAX_DIRT: f64 = 0.03;

    /// Returns the fraction of the lines evicted by the reference that this flush evicts too, computed from the times of reads. `None` if a read
    /// from memory takes at most 10 % longer than from the cache, which proves nothing.
    pub fn evicted_fraction(&self) -> Option<f64> {
        let gain = self.reference_read - self.cached_read;
        (gain > 0.1 * self.cached_read).then(|| (self.flushed_read - self.cached_read) / gain)
    }

    /// Returns the extra time of the large read after this flush, as a fraction of its time after the reference: the cost of writing dirty lines
    /// back. It is negative if the read is faster.
    pub fn dirt(&self) -> f64 {
        self.large_read / self.reference_large_read - 1.0
    }

    /// Returns true if the flush leaves the cache empty: it evicts at least 90 % of the lines that the reference evicts. False if that is not
    /// known.
    pub fn evicts_cache(&self) -> bool {
        self.evicted_fraction().is_some_and(|evicted| evicted >= Self::MIN_EVICTED_FRACTION)
    }

    /// Returns a sentence with the reason not to use `flush`: whether it empties the cache is not known, it
    /// does not, or it leaves dirty lines. `None` if the flush is verified. `cache` names the cache.
    pub fn objection(&self, flush: Flush, cache: &str) -> Option<String> {
        let Some(evicted) = self.evicted_fraction() else {
            return Some(format!(
                "`{flush}` could not be verified: reads from {cache} are no faster than from memory"
            ));
        };
        if !self.evicts_cache() {
            let evicted = format::percent(evicted);
            return Some(format!("`{flush}` does not empty {cache}: only {evicted} of what it held is gone"));
        }
        let dirt = format::percent(self.dirt());
        (!self.is_clean()).then(|| format!("`{flush}` leaves {cache} dirty: a sweep takes {dirt} longer"))
    }

    /// Returns true if the flush leaves nothing to be written back: [`dirt`](Self::dirt) is within ± 3 %.
    pub fn is_clean(&self) -> bool {
        self.dirt().abs() <= Self::MAX_DIRT
    }
}

impl Path {
    /// Returns the timer of this path in words, such as `events in a captured graph`.
    pub fn timer(self) -> &'static str {
        match self {
            Self::Graph => "events in a captured graph",
            Self::Stream => {
                "events on the stream, after a delay that gives the host time to enqueue the launch"
            }
            Self::Host => "the monotonic clock",
            Self::Device => "the device's own clock",
        }
    }
}

impl Timer {
    /// Returns a timer with this resolution and without a known overhead.
    pub fn new(resolution: Nanoseconds) -> Self {
        Self { resolution, ..Self::default() }
    }

    /// Returns the same timer with this reading of an empty pair of events, which is also the overhead that
    /// is subtracted from each event time.
    #[must_use]
    pub fn with_empty_span(self, empty_span: Nanoseconds) -> Self {
        Self { empty_span, overhead: empty_span, ..self }
    }

    /// Returns all known times among the fields, except those of the DRAM stall, to change or check them.
    fn times(&mut self) -> impl Iterator<Item = &mut Nanoseconds> {
        let known = [
            &mut self.empty_launch_time,
            &mut self.marginal_empty_launch,
            &mut self.shared_error,
            &mut self.averaged_resolution,
        ];
        let always = [
            &mut self.resolution,
            &mut self.empty_span,
            &mut self.overhead,
            &mut self.empty_launch_spread,
            &mut self.group_median_spread,
        ];
        always.into_iter().chain(known.into_iter().flatten())
    }

    /// Returns the timer of one launch if a sample times `launches` launches together: all times but those of
    /// the DRAM stall are divided by their number.
    #[must_use]
    pub fn of_batch(mut self, launches: usize) -> Self {
        self.times().for_each(|time| *time = *time / launches.max(1) as f64);
        self
    }

    /// Returns the smallest significant difference between results: the resolution of averages if it is
    /// known, as for a coarse timer, otherwise the resolution of single readings.
    pub fn effective_resolution(&self) -> Nanoseconds {
        self.averaged_resolution.unwrap_or(self.resolution)
    }

    /// Returns the convention for the overhead in words: times with different conventions are not comparable.
    /// `None` if only the empty-span reading is subtracted, and in old records.
    pub fn convention(&self) -> Option<&'static str> {
        self.marginal_empty_launch.map(|_| match self.reads_parameter {
            true => "an empty launch that reads a parameter, less one more",
            false => "an empty launch less one more",
        })
    }

    /// Returns true if all times among the fields, those of the DRAM stall too, are plausible and not
    /// negative, and if the relative error, where it is known, is at least 0 and below 1.
    pub fn is_valid(mut self) -> bool {
        let stall = self.dram_stall_period.map(|stall| [stall.period, stall.error, stall.duration]);
        let is_part = |error: f64| (0.0..1.0).contains(&error);
        let relative_error = self.relative_error;
        let mut all = self.times().map(|time| *time).chain(stall.into_iter().flatten());
        all.all(|time| is_plausible_time(time) && time >= Nanoseconds::ZERO)
            && relative_error.is_none_or(is_part)
    }
}
