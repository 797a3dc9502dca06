//! Draws the error of each tool's cold times against CUPTI's, row by row.
//!
//! ```sh
//! cargo run -p gpubench-report --example peers docs/results/h200/peers.json > docs/results/h200/peers.svg
//! ```

#![expect(clippy::print_stdout, reason = "prints its drawing")]

use std::collections::BTreeMap;
use std::error::Error;
use std::{env, fs};

use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotPoint, PlotSeries, SeriesStyle};
use gpubench_stats::{format, quantile};
use serde::Deserialize;

/// The tools that are drawn, and the names that their readers know.
const TOOLS: [(&str, &str); 3] =
    [("suite", "gpubench"), ("nvbench", "NVBench"), ("do_bench", "Triton do_bench")];
/// The tool that the others are compared with.
const YARDSTICK: &str = "cupti";
/// A time is near the yardstick if it differs by at most this many microseconds, or by this fraction of it if
/// that is more.
const NEAR: (f64, f64) = (0.15, 0.01);

/// The document of `peers/compare.py --json`: the results of all tools.
#[derive(Deserialize)]
struct PeerComparison {
    environment: BTreeMap<String, String>,
    peers: BTreeMap<String, Tool>,
}

/// The results of a tool, by the name of the case.
#[derive(Deserialize)]
struct Tool {
    rows: BTreeMap<String, PeerRow>,
}

/// The time of a case according to a tool, in microseconds.
#[derive(Deserialize)]
struct PeerRow {
    us: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args().nth(1).ok_or("name the file that `peers/compare.py --json` wrote")?;
    let comparison: PeerComparison = serde_json::from_slice(&fs::read(file)?)?;
    print!("{}", drawing(&comparison).ok_or("the file has no rows of `cupti`")?.drawing().svg());
    Ok(())
}

/// Draws the errors of all tools, and the limits of near times; `None` without results of the yardstick.
fn drawing(comparison: &PeerComparison) -> Option<Panels> {
    let yardstick = &comparison.peers.get(YARDSTICK)?.rows;
    let mut tools = Vec::new();
    let mut medians = Vec::new();
    for (tool, name) in TOOLS {
        let rows = comparison.peers.get(tool).into_iter().flat_map(|tool| &tool.rows);
        let errors = rows.filter_map(|(case, row)| {
            let right = yardstick.get(case)?.us;
            let case = case.rsplit("::").next()?;
            let error = row.us / right - 1.0;
            let name = format!("{name}, {case}: {:.2} µs for {right:.2} µs", row.us);
            Some(PlotPoint { name: Some(name), ..PlotPoint::from((1e3 * right, error)) })
        });
        let points: Vec<PlotPoint> = errors.collect();
        let mut sizes: Vec<f64> = points.iter().map(|point| point.y.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        medians.push(format!("{name} {}", format::percent(quantile(&sizes, 0.5))));
        tools.push(PlotSeries::new(name, points).with_style(SeriesStyle::Points));
    }
    let mut times: Vec<f64> = yardstick.values().map(|row| row.us).collect();
    times.sort_unstable_by(f64::total_cmp);
    // The upper limit from the left to the right, and the lower one back.
    let limit = |sign: f64| move |us: &f64| (1e3 * us, sign * NEAR.1.max(NEAR.0 / us));
    let limits = times.iter().map(limit(1.0)).chain(times.iter().rev().map(limit(-1.0)));
    let near = PlotSeries::new("within 1 % or 0.15 µs", limits).with_style(SeriesStyle::Bare);
    let gpu = comparison.environment.get("GPU").cloned().unwrap_or_default();
    Some(Panels {
        title: format!("Median error of cold times: {}", medians.join(", ")),
        subtitle: format!(
            "{gpu}, {} kernels with their defaults, against CUPTI's trace of the same launches",
            yardstick.len()
        ),
        x: Axis::log10("time by CUPTI", AxisUnit::TIME),
        panels: vec![Panel {
            y: Axis::linear("error of the tool's median", AxisUnit::PART),
            series: tools.into_iter().chain([near]).collect(),
            marks: Vec::new(),
        }],
        shares_legend: true,
    })
}
