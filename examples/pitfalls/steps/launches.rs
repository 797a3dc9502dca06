//! B9: what a launch costs, one by one and in a graph. In: the bench; out: the cost of each of 1 to 1000 launches of an empty and
//! of a short kernel, by the host's clock until all is done, beside gpubench's times of the kernel on the GPU.

use gpubench::drawing::{Axis, Curves, Series};
use gpubench::format;
use gpubench::method::Cache;
use gpubench::units::Nanoseconds;
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, median};
use crate::by_hand::{LaunchTimes, Point, Short};
use crate::common::{KERNELS, Result, measured};
use crate::table::Table;

const COUNTS: [usize; 4] = [1, 10, 100, 1000];
const SHORT: [(Short, &str, &str); 2] =
    [(Short::Empty, "an empty kernel", "empty"), (Short::Update, "an update of 64 KiB", "rmw[n=16384]")];

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let columns = COUNTS.iter().map(|count| format!("of {count}"));
    let mut table = Table::new(columns);
    let (mut series, mut read) = (Vec::new(), Vec::new());
    for (short, name, case) in SHORT {
        let rows: Vec<LaunchTimes> = bench.ask(&Point::Launches { short, counts: COUNTS.to_vec() }, &[])?;
        let each = |of: fn(&LaunchTimes) -> &[f64]| -> Vec<Nanoseconds> {
            rows.iter().map(|row| Nanoseconds(median(of(row)).0 / row.count as f64)).collect()
        };
        let [plain, graph] = [each(|row| &row.plain.done), each(|row| &row.graph.done)];
        let [plain_submitted, graph_submitted] =
            [each(|row| &row.plain.submitted), each(|row| &row.graph.submitted)];
        let case = format!("{KERNELS}::{case}");
        let run = bench.measure(|options| options.exact(&case).cache(Cache::Hot))?;
        let engine = measured(&run, &case, Cache::Hot)?;
        for (what, times) in [
            ("one by one, until done", &plain),
            ("one by one, until submitted", &plain_submitted),
            ("a graph, until done", &graph),
            ("a graph, until submitted", &graph_submitted),
        ] {
            table = table.row(&format!("{name}: {what}"), times.iter().copied().map(format::time));
        }
        table = table.row(&format!("{name}: right, gpubench, alone"), [format::time(engine.median())]);
        if let Some(in_a_row) = engine.samples.back_to_back {
            table = table.row(&format!("{name}: right, gpubench, in a row"), [format::time(in_a_row)]);
        }
        for (way, times) in [("one by one", &plain), ("a graph", &graph)] {
            let points = COUNTS.iter().zip(times).map(|(count, time)| (*count as f64, time.0));
            series.push(Series::new(format!("{name}, {way}"), points));
        }
        read.push(
            json!({ "kernel": short, "by_hand": rows, "gpubench": engine.samples.time, "in_a_row": engine.samples.back_to_back }),
        );
    }
    let drawing = Curves {
        title: "What each of so many launches costs".to_owned(),
        subtitle: format!("{}, by the host's clock until all are done", bench.device.name),
        x: Axis::log10("launches", |count| format!("{count:.0}")),
        y: Axis::log10("time of each", |time| format::time(Nanoseconds(time))),
        series,
        marks: Vec::new(),
    };
    Ok(Pitfall {
        row: "B9",
        title: "Short kernels: the launch is what costs",
        table,
        why: [
            "One by one, each launch takes the CPU longer than an empty kernel takes the GPU, which waits.".to_owned(),
            "A graph is submitted at once, so that the GPU goes from node to node: that is what a kernel in a row costs it.".to_owned(),
        ],
        read: json!(read),
        drawings: vec![("-launches.svg", drawing.svg())],
    })
}
