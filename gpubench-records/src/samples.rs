//! The outcome of measuring a case: its samples, the way they were taken, and the energy of a launch.

use gpubench_stats::{
    DramStall, Drift, Groups, Interval, Joules, Median, Modes, Nanoseconds, Summary, Watts, median,
};

use crate::{ClockFaults, DeviceClock, Method, Path, SensorReadings, Timer};

gpubench_stats::stored! {
    /// The samples of a case.
    #[derive(Default)]
    pub struct Samples {
        /// The way in which they were taken.
        pub method: Method,
        /// The timer on that path.
        pub timer: Timer,
        /// The launches before them.
        pub warm_up: WarmUpSummary,
        /// The readings of the device's sensors during sampling, if it has some.
        pub conditions: Option<SensorReadings>,
        /// The clock of the multiprocessors behind each group by the device's own counters, if it has them.
        pub device_clock: Option<DeviceClock>,
        /// The readings that no working clock gives, if there were any.
        pub clock_faults: Option<ClockFaults>,
        /// The number of groups that they were taken in.
        pub groups: usize,
        /// How often the inputs were made anew between these groups, each time at another place in memory: where inputs lie moves a time.
        #[serde(default)]
        pub relocations: usize,
        /// True if another launch was interleaved with this one. Each group then had inputs at other addresses, so that times move
        /// from group to group on purpose.
        #[serde(default)]
        pub interleaved: bool,
        /// The part of their time in which threads of this machine that had to work on them waited for a processor: other programs
        /// used it. Nothing for launches on other devices, or if the system does not count it.
        pub processor_wait: Option<f64>,
        /// The time of all groups on the device, flushes included.
        pub device_time: Nanoseconds,
        /// The time of all groups by the measuring machine's clock, from the end of the warm-up to the last sample's reading: the
        /// fraction of it on the device is `device_time` / `wall_time`.
        pub wall_time: Nanoseconds,
        /// True if the stop rule was met, rather than a budget spent. A fixed number of samples counts as met.
        pub converged: bool,
        /// The figures that describe the times of a launch: event times less overhead. The median and its interval are those of launches
        /// at random times, if the device's memory stalls; all else is of the samples as they are.
        pub time: Summary,
        /// The periodic stall of the device's memory in these samples, if the launch waits for memory and the device has one.
        pub dram_stall: Option<DramStall>,
        /// The time of one more back-to-back launch, if a launch is so short that its start and end matter.
        pub back_to_back: Option<Nanoseconds>,
        /// The time of a launch of several kernels with the gaps that a stream has, if it was sampled in a graph.
        pub stream_time: Option<Nanoseconds>,
        /// The time of a call of the launch function on the host, the shortest that was seen, if the device runs launches while the
        /// host goes on.
        pub host_call_time: Option<Nanoseconds>,
        /// The time of a launch whose work was all enqueued before the device began with it, if samples may contain waits for the
        /// host.
        pub prequeued_time: Option<Nanoseconds>,
        /// The time according to a second clock or method. On CUDA: according to events alone, less what events read around empty
        /// launches, while `time` is according to the GPU's own clock.
        pub cross_check: Option<Nanoseconds>,
        /// The event times in the order they ran.
        pub event_times: Vec<Nanoseconds>,
        /// The event times of samples that other programs interrupted, in the order they ran. They are in no figure.
        #[serde(default)]
        pub interrupted_times: Vec<Nanoseconds>,
        /// The number of interrupted samples that `event_times` includes because too few would be left without them; otherwise 0.
        #[serde(default)]
        pub interrupted_count: usize,
        /// The overhead of each group of `event_times`. Empty if `timer.overhead` holds for all.
        #[serde(default)]
        pub overheads: Vec<GroupOverhead>,
        /// The part of each entry of `overheads` that empty launches do not show: what a pair of events reads too much around this launch, according to
        /// the GPU's own clock. Nothing for fewer than eight groups, for long launches, or if the device has no second clock.
        pub correction: Option<Nanoseconds>,
        /// For each event time the time by the device's clock from the start of the sample before to the start of this one, flushes and
        /// the gaps between groups included; 0 for the first. Nothing if the device does not tell it.
        #[serde(default)]
        pub start_intervals: Vec<Nanoseconds>,
    }

    /// The overhead of a group, from empty launches interleaved with its samples: so it contains the error of the group's graph
    /// and of its places in it.
    #[derive(Copy)]
    pub struct GroupOverhead {
        /// The number of samples in the group.
        pub samples: usize,
        /// The overhead that is taken off each of them.
        pub overhead: Nanoseconds,
    }

    /// The launches before the samples of a case.
    #[derive(Copy, Default)]
    pub struct WarmUpSummary {
        /// The number of launches that were thrown away.
        pub launches: usize,
        /// The time that they took.
        pub elapsed: Nanoseconds,
        /// True if the medians of the last two groups agreed, or had no direction.
        pub steady: bool,
    }

    /// The energy of a case.
    pub enum Energy {
        /// The energy of a launch.
        Measured(EnergyMeasurement),
        /// The reason that it is not known.
        Unavailable(String),
    }

    /// The energy of back-to-back launches. It includes everything that the device drew meanwhile, its idle power too.
    #[derive(Copy)]
    pub struct EnergyMeasurement {
        /// The energy of one of them: the power over their number in a second.
        pub per_launch: Joules,
        /// The average power of the device, by its counter of energy.
        pub power: Watts,
        /// The mean of the power sensor's readings meanwhile, for comparison.
        pub sensor_power: Option<Watts>,
        /// The number of launches.
        pub launches: usize,
        /// Their time by this machine's clock.
        pub wall_time: Nanoseconds,
        /// The number of updates of the counter between the first update and the last.
        pub updates: usize,
        /// The time between those two.
        pub counter_time: Nanoseconds,
    }
}

