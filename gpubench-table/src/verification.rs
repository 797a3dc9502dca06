//! The cross-check report of a result, for `--explain` and the page: each clock that timed its launches, and whether they agree.

use gpubench_records::{
    Counters, CuptiPass, CuptiTimes, Measurement, NcuPass, Verification, cupti::Difference,
    verdict::methods_disagree,
};
use gpubench_stats::{Bytes, Nanoseconds, format};

/// The maximum number of operations of a launch that are listed; the others are counted.
const MAX_NAMED_OPERATIONS: usize = 8;

/// Returns the sentences of the cross-check report, each with a word as its label. Empty without `--verify`;
/// a pass that failed or did not run has only its part of the first sentence.
pub(super) fn verification(measured: &Measurement) -> Vec<(&'static str, String)> {
    let Some(verification) = &measured.verification else { return Vec::new() };
    let mut lines = vec![("verify", clocks_sentence(measured, verification))];
    if let Some(CuptiPass::Traced(times)) = &verification.cupti {
        lines.push(("traced", trace_sentence(times)));
    }
    if let Some(NcuPass::Counted(counters)) = &verification.ncu {
        lines.push(("counters", counters_sentence(counters)));
        lines.push(("moved", traffic_sentence(measured, counters)));
    }
    lines
}

/// Returns why CUPTI did not trace the launches; `None` if it traced them, or if that was not requested.
pub(super) fn not_traced(measured: &Measurement) -> Option<&str> {
    match measured.verification.as_ref()?.cupti.as_ref()? {
        CuptiPass::Failed(why) => Some(why),
        CuptiPass::Traced(_) => None,
    }
}

/// Returns the time of a launch according to each clock. Where that can be judged, says by how much the
/// result differs from it, and whether they agree.
fn clocks_sentence(measured: &Measurement, verification: &Verification) -> String {
    let samples = &measured.samples;
    let half_width = samples.time.median_ci.half_width();
    let own = format!("{} {} ± {half_width}", samples.method.path, measured.median());
    let rows = match (samples.cross_check, samples.cross_check_difference()) {
        (Some(other), Some(_)) => {
            let by = signed(measured.median() - other);
            let agree = agreement_word(methods_disagree(samples).is_none());
            format!("cross-check {other}, {agree} ({by})")
        }
        _ => "cross-check: not available".to_owned(),
    };
    let cupti = match &verification.cupti {
        None => "CUPTI: not asked".to_owned(),
        Some(CuptiPass::Failed(why)) => format!("CUPTI: not available: {why}"),
        Some(CuptiPass::Traced(times)) => {
            let difference = times.difference(samples);
            let Difference { other, by, half_width, allowed, .. } = difference;
            let agrees = difference.agrees().map_or("not judged", agreement_word);
            let allowed = allowed.map_or_else(String::new, |allowed| format!(", of {allowed} allowed"));
            let figure = if samples.dram_stall.is_some() { "mean" } else { "median" };
            format!(
                "CUPTI {other}{}, {agrees} ({} ± {half_width}{allowed}; {figure} of {}, version {})",
                slowdown_phrase(times),
                signed(by),
                format::counted(times.time.samples, "launch"),
                times.version
            )
        }
    };
    let ncu = match &verification.ncu {
        None => "ncu: not asked".to_owned(),
        Some(NcuPass::Failed(why)) => format!("ncu: not available: {why}"),
        Some(NcuPass::Counted(counters)) => match counters.duration {
            Some(duration) => {
                format!("ncu {duration}, not judged: it is a microsecond or more above CUPTI's")
            }
            None => "ncu tells no time".to_owned(),
        },
    };
    [own, rows, cupti, ncu].join("; ")
}

