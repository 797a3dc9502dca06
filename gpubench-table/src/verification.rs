//! The cross-check report of a row, for `--explain` and the page: each clock that timed its launches, and whether they agree.

use gpubench_records::{
    Counters, CuptiPass, CuptiTimes, Difference, Measurement, NcuPass, Verification,
    verdict::methods_disagree,
};
use gpubench_stats::{Bytes, Nanoseconds, format};

/// The number of operations of a launch that are printed with their times.
const PRINTED: usize = 8;

/// The sentences of a row that was to be verified, each behind a word.
pub(super) fn verification(measured: &Measurement) -> Vec<(&'static str, String)> {
    let Some(verification) = &measured.verification else { return Vec::new() };
    let mut lines = vec![("verify", clocks(measured, verification))];
    if let Some(CuptiPass::Traced(times)) = &verification.cupti {
        lines.push(("traced", traced(times)));
    }
    if let Some(NcuPass::Counted(counters)) = &verification.ncu {
        lines.push(("counters", counted(counters)));
        lines.push(("moved", moved(measured, counters)));
    }
    lines
}

/// Every clock with its time, and how far the row is from it.
fn clocks(measured: &Measurement, verification: &Verification) -> String {
    let samples = &measured.samples;
    let half_width = samples.time.median_ci.half_width();
    let own = format!("{} {} ± {half_width}", samples.method.path, measured.median());
    let rows = match (samples.cross_check, samples.cross_check_difference()) {
        (Some(other), Some(_)) => {
            let by = signed(measured.median() - other);
            let agree = agreement(methods_disagree(samples).is_none());
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
            let agrees = difference.agrees().map_or("not judged", agreement);
            let allowed = allowed.map_or_else(String::new, |allowed| format!(", of {allowed} allowed"));
            let figure = if samples.dram_stall.is_some() { "mean" } else { "median" };
            format!(
                "CUPTI {other}{}, {agrees} ({} ± {half_width}{allowed}; {figure} of {}, version {})",
                slowdown(times),
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

/// The operations of a launch, each with its share of their sum, and the time between them.
fn traced(times: &CuptiTimes) -> String {
    let CuptiTimes { activities, activity_count, gaps, streams, time: all, wall_time, .. } = times;
    let several = *activity_count > 1;
    let printed = activities.iter().take(PRINTED).map(|activity| {
        let share =
            if several { format!(" ({})", format::percent(times.share(activity))) } else { String::new() };
        format!("{} {}{share}", activity.name, activity.time)
    });
    let mut printed = format::joined(printed, ", ");
    if *activity_count > PRINTED {
        printed += &format!(" and {} more", activity_count - PRINTED);
    }
    let gaps = if several { format!(", tracing included; {gaps} between them") } else { String::new() };
    let [mean, median] = [all.mean, all.median];
    format!(
        "{} on {}: {printed}{gaps}; mean {mean}, median {median}{}; the pass took {wall_time}",
        format::counted(*activity_count, "operation"),
        format::counted(*streams, "stream"),
        slowdown(times)
    )
}

/// Returns the words after a time by CUPTI for the part by which tracing slows the launch, if it was measured.
fn slowdown(times: &CuptiTimes) -> String {
    times
        .slowdown()
        .map_or_else(String::new, |slowdown| format!(", which includes {slowdown} of tracing overhead"))
}

fn agreement(agree: bool) -> &'static str {
    if agree { "agrees" } else { "disagrees" }
}

/// A difference with its sign.
fn signed(by: Nanoseconds) -> String {
    let sign = if by < Nanoseconds::ZERO { "−" } else { "+" };
    format!("{sign}{}", by.abs())
}

/// What the hardware's counters say of a launch.
fn counted(counters: &Counters) -> String {
    let Counters { launches, kernels, l1_hit, l2_hit, occupancy, registers, spills, stall, pipes, .. } =
        counters;
    let shares = [("L1 hit", l1_hit), ("L2 hit", l2_hit), ("occupancy", occupancy)];
    let shares =
        shares.into_iter().filter_map(|(what, share)| Some(format!("{what} {}", format::percent((*share)?))));
    let mut told: Vec<String> = shares.collect();
    told.extend(registers.map(|registers| format!("{registers} registers")));
    told.extend(spills.map(|spills| format!("{spills} accesses to local memory")));
    told.extend(
        stall
            .as_ref()
            .map(|stall| format!("warps wait most for {} ({:.1} of them)", stall.reason, stall.warps)),
    );
    let all: u64 = pipes.iter().map(|pipe| pipe.instructions).sum();
    let of_pipes = pipes.iter().take(PIPES).map(|pipe| {
        format!("{} {}", pipe.pipe, format::percent(pipe.instructions as f64 / all.max(1) as f64))
    });
    if !pipes.is_empty() {
        told.push(format!("instructions: {}", format::joined(of_pipes, ", ")));
    }
    let summed = match kernels {
        1 => String::new(),
        kernels => format!("; sums of {}, rates by their times", format::counted(*kernels, "kernel")),
    };
    format!("{} ({}{summed})", told.join("; "), format::counted(*launches, "launch"))
}

/// The pipes that are named.
const PIPES: usize = 3;

/// The declared work beside what was counted.
fn moved(measured: &Measurement, counters: &Counters) -> String {
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
