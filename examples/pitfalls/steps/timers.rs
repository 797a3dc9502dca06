//! B1, B2 and B3: times by the host's clock without waiting, with waiting, and by events, with gpubench's times.

use std::collections::BTreeMap;

use gpubench::format;
use gpubench::units::{Nanoseconds, Range};
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotPoint, PlotSeries};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Pitfall;
use crate::bench::{Bench, above, median, shown, stated};
use crate::by_hand::Timers;
use crate::common::Result;
use crate::table::Table;

const LARGE: [usize; 3] = [2048, 4096, 8192];
const SMALL: [usize; 3] = [512, 1024, 2048];

/// The source's times in milliseconds: size and time, or size, time by events and time by the host's clock.
const UNSYNCHRONISED: [(usize, f64); 3] = [(2048, 0.238), (4096, 0.244), (8192, 0.257)];
const SYNCHRONISED: [(usize, f64); 3] = [(2048, 15.518), (4096, 121.314), (8192, 904.354)];
const BOTH: [(usize, f64, f64); 3] = [(512, 0.293, 0.407), (1024, 1.953, 2.042), (2048, 15.372, 15.464)];

/// B1.
pub(crate) fn unsynchronised(bench: &Bench<'_>) -> Result<Pitfall> {
    let what = ["wrong: host clock around the launch", "source: host clock around the launch"];
    let (table, read) = host_clock(bench, |timers| &timers.unsynchronised, what, &UNSYNCHRONISED)?;
    let sizes = bench.sizes(SMALL.into_iter().chain(LARGE));
    let (by_hand, gpubench) = (bench.timers(&sizes)?, bench.naive_times(&sizes)?);
    let readings = TimerReadings { sizes, by_hand, gpubench };
    Ok(Pitfall {
        row: "B1",
        title: "Timing with the host's clock without waiting",
        table,
        why: &["The time is a few microseconds for each size, because it does not include the kernel."],
        read,
        drawings: vec![("-timers.svg", readings.drawing(&bench.device.name))],
    })
}

/// B2.
pub(crate) fn synchronised(bench: &Bench<'_>) -> Result<Pitfall> {
    let what = ["host clock around launch and wait", "source: host clock around launch and wait"];
    let (table, read) = host_clock(bench, |timers| &timers.synchronised, what, &SYNCHRONISED)?;
    Ok(Pitfall {
        row: "B2",
        title: "Timing with the host's clock and waiting",
        table,
        why: &[
            "The time includes the kernel, but also the launch call, the wait call and the thread's wake-up.",
        ],
        read,
        drawings: Vec::new(),
    })
}

/// Returns a table of times by the host's clock, by gpubench and by the source, with the names of two rows; and all readings.
fn host_clock(
    bench: &Bench<'_>,
    of: fn(&Timers) -> &[f64],
    [wrong, source]: [&str; 2],
    theirs: &[(usize, f64)],
) -> Result<(Table, Value)> {
    let sizes = bench.sizes(LARGE);
    let read = bench.timers(&sizes)?;
    let right = bench.naive_times(&sizes)?;
    let times: Vec<Nanoseconds> = read.iter().map(|timers| median(of(timers))).collect();
    let table = Table::new(sizes.iter().map(ToString::to_string))
        .row(wrong, shown(&times))
        .row("right: gpubench", shown(&right))
        .row(source, stated(&sizes, theirs));
    Ok((table, json!({ "sizes": sizes, "by_hand": read, "gpubench": right })))
}

/// The readings of all timers by size, as steps store them.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct TimerReadings {
    sizes: Vec<usize>,
    by_hand: Vec<Timers>,
    gpubench: Vec<Nanoseconds>,
}

impl TimerReadings {
    /// Combines the readings of several steps, sorted by size, with each size once.
    pub(super) fn together(all: impl IntoIterator<Item = Self>) -> Self {
        let rows = all.into_iter().flat_map(|Self { sizes, by_hand, gpubench }| {
            sizes.into_iter().zip(by_hand.into_iter().zip(gpubench))
        });
        let rows: BTreeMap<usize, (Timers, Nanoseconds)> = rows.collect();
        let (sizes, read): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let (by_hand, gpubench) = read.into_iter().unzip();
        Self { sizes, by_hand, gpubench }
    }

