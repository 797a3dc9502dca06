//! The reasons why a result is suspect or invalid: each with its sentence and the best state that it allows.

use super::State;
use super::claims::{DeclaredBytes, ExcessTraffic};
use crate::{
    ClockFaults, Failure, Flush, Observation, Quantity, Reuse, Rewritten, Slowdown, limits::ImpossibleSpeed,
    verdict::launches,
};
use gpubench_stats::{
    Bytes, BytesPerSecond, Drift, FlopsPerSecond, Hertz, Modes, Nanoseconds, format, units::Range,
};

gpubench_stats::stored! {
    /// A reason why a result is suspect or invalid.
    #[derive(thiserror::Error)]
    #[non_exhaustive]
    pub enum Reason {
        /// The case failed before it had a result.
        #[error("{0}")]
        Failed(Failure),
        /// The case failed, and was measured at the second try, in a new process. This is the first failure.
        #[error("second try: measured in a new process, after the first process failed ({0})")]
        SecondTry(Failure),
        /// A launch or a check after the samples failed.
        #[error("{0}")]
        FailedAfterwards(Failure),
        /// The clock gave readings that are no times of launches.
        #[error("broken clock: {0}: none of this result's times can be used: update the driver, or measure on another device")]
        BrokenClock(ClockFaults),
        /// Processes that measured it declare different work, so that they did not measure the same.
        #[error("work differs: processes declare different work ({differences}): make the counts the same in each process")]
        WorkDiffers {
            /// The differences, such as "bytes 2, was 1".
            differences: String,
        },
        /// The time is too short for the work that the launch declares.
        #[error("{}", impossible_speed_message(.0))]
        ImpossibleSpeed(ImpossibleSpeed),
        /// The launch declares writes, and changes no memory, whatever its contents.
        #[error(
            "outputs never written: it declares {declared} {}, and a launch changed no byte of memory, even after gpubench changed the memory's contents: did \
             the kernel run, on the declared buffers?{}",
            if *.may_be_read { "moved" } else { "written" },
            if *.may_be_read { " If it only reads, declare `reads` in place of `bytes`" } else { "" }
        )]
        NothingWritten {
            /// The bytes that it declares as written, or as read and written.
            declared: Bytes,
            /// True if its counts do not tell reads from writes.
            may_be_read: bool,
        },
        /// The sampled launches leave out most of an output that the checked launch wrote.
        #[error(
            "outputs: the first launch wrote {}, and launches after the samples write {}: later launches seem to return an earlier \
             result: compute in each launch, or clear the stored result in `reset`",
            .0.changed,
            .0.again
        )]
        StaleOutputs(Rewritten),
        /// A launch on fresh inputs takes longer than one on used inputs.
        #[error(
            "faster on used inputs: one cold launch on fresh inputs takes {}, and the next on the same inputs {}, overhead included; all samples are on used inputs: if \
             a launch changes an input `x`, add `restore = [x]`, which copies it back before each sample, or a `reset`; if it changes \
             none, measure again",
            .0.fresh,
            .0.used
        )]
        FasterOnUsedInputs(Reuse),
        /// A launch after the samples left outputs that fail the check, although all device memory was as before the checked launch.
        #[error(
            "outputs: the check passes for the first launch and fails for a later one ({0}), although gpubench restored \
             the device memory in between: restore in `reset` what the launch function keeps on the host"
        )]
        LaterOutputsFail(Failure),
        /// `setup` failed when it was called again after the samples.
        #[error(
            "setup failed when it was called again after the samples, so that no launch on fresh inputs was checked ({0}): make `setup` \
             succeed each time, and return the same inputs"
        )]
        SetupNotRepeatable(Failure),
        /// No launch on fresh inputs was checked after the samples, since the time limit of the case left no time for it.
        #[error(
            "no time for fresh inputs: no launch on fresh inputs was checked after the samples, since that needs about {needed} and \
             --timeout left {left}: raise --timeout"
        )]
        NoTimeForFreshInputs {
            /// The estimated time of `setup` and the launches.
            needed: Nanoseconds,
            /// The time left until the limit.
            left: Nanoseconds,
        },
        /// The launch takes no longer than an empty launch.
        #[error(
            "no work left: an empty launch takes {empty}, and this one only {time} more: the compiler may have removed the work \
             (pass inputs and results through `std::hint::black_box` in `stream.run`), or the case is too small"
        )]
        NoLongerThanEmpty {
            /// Its time, from which that of an empty launch is subtracted.
            time: Nanoseconds,
            /// The time of an empty launch.
            empty: Nanoseconds,
        },
        /// The launch declares more bytes per second than the cores can load and store.
        #[error(
            "too fast for the cores: its declared bytes divided by its time are {declared}, and all cores together load and store at most \
             {limit}: the compiler may have removed the work (pass inputs and results through `std::hint::black_box` in \
             `stream.run`), or it declares too many bytes"
        )]
        AboveCoreBandwidth {
            /// The declared bytes divided by the time.
            declared: BytesPerSecond,
            /// The most that the cores can load and store.
            limit: BytesPerSecond,
        },
        /// The launch does something that its time may not stand for.
        #[error("{}", launches::describe_observation(.0))]
        Observed(Observation),
        /// The device waits for the host between pieces of the launch's work.
        #[error(
            "GPU idle: the GPU waits for the host during {} of the time, and its own work takes {prequeued_time}: enqueue everything at once, or \
             declare `host_work` if the host's part belongs to the launch",
            format::percent(*.idle_fraction)
        )]
        GpuIdle {
            /// The part of the time.
            idle_fraction: f64,
            /// The time of a launch whose work was all enqueued before.
            prequeued_time: Nanoseconds,
        },
        /// The launch declares more bytes than its memory has, or than it changes.
        #[error("{}", traffic_too_high_message(.0))]
        TrafficTooHigh(ExcessTraffic),
        /// The sampling budget was spent before the interval was narrow enough.
        #[error(
            "not converged: the interval of the median is ± {}, wider than the target of {}: raise --max-time (which overrides the \
             attribute's `max_time`), and --timeout if it is shorter, or set a wider target with --precision",
            format::percent(*.reached),
            format::precision(*.requested)
        )]
        NotConverged {
            /// The relative half-width that was reached.
            reached: f64,
            /// The one that was requested.
            requested: f64,
        },
        /// There are fewer samples than an interval of the median needs.
        #[error(
            "too few samples: {samples}, where a 95 % interval of the median needs {needed}{}",
            more_samples_advice(*.needed, *.budget)
        )]
        TooFewSamples {
            /// The number of them.
            samples: usize,
            /// The number that an interval needs.
            needed: usize,
            /// The time budget that has room for them. Nothing if the user set the number of samples.
            budget: Option<Nanoseconds>,
        },
        /// Other programs interrupted samples that could not be left out, since too few others are left.
        #[error(
            "interrupted: other programs used the CPU during {interrupted} of {samples} samples, more than can be left out: stop the \
             programs, or raise --max-time for more samples"
        )]
        Interrupted {
            /// The number of samples that were interrupted.
            interrupted: usize,
            /// The number of all.
            samples: usize,
        },
        /// The interval of the median is too wide for a valid row, although sampling ended as requested: after a fixed number of
        /// samples, after the rounds of a comparison, or because one step of the timer is that wide.
        #[error(
            "wide interval: the interval of the median is ± {}, wider than {}, the limit of a valid result: take more samples, or do more work \
             per launch",
            format::percent(*.reached),
            format::plus_minus(*.limit)
        )]
        WideInterval {
            /// The relative half-width.
            reached: f64,
            /// The widest that is valid.
            limit: f64,
        },
        /// The two methods of timing a launch give two times.
        #[error(
            "methods disagree: the samples give {time}, and the cross-check, a second method of timing, gives {cross_check}: use neither time: \
             measure again without other programs, or do more work per launch"
        )]
        MethodsDisagree {
            /// The median of the samples.
            time: Nanoseconds,
            /// The time according to the second method.
            cross_check: Nanoseconds,
        },
        /// CUPTI's time is another than the row's, and the slowdown by tracing does not explain the difference.
        #[error(
            "CUPTI disagrees: the samples give {time}, and CUPTI's trace of later launches gives {cupti}{}: they differ by more than the allowed {allowed}: the \
             GPU's clock may have changed in between: measure again with --lock-clocks base; if they still disagree, check that every launch does \
             the same work",
            .slowdown.map_or_else(String::new, |slowdown| format!(", which includes {slowdown} of tracing overhead"))
        )]
        CuptiDisagrees {
            /// The time of the row.
            time: Nanoseconds,
            /// The time by CUPTI, slowdown included.
            cupti: Nanoseconds,
            /// The part of that time by which tracing slows the launch. Nothing if it was not measured.
            slowdown: Option<Slowdown>,
            /// The difference that is no contradiction.
            allowed: Nanoseconds,
        },
        /// The memory's bus was crossed by other bytes than the launch declares.
        #[error("{}", traffic_mismatch_message(*.declared, *.counted, *.min_traffic))]
        TrafficMismatch {
            /// The bytes that it declares.
            declared: Bytes,
            /// The bytes that crossed the bus, by the hardware's counters.
            counted: Bytes,
            /// The fewest that have to cross it, if what it writes may stay in the last-level cache.
            min_traffic: Bytes,
        },
        /// Other operations were executed than the launch declares.
        #[error(
            "flops mismatch: it declares {}, and {} were executed in its data type according to the GPU's counters: {}",
            format::operations(*.declared),
            format::operations(*.counted),
            if .counted > .declared { "count a fused multiply-add as 2" } else { "does the kernel process all of its input?" }
        )]
        FlopsMismatch {
            /// The operations that it declares.
            declared: u64,
            /// The operations of its data type, by the hardware's counters.
            counted: u64,
        },
        /// The verification of the flush does not show that the cache is empty.
        #[error(
            "flush not verified: timed reads do not show that `{flush}` empties the cache, so that cold launches may find data in it: \
             use hot results (--cache hot). If you set --flush, leave it out"
        )]
        FlushNotVerified {
            /// The flush.
            flush: Flush,
        },
        /// The launch got slower or faster while it was sampled: the median describes no steady state.
        #[error(
            "drift: the last third of the samples is {} {} than the first third: the device warms up or slows down, or the work \
             changes: try a longer --warmup, a `reset`, or on a GPU --lock-clocks base",
            format::percent(.0.change.abs()),
            if .0.change > 0.0 { "slower" } else { "faster" }
        )]
        Drift(Drift),
        /// The samples gather around two times, and the median is one of these, or between them.
        #[error(
            "two modes: {} of the samples are near {}, {} near {}: the median jumps if these shares change: look for what alternates \
             (clocks, other programs, alignment, a branch in the launch)",
            format::percent(1.0 - .0.high_fraction),
            .0.low,
            format::percent(.0.high_fraction),
            .0.high
        )]
        TwoModes(Modes),
        /// The clock of the multiprocessors fell while samples were taken, or something held it down.
        #[error("clocks: multiprocessors ran at {}, {}: lock a clock that the GPU can keep (--lock-clocks base)", format::from_to(*.clock, format::clock), throttle_phrase(.throttle_reasons))]
        ClocksFell {
            /// Its lowest and its highest.
            clock: Range<Hertz>,
            /// The causes that held it down, as far as the driver reports them.
            throttle_reasons: Vec<String>,
        },
        /// Other processes had work on the device.
        #[error("other processes: {count} had a context on the device during sampling: stop them, and measure again")]
        OtherProcesses {
            /// The number of them.
            count: u32,
        },
        /// The time is at or below zero, or less than the timer can resolve.
        #[error("below resolution: the time is below one step of the timer, {resolution}: do more work per launch")]
        BelowResolution {
            /// The timer's resolution.
            resolution: Nanoseconds,
        },
    }
}