impl Samples {
    /// Returns the time of each sample, in the order they ran: event time less overhead.
    pub fn times(&self) -> Vec<Nanoseconds> {
        times(&self.event_times, &self.overheads, self.timer)
    }

    /// Returns the start of each sample, as the time since the start of the first sample; empty unless it is
    /// known for every sample.
    pub fn starts(&self) -> Vec<Nanoseconds> {
        let mut at = Nanoseconds::ZERO;
        let starts = self.start_intervals.iter().map(|since| {
            at += *since;
            at
        });
        if self.start_intervals.len() == self.event_times.len() { starts.collect() } else { Vec::new() }
    }

    /// Returns [`Self::times`], in which the mean delay by DRAM stalls replaces the delay of each sample;
    /// unchanged without DRAM stalls.
    pub fn stall_corrected(&self) -> Vec<Nanoseconds> {
        stall_corrected(self.times(), &self.starts(), self.dram_stall.as_ref())
    }

    /// Returns the median of the stall-corrected times, with its interval of this `confidence`; `None` if no
    /// sample times are stored. The field `time` has the 95 % interval.
    pub fn median(&self, confidence: f64) -> Option<Median> {
        let (times, sizes) = (self.stall_corrected(), group_sizes(&self.overheads));
        let groups = with_shared_error(&sizes, self.timer, self.dram_stall.as_ref(), self.time.median);
        let of_groups = Median::of_groups(&times, groups, self.timer.resolution, confidence);
        of_groups.or_else(|| Median::of(&times, self.timer.resolution, confidence))
    }

    /// Returns the absolute difference between the median and the time according to the second method; `None` without a second method.
    pub fn cross_check_difference(&self) -> Option<Nanoseconds> {
        self.cross_check.map(|other| (other - self.time.median).abs())
    }

    /// Returns three standard errors of the difference between the last and the first third of the groups;
    /// zero for less than two groups in a third. Each group has errors of its own: of its graph, and of the
    /// addresses of its inputs.
    ///
    /// The variance of groups is estimated from the differences between successive groups, of which a drift
    /// is a small part (von Neumann, *Distribution of the ratio of the mean square successive difference to
    /// the variance*, The Annals of Mathematical Statistics 12, 1941).
    pub(crate) fn drift_by_chance(&self) -> Nanoseconds {
        let medians = self.medians_of_groups(&self.stall_corrected());
        let third = medians.len() / 3;
        if third < 2 {
            return Nanoseconds::ZERO;
        }
        let squares: f64 = medians.windows(2).map(|pair| (pair[1] - pair[0]).as_f64().powi(2)).sum();
        let variance = squares / (2 * (medians.len() - 1)) as f64;
        Nanoseconds(3.0 * (2.0 * variance / third as f64).sqrt())
    }