/// Returns the operations of a launch with their times and fractions, and the time between them.
fn trace_sentence(times: &CuptiTimes) -> String {
    let CuptiTimes { activities, activity_count, gaps, streams, time: all, wall_time, .. } = times;
    let several = *activity_count > 1;
    let printed = activities.iter().take(MAX_NAMED_OPERATIONS).map(|activity| {
        let share =
            if several { format!(" ({})", format::percent(times.share(activity))) } else { String::new() };
        format!("{} {}{share}", activity.name, activity.time)
    });
    let mut printed = format::joined(printed, ", ");
    if *activity_count > MAX_NAMED_OPERATIONS {
        printed += &format!(" and {} more", activity_count - MAX_NAMED_OPERATIONS);
    }
    let gaps = if several { format!(", tracing included; {gaps} between them") } else { String::new() };
    let [mean, median] = [all.mean, all.median];
    format!(
        "{} on {}: {printed}{gaps}; mean {mean}, median {median}{}; the pass took {wall_time}",
        format::counted(*activity_count, "operation"),
        format::counted(*streams, "stream"),
        slowdown_phrase(times)
    )
}

/// Returns the words after a time by CUPTI for the part by which tracing slows the launch. They begin with a
/// comma; empty if that was not measured.
fn slowdown_phrase(times: &CuptiTimes) -> String {
    times
        .slowdown()
        .map_or_else(String::new, |slowdown| format!(", which includes {slowdown} of tracing overhead"))
}

/// Returns `agrees` or `disagrees`.
fn agreement_word(agree: bool) -> &'static str {
    if agree { "agrees" } else { "disagrees" }
}

/// Formats a difference of times with its sign.
fn signed(by: Nanoseconds) -> String {
    let sign = if by < Nanoseconds::ZERO { "−" } else { "+" };
    format!("{sign}{}", by.abs())
}

/// Returns the hardware counters of a launch: hit rates, occupancy, stalls and instructions.
fn counters_sentence(counters: &Counters) -> String {
    let Counters { launches, kernels, l1_hit, l2_hit, occupancy, registers, spills, stall, pipes, .. } =
        counters;
    let shares = [("L1 hit", l1_hit), ("L2 hit", l2_hit), ("occupancy", occupancy)];
    let shares =
        shares.into_iter().filter_map(|(what, share)| Some(format!("{what} {}", format::percent((*share)?))));
    let mut words: Vec<String> = shares.collect();
    words.extend(registers.map(|registers| format!("{registers} registers")));
    words.extend(spills.map(|spills| format!("{spills} accesses to local memory")));
    words.extend(
        stall
            .as_ref()
            .map(|stall| format!("warps wait most for {} ({:.1} of them)", stall.reason, stall.warps)),
    );
    let all: u64 = pipes.iter().map(|pipe| pipe.instructions).sum();
    let of_pipes = pipes.iter().take(MAX_NAMED_PIPES).map(|pipe| {
        format!("{} {}", pipe.pipe, format::percent(pipe.instructions as f64 / all.max(1) as f64))
    });
    if !pipes.is_empty() {
        words.push(format!("instructions: {}", format::joined(of_pipes, ", ")));
    }
    let summed = match kernels {
        1 => String::new(),
        kernels => format!("; sums of {}, rates by their times", format::counted(*kernels, "kernel")),
    };
    format!("{} ({}{summed})", words.join("; "), format::counted(*launches, "launch"))
}

/// The maximum number of pipes (kinds of arithmetic units) that are listed. The others only count in the sum.
const MAX_NAMED_PIPES: usize = 3;

/// Returns the declared traffic and operations with those that the hardware counted.
fn traffic_sentence(measured: &Measurement, counters: &Counters) -> String {
    let known = |bytes: Option<Bytes>| bytes.map_or_else(|| "an unknown number".to_owned(), format::bytes);
    let declared = measured.counts.bytes.map(Bytes).map_or_else(|| "nothing".to_owned(), format::bytes);
    let passed = measured.counts.intermediates.map_or_else(String::new, |passed| {
        format!(" (of which {} of intermediates)", format::bytes(Bytes(passed)))
    });
    let flops = counters.flops.iter().find(|counted| counted.data_type == measured.data_type);
    let flops = measured.counts.flops.zip(flops).map_or_else(String::new, |(declared, counted)| {
        format!("; {} declared, {} executed", format::operations(declared), format::operations(counted.flops))
    });
    format!(
        "{declared} declared{passed}; {} read from memory and {} written there; {} read from the L2 and {} written{flops}",
        known(counters.read),
        known(counters.written),
        known(counters.l2_read),
        known(counters.l2_written)
    )
}
