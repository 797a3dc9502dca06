//! Sweeps: time and bandwidth of a benchmark over values of a numeric argument as curves, hot and cold, with the size
//! at which a launch's data fills the last-level cache.

use std::collections::BTreeMap;

use gpubench_records::device_info::DeviceInfo;
use gpubench_records::metrics::Metrics;
use gpubench_stats::format;
use gpubench_stats::units::Bytes;
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, View, hot_and_cold};
use crate::drawing::{Axis, Drawing, Mark, Panel, Panels, Series, Style, Unit};
use gpubench_table::text::plain;

/// The fewest values that make a curve, and the most sweeps that are drawn.
const FEWEST: usize = 3;
const MOST: usize = 60;

pub(super) fn sweeps(view: &View<'_>) -> Markup {
    let sweeps = found(view);
    let count = sweeps.len();
    html! {
        @if count > 0 {
            section #sweeps aria-labelledby="sweeps-title" {
                h2 #sweeps-title { "Sweeps" }
                div.figures {
                    @for sweep in sweeps.iter().take(MOST) { figure { (PreEscaped(sweep.drawing().element())) } }
                }
                @if count > MOST { p.soft { (MOST) " of " (count) " sweeps are drawn." } }
            }
        }
    }
}

/// A benchmark over values of one argument; its other arguments are the same.
#[derive(Debug)]
struct ArgSweep<'a> {
    name: String,
    arg: &'a str,
    info: Option<&'a DeviceInfo>,
    rows: Vec<(f64, MeasuredCase<'a>)>,
}

/// Returns all sweeps, in the order in which their benchmarks first appear.
fn found<'a>(view: &View<'a>) -> Vec<ArgSweep<'a>> {
    let key = |row: &MeasuredCase<'a>| (&row.case.record.case.benchmark, &row.case.record.device);
    let mut benchmarks: Vec<Vec<MeasuredCase<'a>>> = Vec::new();
    let mut numbers = BTreeMap::new();
    for row in view.measured() {
        let number = *numbers.entry(key(&row)).or_insert(benchmarks.len());
        if number == benchmarks.len() {
            benchmarks.push(Vec::new());
        }
        benchmarks[number].push(row);
    }
    benchmarks.iter().flat_map(|rows| of_benchmark(view, rows)).collect()
}

