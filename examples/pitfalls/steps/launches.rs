//! B9: the host's time per launch for 1 to 1000 launches of two short kernels, separately and in a graph, with gpubench's times
//! of these kernels.

use gpubench::record::Cache;
use gpubench::settings::CacheStates;
use gpubench::stats::Summary;
use gpubench::units::Nanoseconds;
use gpubench::{Settings, format};
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, median};
use crate::by_hand::{HandTiming, LaunchTimes, Short};
use crate::common::{KERNELS, Result, measured};
use crate::table::Table;

const COUNTS: [usize; 4] = [1, 10, 100, 1000];
const SHORT: [(Short, &str, &str); 2] =
    [(Short::Empty, "empty kernel", "empty"), (Short::Update, "update of 64 KiB", "rmw[n=16384]")];

/// All readings of a kernel.
#[derive(Serialize, Deserialize)]
pub(super) struct MeasuredKernel {
    kernel: Short,
    by_hand: Vec<LaunchTimes>,
    gpubench: Summary,
    in_a_row: Option<Nanoseconds>,
}

/// Selects the readings of one clock.
type LaunchClock = fn(&LaunchTimes) -> &[f64];

/// The time per launch for each number of launches.
fn each(rows: &[LaunchTimes], of: LaunchClock) -> impl Iterator<Item = Nanoseconds> {
    rows.iter().map(move |row| median(of(row)) / row.count as f64)
}

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let columns = COUNTS.iter().map(|count| format!("each of {count}"));
    let mut table = Table::new(columns);
    let mut kernels = Vec::new();
    for (short, name, case) in SHORT {
        let rows: Vec<LaunchTimes> =
            bench.ask(&HandTiming::Launches { short, counts: COUNTS.to_vec() }, &[])?;
        let each = |of: fn(&LaunchTimes) -> &[f64]| -> Vec<Nanoseconds> { each(&rows, of).collect() };
        let [plain, graph] = [each(|row| &row.plain.done), each(|row| &row.graph.done)];
        let [plain_submitted, graph_submitted] =
            [each(|row| &row.plain.submitted), each(|row| &row.graph.submitted)];
        let case = format!("{KERNELS}::{case}");
        let run = bench.measure(|settings| Settings {
            exact: true,
            filter: vec![case.clone()],
            cache: Some(CacheStates::Hot),
            ..settings
        })?;
        let engine = measured(&run, &case, Cache::Hot)?;
        for (what, times) in [
            ("separate launches, complete", &plain),
            ("separate launches, submitted", &plain_submitted),
            ("graph, complete", &graph),
            ("graph, submitted", &graph_submitted),
        ] {
            table = table.row(&format!("{name}: {what}"), times.iter().copied().map(format::time));
        }
        table = table.row(&format!("{name}: right, gpubench, time"), [format::time(engine.median())]);
        if let Some(in_a_row) = engine.samples.back_to_back {
            table = table.row(&format!("{name}: right, gpubench, back-to-back"), [format::time(in_a_row)]);
        }
        kernels.push(MeasuredKernel {
            kernel: short,
            by_hand: rows,
            gpubench: engine.samples.time.clone(),
            in_a_row: engine.samples.back_to_back,
        });
    }
    let drawing = drawing(&kernels, &bench.device.name);
    Ok(Pitfall {
        row: "B9",
        title: "Confusing launch cost with kernel time",
        table,
        why: &[
            "`submitted` is the host's time for the launch calls. `complete` also includes the wait for the GPU.",
        ],
        read: json!(kernels),
        drawings: vec![("-launches.svg", drawing)],
    })
}

/// Draws the time per launch, separately and in a graph.
pub(super) fn drawing(kernels: &[MeasuredKernel], device: &str) -> String {
    let ways: [(&str, LaunchClock); 2] =
        [("separate launches", |row| &row.plain.done), ("graph", |row| &row.graph.done)];
    let named = |kernel: &MeasuredKernel| {
        SHORT.iter().find(|(short, ..)| *short == kernel.kernel).map_or("", |(_, name, _)| name)
    };
    let series = kernels.iter().flat_map(|kernel| {
        ways.iter().map(move |(way, of)| {
            let counts = kernel.by_hand.iter().map(|row| row.count as f64);
            let points = counts.zip(each(&kernel.by_hand, *of)).map(|(count, time)| (count, time.as_f64()));
            PlotSeries::new(format!("{}, {way}", named(kernel)), points)
        })
    });
    let last = |of| kernels.first().and_then(|kernel| each(&kernel.by_hand, of).last()).map(format::time);
    let [plain, graph] = ways.map(|(_, of)| last(of).unwrap_or_default());
    Panels {
        title: format!("Each of a thousand empty launches takes {plain} separately, and {graph} in a graph"),
        subtitle: format!("{device}, host's clock until all launches are complete, divided by their number"),
        x: Axis::log10("launches", AxisUnit::NUMBER),
        panels: vec![Panel {
            y: Axis::log10("time per launch", AxisUnit::TIME),
            series: series.collect(),
            marks: Vec::new(),
        }],
        shares_legend: true,
    }
    .drawing()
    .svg()
}
