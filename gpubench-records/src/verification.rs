//! The checks of a time by other clocks than its own: launches as CUPTI traced them, and the hardware counters of Nsight Compute;
//! and the reservations about a time or a declaration that they contradict.

use gpubench_stats::{Bytes, Interval, Nanoseconds, Summary};

use crate::work::{Counts, Link};
use crate::{Cache, Kernel, Path, Reason, Samples, limits::AGREED, verdict::AGREED_SHARE};

pub use crate::slowdown::Slowdown;

gpubench_stats::stored! {
    /// The checks that were asked for.
    #[derive(Default)]
    pub struct Verification {
        /// The launches as CUPTI traced them.
        pub cupti: Option<CuptiPass>,
        /// The counters of its launches by Nsight Compute.
        pub ncu: Option<NcuPass>,
    }

    /// The launches of a case behind its samples, as CUPTI traced them.
    pub enum CuptiPass {
        /// They were traced.
        Traced(Box<CuptiTimes>),
        /// The reason that nothing is known by it.
        Failed(String),
    }

    /// The times of launches by CUPTI: from the begin of the first piece of a launch to the end of its last.
    pub struct CuptiTimes {
        /// Its version.
        pub version: String,
        /// The times of the launches.
        pub time: Summary,
        /// The 95 % interval of their mean.
        pub mean_ci: Interval,
        /// The operations of a launch in the order in which they begin: kernels by name, copies and memsets.
        pub activities: Vec<TracedActivity>,
        /// The number of all its operations; `activities` lists the first of them.
        pub activity_count: usize,
        /// The mean time of a launch in which none of its operations ran.
        pub gaps: Nanoseconds,
        /// The number of streams that its operations were on.
        pub streams: usize,
        /// By how much longer events on the stream read around the launch while CUPTI traced than before, empty launches taken off. Tracing
        /// itself slows some kernels.
        pub slowdown: Option<Nanoseconds>,
        /// Half of that difference's 95 % interval.
        pub slowdown_half_width: Option<Nanoseconds>,
        /// The time that the pass took.
        pub wall_time: Nanoseconds,
    }

    /// A piece of a launch.
    pub struct TracedActivity {
        /// The kernel's name, `copy` or `memset`.
        pub name: String,
        /// Its mean time.
        pub time: Nanoseconds,
    }
}

/// The difference between the time of a row and that of another clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The time by the other clock, slowdown included.
    pub other: Nanoseconds,
    /// The part of that time by which tracing slows the launch. Nothing if it was not measured.
    pub slowdown: Option<Slowdown>,
    /// The row's time less that of the other clock, after subtraction of the slowdown.
    pub by: Nanoseconds,
    /// Half of its 95 % interval, which combines those of the row, of the other clock and of the slowdown.
    pub half_width: Nanoseconds,
    /// The largest difference, interval aside, at which the two agree. Nothing for samples of the stream path, whose events may wait for
    /// work that CUPTI has no record of, such as a graph's start or the host.
    pub allowed: Option<Nanoseconds>,
}

impl Difference {
    /// Returns true if the two clocks agree within their intervals; nothing if that is not judged.
    pub fn agrees(&self) -> Option<bool> {
        self.allowed.map(|allowed| self.by.abs() <= allowed + self.half_width)
    }
}

impl CuptiTimes {
    /// Returns the time by which tracing slows the launch, if it was measured. Tracing speeds up no launch, so that a negative reading
    /// counts as zero; its interval stays.
    pub fn slowdown(&self) -> Option<Slowdown> {
        let by = self.slowdown?.max(Nanoseconds::ZERO);
        Some(Slowdown { by, half_width: self.slowdown_half_width.unwrap_or_default() })
    }