/// The sweeps of a benchmark: over the argument that has the most values, one for each combination of the others.
fn of_benchmark<'a>(view: &View<'a>, rows: &[MeasuredCase<'a>]) -> Vec<ArgSweep<'a>> {
    let Some(first) = rows.first() else { return Vec::new() };
    let case = &first.case.record.case;
    let values = |name: &str| distinct(rows.iter().filter_map(|row| value(row, name)).collect());
    let numeric = case.args.iter().map(|arg| (values(&arg.name), &*arg.name));
    // The first of several with the same count.
    let Some((count, arg)) = numeric.rev().max_by_key(|(count, _)| *count) else { return Vec::new() };
    if count < FEWEST {
        return Vec::new();
    }
    let mut combinations: BTreeMap<String, Vec<(f64, MeasuredCase<'a>)>> = BTreeMap::new();
    for row in rows {
        let others = row.case.record.case.args.iter().filter(|other| other.name != arg);
        let others: Vec<String> = others.map(ToString::to_string).collect();
        if let Some(value) = value(row, arg) {
            combinations.entry(others.join(", ")).or_default().push((value, *row));
        }
    }
    let on = if view.several_devices { format!(" on {}", first.case.record.device) } else { String::new() };
    let sweep = |(others, mut rows): (String, Vec<(f64, MeasuredCase<'a>)>)| {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let others = if others.is_empty() { others } else { format!("[{others}]") };
        let name = plain(&format!("{}{others}{on}", &case.benchmark[view.prefix.len()..]));
        ArgSweep { name, arg, info: view.info(first.case.record), rows }
    };
    let has_several =
        |sweep: &ArgSweep<'_>| distinct(sweep.rows.iter().map(|(value, _)| *value).collect()) >= FEWEST;
    combinations.into_iter().map(sweep).filter(has_several).collect()
}

/// Returns the number of different values.
fn distinct(mut values: Vec<f64>) -> usize {
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values.len()
}

/// The value of a numeric argument.
fn value(row: &MeasuredCase<'_>, name: &str) -> Option<f64> {
    let arg = row.case.record.case.args.iter().find(|arg| arg.name == name)?;
    arg.value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

/// Returns the bandwidth of a case, or else its throughput, with its text.
fn rate(row: &MeasuredCase<'_>) -> Option<(f64, String)> {
    let Metrics { bandwidth, throughput, .. } = row.it.metrics;
    let bandwidth = bandwidth.map(|rate| (rate.as_f64(), format::bandwidth(rate)));
    bandwidth.or(throughput.map(|rate| (rate.as_f64(), format::throughput(rate))))
}

impl ArgSweep<'_> {
    fn drawing(&self) -> Drawing {
        let label = plain(self.arg);
        let time = self.series(|row| {
            let ci = row.it.samples.time.median_ci;
            Some((row.it.median().as_f64(), [ci.low.as_f64(), ci.high.as_f64()]))
        });
        let times = || time.iter().flat_map(|series| &series.points).map(|point| point.y);
        let is_wide = times().fold(0.0, f64::max) > 20.0 * times().fold(f64::INFINITY, f64::min);
        let y = if is_wide { Axis::log10("", Unit::TIME) } else { Axis::linear("", Unit::TIME) };
        let rates = self.series(|row| Some(row.rate(rate(row)?.0)));
        let has_bandwidth = self.rows.iter().any(|(_, row)| row.it.metrics.bandwidth.is_some());
        let (name, unit) =
            if has_bandwidth { ("bandwidth", Unit::BANDWIDTH) } else { ("throughput", Unit::THROUGHPUT) };
        let marks = Vec::from_iter(self.full_cache());
        let panel = |name: &str, y, series| Panel { name: name.to_owned(), y, series, marks: marks.clone() };
        let mut panels = vec![panel("time", y, time)];
        if rates.iter().any(|series| !series.points.is_empty()) {
            panels.push(panel(name, Axis::linear("", unit), rates));
        }
        let unit = if self.arg.contains("bytes") { Unit::BYTES } else { Unit::NUMBER };
        Panels {
            title: self.title(),
            subtitle: format!("medians with their 95 % intervals, by {label}"),
            x: if self.is_wide() { Axis::log2(label, unit) } else { Axis::near(label, unit) },
            panels,
            alike: true,
            height: 150.0,
        }
        .drawing()
    }

    /// Returns the finding: the fastest row, with its rate.
    fn title(&self) -> String {
        let rows = self.rows.iter().filter_map(|(value, row)| Some((value, row, rate(row)?)));
        let (name, arg) = (&self.name, plain(self.arg));
        match rows.max_by(|(.., a), (.., b)| a.0.total_cmp(&b.0)) {
            None => format!("{name} by {arg}"),
            Some((value, row, (_, rate))) => {
                let cache = row.case.record.case.cache;
                format!("{name}: up to {rate}, {cache} at {arg}={}", format::number(*value))
            }
        }
    }

    /// Returns the hot and the cold rows that have a value.
    fn series(&self, of: impl Fn(&MeasuredCase<'_>) -> Option<(f64, [f64; 2])>) -> Vec<Series> {
        let points = self.rows.iter().filter_map(|(x, row)| Some(row.point(*x, of(row)?, "")));
        hot_and_cold(&points.collect::<Vec<_>>(), Style::Line)
    }

    /// Returns true if the values are far apart.
    fn is_wide(&self) -> bool {
        let ends = self.rows.first().zip(self.rows.last());
        ends.is_some_and(|((low, _), (high, _))| *high >= 8.0 * low)
    }

    /// Returns the mark of the value at which a launch touches as many bytes as the last-level cache holds, between the two rows
    /// around it.
    fn full_cache(&self) -> Option<Mark> {
        let cache = self.info?.last_level_cache.filter(|cache| *cache > Bytes::ZERO)?;
        let full = cache.as_f64().ln();
        let touched = self.rows.iter();
        let touched = touched
            .filter_map(|(value, row)| Some((value.ln(), (row.it.counts.bytes? as f64).ln())))
            .collect::<Vec<_>>();
        let around = touched
            .windows(2)
            .find(|pair| pair[0].1 <= full && full <= pair[1].1 && pair[0].1 < pair[1].1)?;
        let part = (full - around[0].1) / (around[1].1 - around[0].1);
        let value = (around[0].0 + part * (around[1].0 - around[0].0)).exp();
        Some(Mark::x(value, format!("last-level cache, {}", format::bytes(cache))))
    }
}