impl Reason {
    /// Returns the best state that a result with this reason can have.
    pub fn state(&self) -> State {
        match self {
            Self::SecondTry(_) => State::Valid,
            Self::Failed(_)
            | Self::FailedAfterwards(_)
            | Self::BrokenClock(_)
            | Self::WorkDiffers { .. }
            | Self::ImpossibleSpeed(_)
            | Self::StaleOutputs(_) => State::Invalid,
            _ => State::Suspect,
        }
    }

    /// Returns true if the reason is that the launch did little or nothing: it took no longer than an empty
    /// launch, exceeded the bandwidth of the cores, or enqueued no work.
    pub fn is_missing_work(&self) -> bool {
        matches!(
            self,
            Self::NoLongerThanEmpty { .. }
                | Self::AboveCoreBandwidth { .. }
                | Self::Observed(Observation::NoWork)
        )
    }

    /// Returns true if the reason is about the accuracy of a time, such as a wide interval or a drift. Such
    /// reasons are dropped if the time is impossible.
    pub(super) fn is_about_time_accuracy(&self) -> bool {
        matches!(
            self,
            Self::NotConverged { .. }
                | Self::TooFewSamples { .. }
                | Self::Interrupted { .. }
                | Self::WideInterval { .. }
                | Self::MethodsDisagree { .. }
                | Self::CuptiDisagrees { .. }
                | Self::Drift(_)
                | Self::TwoModes(_)
                | Self::ClocksFell { .. }
                | Self::OtherProcesses { .. }
        )
    }
}