    /// Returns a point for each size: `of` the readings and gpubench's time.
    fn points(&self, of: impl Fn(&Timers, Nanoseconds) -> f64) -> Vec<PlotPoint> {
        let rows = self.sizes.iter().zip(self.by_hand.iter().zip(&self.gpubench));
        rows.map(|(size, (timers, right))| PlotPoint::from((*size as f64, of(timers, *right)))).collect()
    }

    /// Draws the times without waiting and gpubench's times. A second panel shows the differences of the other timers, which are
    /// too small for the first.
    pub(super) fn drawing(&self, device: &str) -> String {
        let time = vec![
            PlotSeries::new("gpubench", self.points(|_, right| right.as_f64())),
            PlotSeries::new(
                "host clock without waiting",
                self.points(|timers, _| median(&timers.unsynchronised).as_f64()),
            ),
        ];
        let more =
            |of: fn(&Timers) -> &[f64]| self.points(move |timers, right| median(of(timers)) / right - 1.0);
        let above = vec![
            PlotSeries::new("host clock and wait", more(|timers| &timers.synchronised)),
            PlotSeries::new("CUDA events", more(|timers| &timers.events)),
        ];
        let panel = |y, series| Panel { y, series, marks: Vec::new() };
        Panels {
            title: self.title(),
            subtitle: format!("{device}, matrix products, medians"),
            x: Axis::log2("matrix size", AxisUnit::NUMBER),
            panels: vec![
                panel(Axis::log10("time", AxisUnit::TIME), time),
                panel(Axis::linear("relative to gpubench", AxisUnit::PART), above),
            ],
            shares_legend: false,
        }
        .drawing()
        .svg()
    }

    fn title(&self) -> String {
        let unsynchronised = self.by_hand.iter().map(|timers| median(&timers.unsynchronised));
        let shown = |times: Option<Range<Nanoseconds>>| {
            times.map(|range| format::from_to(range, format::time)).unwrap_or_default()
        };
        let (read, right) =
            (shown(Range::of(unsynchronised)), shown(Range::of(self.gpubench.iter().copied())));
        format!("Without waiting, the host's clock shows {read} for kernels that take {right}")
    }
}

/// B3.
pub(crate) fn events(bench: &Bench<'_>) -> Result<Pitfall> {
    let sizes = bench.sizes(SMALL);
    let read = bench.timers(&sizes)?;
    let right = bench.naive_times(&sizes)?;
    let host: Vec<Nanoseconds> = read.iter().map(|timers| median(&timers.synchronised)).collect();
    let events: Vec<Nanoseconds> = read.iter().map(|timers| median(&timers.events)).collect();
    let more = |times: &[Nanoseconds]| -> Vec<String> {
        times.iter().zip(&right).map(|(time, right)| above(*time, *right)).collect()
    };
    let both: Vec<String> = host.iter().zip(&events).map(|(host, events)| above(*host, *events)).collect();
    let theirs = |of: fn(f64, f64) -> String| -> Vec<String> {
        let row = |n: &usize| BOTH.iter().find(|(size, ..)| size == n);
        sizes.iter().map(|n| row(n).map(|(_, events, host)| of(*events, *host)).unwrap_or_default()).collect()
    };
    let table = Table::new(sizes.iter().map(ToString::to_string))
        .row("wrong: host clock and wait", shown(&host))
        .row("CUDA events", shown(&events))
        .row("right: gpubench", shown(&right))
        .row("host clock relative to events", both)
        .row("events relative to gpubench", more(&events))
        .row("source: host clock and wait", theirs(|_, host| format::time(Nanoseconds(host * 1e6))))
        .row("source: events", theirs(|events, _| format::time(Nanoseconds(events * 1e6))))
        .row(
            "source: host clock relative to events",
            theirs(|events, host| above(Nanoseconds(host), Nanoseconds(events))),
        );
    Ok(Pitfall {
        row: "B3",
        title: "Timing with CUDA events",
        table,
        why: &[
            "The host's clock adds about the same time for each size, which matters most for short kernels.",
        ],
        read: json!({ "sizes": sizes, "by_hand": read, "gpubench": right }),
        drawings: Vec::new(),
    })
}