    /// Returns the median of each group. `times` are those of all samples, in order. Groups without samples
    /// are left out.
    fn medians_of_groups(&self, times: &[Nanoseconds]) -> Vec<Nanoseconds> {
        let mut left = times;
        let groups = self.overheads.iter().filter_map(|group| {
            let (these, rest) = left.split_at_checked(group.samples)?;
            left = rest;
            median(these)
        });
        groups.collect()
    }

    /// Returns the `times` of all samples. If inputs were relocated between groups, shifts each group so that
    /// its median is the overall one; otherwise unchanged.
    fn without_relocation_effects(&self, mut times: Vec<Nanoseconds>) -> Vec<Nanoseconds> {
        if self.relocations == 0 {
            return times;
        }
        let medians = self.medians_of_groups(&times);
        let places = self
            .overheads
            .iter()
            .zip(medians)
            .flat_map(|(group, median)| std::iter::repeat_n(self.time.median - median, group.samples));
        times.iter_mut().zip(places).for_each(|(time, by)| *time += by);
        times
    }

    /// Returns an upper bound for the error of the median: the sum of its difference from the cross-check,
    /// half of its 95 % interval, and twice the timer's resolution. `None` without a cross-check.
    pub fn cross_check_error(&self) -> Option<Nanoseconds> {
        let Interval { low, high } = self.time.median_ci;
        self.cross_check_difference()
            .map(|gap| gap + (high - low) / 2.0 + 2.0 * self.timer.effective_resolution())
    }

    /// Returns the overhead that is subtracted from the event times: the mean over all samples, or that of
    /// the timer if groups have none of their own.
    pub fn overhead(&self) -> Nanoseconds {
        let samples: usize = self.overheads.iter().map(|group| group.samples).sum();
        let all: Nanoseconds = self.overheads.iter().map(|group| group.overhead * group.samples as f64).sum();
        if samples == 0 { self.timer.overhead } else { all / samples as f64 }
    }

    /// Returns the fraction of time for which the threads of launches waited for processors that other
    /// programs used. `None` if it is not known, or small enough for the scheduler's own delays.
    pub fn processor_wait(&self) -> Option<f64> {
        self.processor_wait.filter(|waited| *waited > MAX_SCHEDULER_DELAY)
    }

    /// Returns true for launches on this machine's CPU, and for launches whose threads waited for a
    /// processor. They share processors, caches and memory with other programs, so that more samples may not
    /// make the median more precise.
    pub fn shares_processors(&self) -> bool {
        self.method.path == Path::Host || self.processor_wait().is_some()
    }

    /// Returns the drift of the stall-corrected times. `None` if there is none, if it does not exceed the
    /// spread of the timer or the drift that groups show by chance, and for interleaved launches.
    pub fn drift(&self) -> Option<Drift> {
        if self.interleaved {
            return None;
        }
        let drift = Drift::find(&self.stall_corrected(), self.timer.resolution)?;
        let least = self.timer.group_median_spread.max(self.drift_by_chance());
        ((drift.change * self.time.median).abs() > least).then_some(drift)
    }