    /// Returns the difference of the row with these samples from CUPTI's time less the slowdown.
    ///
    /// A row whose launches meet the DRAM stall has the time of a launch at a random moment, which is a mean; it is compared with CUPTI's
    /// mean, and every other row with its median. A launch of several pieces that was sampled in a graph is compared by its time on a
    /// stream, where CUPTI saw it, if that is known.
    ///
    /// The slowdown is subtracted whether or not it is significant: its half-width is part of the difference's, which covers its noise.
    pub fn difference(&self, samples: &Samples) -> Difference {
        let (other, other_ci) = match samples.dram_stall {
            Some(_) => (self.time.mean, self.mean_ci),
            None => (self.time.median, self.time.median_ci),
        };
        let ours = samples.stream_time.filter(|_| self.activity_count > 1).unwrap_or(samples.time.median);
        let slowdown = self.slowdown();
        let slowed = slowdown.unwrap_or_default();
        let half_widths = [samples.time.median_ci.half_width(), other_ci.half_width(), slowed.half_width];
        let half_width = half_widths.iter().fold(0.0, |all: f64, half| all.hypot(half.as_f64()));
        let known = samples.cross_check_error().unwrap_or(AGREED);
        let allowed = known.max(LEAST).max(AGREED_SHARE * ours);
        let allowed = (samples.method.path == Path::Graph).then_some(allowed);
        let by = ours - (other - slowed.by);
        Difference { other, slowdown, by, half_width: Nanoseconds(half_width), allowed }
    }

    /// Returns the reservation about a time that CUPTI contradicts, if the slowdown does not explain the difference.
    pub fn contradicts(&self, samples: &Samples) -> Option<Reason> {
        let difference = self.difference(samples);
        let Difference { other: cupti, slowdown, by, allowed, .. } = difference;
        let allowed = allowed.filter(|_| difference.agrees() == Some(false))?;
        let time = cupti - slowdown.unwrap_or_default().by + by;
        Some(Reason::CuptiDisagrees { time, cupti, slowdown, allowed })
    }
}

/// A row's time is not held to be better known than this: a bound says how far two ways of using events are apart, and CUPTI's stamps
/// contain errors of their own.
const LEAST: Nanoseconds = Nanoseconds(150.0);

gpubench_stats::stored! {
    /// The launches of a case as Nsight Compute counted them.
    pub enum NcuPass {
        /// They were counted.
        Counted(Box<Counters>),
        /// The reason that nothing is known by it.
        Failed(String),
    }

    /// The counters of a launch: means over the launches, and of several kernels in a launch sums; rates and shares are then means by the
    /// kernels' times.
    #[derive(Default)]
    pub struct Counters {
        /// The number of launches that were profiled.
        pub launches: usize,
        /// The number of kernels of a launch.
        pub kernels: usize,
        /// The time of its kernels (`gpu__time_duration`), a microsecond or more above CUPTI's.
        pub duration: Option<Nanoseconds>,
        /// The time in which a multiprocessor had warps of its kernels, of the one that had them longest: active cycles
        /// (`sm__cycles_active.max`) by the clock (`sm__cycles_elapsed.avg.per_second`). What the launch takes beyond it is its start and its end.
        pub active_time: Option<Nanoseconds>,
        /// The part of the sectors that the L1 had.
        pub l1_hit: Option<f64>,
        /// The part of the sectors that the L2 had.
        pub l2_hit: Option<f64>,
        /// The bytes that came from the device's memory.
        pub read: Option<Bytes>,
        /// The bytes that went there.
        pub written: Option<Bytes>,
        /// The bytes that were read from the L2.
        pub l2_read: Option<Bytes>,
        /// The bytes that were written to it.
        pub l2_written: Option<Bytes>,
        /// The part of the warps that a multiprocessor holds which were active, on the average.
        pub occupancy: Option<f64>,
        /// The registers of a thread, of the kernel with the most.
        pub registers: Option<u32>,
        /// The instructions that read or wrote local memory: spilled registers, and arrays with a computed index.
        pub spills: Option<u64>,
        /// The reason that warps wait for most.
        pub stall: Option<StallReason>,
        /// The instructions by the pipe that executed them, the most first.
        #[serde(default)]
        pub pipes: Vec<PipeInstructions>,
        /// The floating-point operations outside of tensor cores, by their precision.
        #[serde(default)]
        pub flops: Vec<CountedFlops>,
    }

    /// A reason that warps wait.
    pub struct StallReason {
        /// Nsight Compute's name, such as `long_scoreboard`.
        pub reason: String,
        /// The warps that wait for it, on the average, for each instruction that is issued.
        pub warps: f64,
    }

    /// The instructions of a pipe.
    pub struct PipeInstructions {
        /// Nsight Compute's name, such as `fma`.
        pub pipe: String,
        /// The instructions of warps.
        pub instructions: u64,
    }

    /// Floating-point operations that were counted.
    #[derive(Eq)]
    pub struct CountedFlops {
        /// Their precision, as an attribute names it.
        pub data_type: String,
        /// The operations; a multiply-add is two.
        pub flops: u64,
    }
}