/// Returns the advice that ends the sentence about too few samples. `needed` is the number of samples that
/// suffices. `budget` is the time for these; `None` if the user set the number of samples.
fn more_samples_advice(needed: usize, budget: Option<Nanoseconds>) -> String {
    match budget {
        Some(budget) => {
            format!(
                ": with warm-up and checks, these take about {budget}: raise --max-time to that, and --timeout if it is shorter"
            )
        }
        None => format!(": take at least {needed} (--samples {needed})"),
    }
}

/// Returns a phrase such as `held down by power cap`, or, if `throttle_reasons` is empty, that the driver
/// gives no reason.
fn throttle_phrase(throttle_reasons: &[String]) -> String {
    match throttle_reasons {
        [] => "and the driver gives no reason".to_owned(),
        reasons => format!("held down by {}", reasons.join(", ")),
    }
}

/// Returns the sentence about traffic counted by the GPU that differs from the declared bytes. `min_traffic`
/// are the declared bytes that cannot stay in the cache.
fn traffic_mismatch_message(declared: Bytes, counted: Bytes, min_traffic: Bytes) -> String {
    let hint = if counted > declared {
        "is something not declared, or is the same data fetched from memory several times?"
    } else {
        "does the kernel process all of its input, or is something counted twice?"
    };
    let stays = if min_traffic < declared {
        format!(" (of which {min_traffic} cannot stay in the L2)")
    } else {
        String::new()
    };
    format!(
        "traffic mismatch: it declares {declared}{stays}, and {counted} crossed the memory's bus according to the GPU's counters: {hint}"
    )
}