    /// Returns the fraction of a launch's time for which the device waits for the host, and the time of the
    /// device's own work. `None` if no such wait was measured and the call of the launch function is not much
    /// longer than this work.
    pub fn idle(&self) -> Option<(f64, Nanoseconds)> {
        let time = self.time.median;
        let waits = self.prequeued_time.map(|held| (1.0 - held / time, held));
        // A simulated device's time has nothing to do with the host's.
        let call = self.host_call_time.filter(|_| !self.timer.simulated);
        let bound = call.filter(|call| *call > MIN_HOST_BOUND_CALL && *call > HOST_BOUND_FACTOR * time);
        let bound = bound.map(|call| (1.0 - time / call, time));
        let idle = waits.into_iter().chain(bound).filter(|(idle, _)| idle.is_finite() && *idle > 0.0);
        idle.max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// Returns the two modes of the stall-corrected times. `None` if there is one mode, if the two differ by
    /// no more than the spread of the timer, and for interleaved launches.
    pub fn modes(&self) -> Option<Modes> {
        if self.interleaved {
            return None;
        }
        let modes =
            Modes::find(&self.without_relocation_effects(self.stall_corrected()), self.timer.resolution)?;
        (modes.high - modes.low > self.timer.empty_launch_spread).then_some(modes)
    }
}

/// The maximum fraction of time for which threads wait for a processor because of the scheduler alone, on a
/// machine without other load. Only longer waits are attributed to other programs.
#[doc(hidden)]
pub const MAX_SCHEDULER_DELAY: f64 = 0.1;

/// A call of the launch function must take longer than this, 100 µs, to count as host-bound. The driver needs some
/// microseconds to enqueue a kernel.
const MIN_HOST_BOUND_CALL: Nanoseconds = Nanoseconds(100_000.0);
/// The factor by which a call of the launch function must exceed the launch's time to count as host-bound.
const HOST_BOUND_FACTOR: f64 = 4.0;

/// Subtracts from each event time the overhead of its group, or the timer's overhead if the group has none.
pub fn times(events: &[Nanoseconds], overheads: &[GroupOverhead], timer: Timer) -> Vec<Nanoseconds> {
    let own = overheads.iter().flat_map(|group| std::iter::repeat_n(group.overhead, group.samples));
    let overheads = own.chain(std::iter::repeat(timer.overhead));
    events.iter().zip(overheads).map(|(event, overhead)| *event - overhead).collect()
}

/// Finds the DRAM stall in `events` after their overheads are subtracted. `None` if `starts` are unknown, if
/// the device has no stall, or if the samples show none, such as those of a launch that does not wait for
/// memory.
pub fn stall(
    events: &[Nanoseconds],
    starts: &[Nanoseconds],
    overheads: &[GroupOverhead],
    timer: Timer,
) -> Option<DramStall> {
    let device = timer.dram_stall_period?;
    DramStall::find(starts, &times(events, overheads, timer), timer.resolution, &device)
}

/// Summarises `events` after their overheads are subtracted; `None` if there are none. With a DRAM `stall`,
/// the median and its interval are those of launches at random times.
pub fn summary(
    events: &[Nanoseconds],
    starts: &[Nanoseconds],
    overheads: &[GroupOverhead],
    timer: Timer,
    stall: Option<&DramStall>,
) -> Option<Summary> {
    let (times, sizes) = (times(events, overheads, timer), group_sizes(overheads));
    let middle = median(&times)?;
    let groups = with_shared_error(&sizes, timer, stall, middle);
    let summary = Summary::of_groups(&times, groups, timer.resolution)?;
    if stall.is_none() {
        return Some(summary);
    }
    let stall_corrected =
        Summary::of_groups(&stall_corrected(times, starts, stall), groups, timer.resolution)?;
    Some(summary.with_median_of(stall_corrected))
}

/// Returns `times`, in which the mean delay by the stall replaces the delay of each sample; unchanged without
/// a stall or starts.
fn stall_corrected(
    times: Vec<Nanoseconds>,
    starts: &[Nanoseconds],
    stall: Option<&DramStall>,
) -> Vec<Nanoseconds> {
    match stall {
        Some(stall) if starts.len() == times.len() => stall.stall_corrected(starts, &times),
        _ => times,
    }
}

/// Returns the number of samples of each group.
fn group_sizes(overheads: &[GroupOverhead]) -> Vec<usize> {
    overheads.iter().map(|group| group.samples).collect()
}

/// Returns groups of these sizes, with the standard error that all samples share: of the timer, of the
/// process and of the stall. `middle` is the approximate time of a launch.
fn with_shared_error<'a>(
    sizes: &'a [usize],
    timer: Timer,
    stall: Option<&DramStall>,
    middle: Nanoseconds,
) -> Groups<'a> {
    let relative = timer.relative_error.map(|error| error * middle);
    let errors = [timer.shared_error, relative, stall.map(|stall| stall.error)];
    let squares = errors.map(|error| error.unwrap_or_default().as_f64().powi(2));
    Groups { sizes, shared_error: Nanoseconds(squares.iter().sum::<f64>().sqrt()) }
}

impl Energy {
    /// Returns the energy of a launch; `None` if it is not known.
    pub fn per_launch(&self) -> Option<Joules> {
        match self {
            Self::Measured(measured) => Some(measured.per_launch),
            Self::Unavailable(_) => None,
        }
    }
}