/// The part by which a declaration and the counters may differ.
const SAME: f64 = 0.1;
/// Code, arguments and page tables come from memory too.
const SLACK: f64 = 256.0 * 1024.0;
/// The operations with which a thread may begin and end, beside those that its author counts: sums from several accumulators, indices.
const FLOPS_PER_THREAD: u64 = 32;
/// The pipe of square roots, divisions and conversions, whose instructions are no operations by the counters.
const SPECIAL: &str = "xu";
const WARP: u64 = 32;

impl Counters {
    /// Returns the bytes that crossed the memory's bus.
    pub fn moved(&self) -> Option<Bytes> {
        let (Bytes(read), Bytes(written)) = (self.read?, self.written?);
        Some(Bytes(read + written))
    }

    /// Returns the reservations about the declared work of a launch that these counters contradict. The last-level cache has this size.
    pub fn contradict(
        &self,
        cache: Cache,
        (counts, link, precision): (&Counts, Option<Link>, &str),
        (kernels, last_level_cache): (&[Kernel], Option<Bytes>),
    ) -> Vec<Reason> {
        let moved = (cache == Cache::Cold && matches!(link, None | Some(Link::D2d)))
            .then(|| self.moved_otherwise(counts, last_level_cache))
            .flatten();
        let threads = kernels.iter().map(|kernel| kernel.blocks() * kernel.threads()).sum();
        moved.into_iter().chain(self.counted_otherwise(counts, precision, threads)).collect()
    }

    /// A cold launch reads all of its data from memory, and leaves in the last-level cache what fits of its writes.
    fn moved_otherwise(&self, counts: &Counts, last_level_cache: Option<Bytes>) -> Option<Reason> {
        let moved = self.moved()?;
        let bytes = counts.bytes?;
        let written = match (counts.reads, counts.writes) {
            (None, None) => bytes,
            (_, writes) => writes.unwrap_or_default(),
        };
        let stays = last_level_cache.map_or(written, |Bytes(size)| written.min(size));
        let least = bytes - stays.min(bytes);
        let beyond = |a: f64, b: f64| a > (1.0 + SAME) * b && a - b > SLACK;
        let off = beyond(moved.as_f64(), bytes as f64) || beyond(least as f64, moved.as_f64());
        off.then_some(Reason::TrafficMismatch {
            declared: Bytes(bytes),
            counted: moved,
            min_traffic: Bytes(least),
        })
    }

