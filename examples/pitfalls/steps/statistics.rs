//! B6: one reading by hand, and the statistics of a result.

use gpubench::format;
use gpubench::units::Nanoseconds;
use serde_json::json;

use super::Pitfall;
use crate::bench::Bench;
use crate::common::Result;
use crate::table::Table;

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let n = bench.size(1024);
    let by_hand = bench.timers(&[n])?.remove(0);
    let measured = bench.naive(&[n])?.remove(0);
    let (time, one) = (&measured.samples.time, by_hand.synchronised.first().copied().unwrap_or_default());
    let interval = format!("{} to {}", format::time(time.median_ci.low), format::time(time.median_ci.high));
    let table = Table::new(["time"])
        .row("wrong: one reading, host clock and wait", [format::time(Nanoseconds(one))])
        .row("right: gpubench, median", [format::time(time.median)])
        .row("95 % confidence interval", [interval])
        .row("samples", [time.samples])
        .row("minimum", [format::time(time.min)])
        .row("mean", [format::time(time.mean)])
        .row("95th percentile", [format::time(time.p95)])
        .row("99th percentile", [format::time(time.p99)])
        .row("maximum", [format::time(time.max)])
        .row("standard deviation", [format::time(time.standard_deviation)])
        .row("coefficient of variation", [format::percent(time.cv)])
        .row("interquartile range", [format::time(time.iqr)]);
    Ok(Pitfall {
        row: "B6",
        title: "Reporting one reading",
        table,
        why: &[
            "The confidence interval is the uncertainty of the median. The rows from `minimum` on describe single samples.",
        ],
        read: json!({ "size": n, "by_hand": by_hand, "gpubench": measured.samples.time, "samples": measured.samples.event_times }),
        drawings: Vec::new(),
    })
}