/// Returns the sentence about declared bytes that exceed the memory of the launch or its changes.
fn traffic_too_high_message(excess: &ExcessTraffic) -> String {
    let ExcessTraffic { kind, declared, given, changed } = excess;
    let (moved, hint) = match kind {
        DeclaredBytes::Read => ("read", "is it given all of its inputs, and is the count right?"),
        DeclaredBytes::Written => {
            ("written", "does the kernel run over the whole buffer, and is the count right?")
        }
        DeclaredBytes::Moved => ("moved", "is something counted twice?"),
        DeclaredBytes::Intermediates { operations } => return too_many_intermediates(excess, *operations),
    };
    format!(
        "declared traffic too high: it declares {declared} {moved}, but a launch changes only {changed} of the {given} of memory that it can \
         reach, even after gpubench changed the memory's contents: {hint} Count each byte at most once as read and once as written, and bytes that one kernel passes to another as `intermediates`"
    )
}

/// Returns the sentence about declared intermediates that exceed what the operations of a launch can pass on.
fn too_many_intermediates(excess: &ExcessTraffic, operations: usize) -> String {
    let ExcessTraffic { declared, given, .. } = excess;
    let why = match operations {
        0 | 1 => "but a launch has one kernel: leave out `intermediates`".to_owned(),
        _ => format!(
            "and a launch of {operations} operations is given {given} of memory, which each but the last passes on at most once, \
             written and read: is the count right?"
        ),
    };
    format!("declared traffic too high: it declares {declared} of intermediates, {why}")
}

/// Returns the sentence about an impossible speed, with a hint at the mistake.
fn impossible_speed_message(speed: &ImpossibleSpeed) -> String {
    let ImpossibleSpeed { quantity, work, peak, measured, time, least_time } = speed;
    let (measured_peak, even, peak_too) = if *measured {
        ("measured peak", format!(" ({} if the true peak is ten times as high)", *least_time / 10.0), "")
    } else {
        ("peak", String::new(), " Is the peak right (--measure-peaks, or `peaks` in gpubench.toml)?")
    };
    let (work, peak, question) = match quantity {
        Quantity::MemoryBandwidth => {
            return format!(
                "impossible: at least {} of the declared bytes have to cross the memory's bus, which takes {least_time} at its \
                 {measured_peak} of {}{even}, but the launch took {time}, too little even with the timer's errors: did the kernel run, and is the count right?{peak_too}",
                Bytes(*work),
                BytesPerSecond::from(*peak)
            );
        }
        Quantity::Compute(_) => (
            format::operations(*work),
            FlopsPerSecond::from(*peak).to_string(),
            "did all of it run, in this data type",
        ),
        _ => (Bytes(*work).to_string(), BytesPerSecond::from(*peak).to_string(), "did all of it run"),
    };
    format!(
        "impossible: {work} take {least_time} at the {} {measured_peak} of {peak}{even}, but the launch took {time}, too little even with the timer's errors: {question}, \
         and is the count right?{peak_too}",
        quantity.roof()
    )
}
