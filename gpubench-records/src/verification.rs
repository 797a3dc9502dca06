//! The checks of a time according to other clocks: launches as CUPTI traced them, and the hardware counters of Nsight Compute.

use gpubench_stats::{Bytes, Interval, Nanoseconds, Summary};

gpubench_stats::stored! {
    /// The results of the other clocks and counters that were asked for: CUPTI and Nsight Compute. The cross-check of the samples is not among
    /// them.
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

    /// The times of launches by CUPTI: from the begin of the first operation of a launch to the end of its last.
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

    /// An operation of a launch.
    pub struct TracedActivity {
        /// The kernel's name, `copy` or `memset`.
        pub name: String,
        /// Its mean time.
        pub time: Nanoseconds,
    }

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

impl Counters {
    /// Returns the bytes that crossed the memory's bus: read and written. `None` if either was not counted.
    pub fn moved(&self) -> Option<Bytes> {
        let (Bytes(read), Bytes(written)) = (self.read?, self.written?);
        Some(Bytes(read + written))
    }
}

gpubench_stats::stored! {
    /// The time by which tracing slows a launch.
    #[derive(Copy, Default, thiserror::Error)]
    #[error("{by} ± {half_width}")]
    pub struct Slowdown {
        /// The measured time. Zero if events read less while CUPTI traced.
        pub by: Nanoseconds,
        /// Half of its 95 % interval.
        pub half_width: Nanoseconds,
    }
}