    /// Operations of a precision that the counters tell apart are what is declared. Whether a square root is one is the author's choice.
    fn counted_otherwise(&self, counts: &Counts, precision: &str, threads: u64) -> Option<Reason> {
        let declared = counts.flops?;
        let counted = self.flops.iter().find(|counted| counted.data_type == precision)?.flops;
        let special = self.pipes.iter().find(|pipe| pipe.pipe == SPECIAL);
        let most = counted + special.map_or(0, |pipe| WARP * pipe.instructions);
        let beyond = |a: u64, b: u64| a as f64 > (1.0 + SAME) * b as f64;
        let off = beyond(declared, most) || beyond(counted, declared + FLOPS_PER_THREAD * threads);
        off.then_some(Reason::FlopsMismatch { declared, counted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const L2: Option<Bytes> = Some(Bytes(60 * MIB));

    fn reasons(reads: u64, writes: u64, moved: [u64; 2]) -> Vec<Reason> {
        let counts = Counts {
            reads: Some(reads * MIB),
            writes: Some(writes * MIB),
            bytes: Some((reads + writes) * MIB),
            ..Counts::default()
        };
        let [read, written] = moved.map(|bytes| Some(Bytes(bytes * MIB)));
        let counters = Counters { read, written, ..Counters::default() };
        counters.contradict(Cache::Cold, (&counts, None, "f32"), (&[], L2))
    }

    #[test]
    fn writes_may_stay_in_the_cache_and_reads_may_not() {
        assert_eq!(reasons(16, 16, [16, 0]), []);
        assert_eq!(reasons(1024, 1024, [1024, 964]), []);
        assert_eq!(reasons(1024, 1024, [1024, 1024]), []);
        let is_moved = |found: &[Reason]| matches!(found, [Reason::TrafficMismatch { .. }]);
        // It declares twice what it reads, or half.
        assert!(is_moved(&reasons(128, 0, [64, 0])) && is_moved(&reasons(64, 0, [128, 0])));
        assert!(is_moved(&reasons(0, 1024, [0, 512])));
        // A few kilobytes are code.
        assert_eq!(reasons(0, 0, [0, 0]), []);
    }

    #[test]
    fn hot_launches_and_links_move_what_they_like() {
        let counts = Counts { reads: Some(MIB), bytes: Some(MIB), ..Counts::default() };
        let counters =
            Counters { read: Some(Bytes(9 * MIB)), written: Some(Bytes(0)), ..Counters::default() };
        for (cache, link) in
            [(Cache::Hot, None), (Cache::Cold, Some(Link::H2d)), (Cache::Cold, Some(Link::L2))]
        {
            assert_eq!(counters.contradict(cache, (&counts, link, "f32"), (&[], L2)), []);
        }
    }

    #[test]
    fn operations_are_held_against_those_of_their_precision() {
        let flops = vec![CountedFlops { data_type: "f32".to_owned(), flops: 1000 }];
        let counters = Counters { flops, ..Counters::default() };
        let found = |flops, precision| {
            let counts = Counts { flops: Some(flops), ..Counts::default() };
            counters.contradict(Cache::Hot, (&counts, None, precision), (&[], None)).len()
        };
        assert_eq!(
            [found(1000, "f32"), found(1090, "f32"), found(2000, "f32"), found(500, "f32")],
            [0, 0, 1, 1]
        );
        assert_eq!(found(2000, "f16 tensor"), 0);
    }

    /// 1024 threads may do 32 operations each beside those that are declared; a square root may be declared, and is not counted.
    #[test]
    fn threads_begin_and_end_and_square_roots_may_count() {
        let kernel = Kernel {
            name: None,
            grid: [4, 1, 1],
            block: [256, 1, 1],
            static_shared_memory: Bytes::ZERO,
            dynamic_shared_memory: Bytes::ZERO,
            registers_per_thread: 32,
            local_memory_per_thread: Bytes::ZERO,
            max_active_blocks_per_sm: 8,
        };
        let found = |counted, special, declared| {
            let flops = vec![CountedFlops { data_type: "f32".to_owned(), flops: counted }];
            let pipes = vec![PipeInstructions { pipe: SPECIAL.to_owned(), instructions: special }];
            let counters = Counters { flops, pipes, ..Counters::default() };
            let counts = Counts { flops: Some(declared), ..Counts::default() };
            counters
                .contradict(Cache::Hot, (&counts, None, "f32"), (std::slice::from_ref(&kernel), None))
                .len()
        };
        assert_eq!([found(32_768 + 1000, 0, 1000), found(40_000, 0, 1000)], [0, 1]);
        // 18 operations and a square root are declared as 20.
        assert_eq!([found(18_000, 1000 / 32, 20_000), found(18_000, 0, 20_000)], [0, 1]);
    }
}
