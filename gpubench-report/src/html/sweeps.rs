//! Sweeps: benchmarks measured over values of a numeric argument. In: the rows of a run; out: time and bandwidth over that
//! argument as curves, hot and cold, with the size at which a launch's data fills the last-level cache.

use std::collections::BTreeMap;

use gpubench_records::device_info::DeviceInfo;
use gpubench_records::method::Cache;
use gpubench_records::metrics::Metrics;
use gpubench_stats::format;
use gpubench_stats::units::{Bytes, BytesPerSecond, FlopsPerSecond};
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, View};
use crate::drawing::{Axis, Drawing, Mark, Panel, Panels, Point, Series, Unit};
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

/// The rows of a benchmark on a device.
type BenchmarkCases<'a> = Vec<MeasuredCase<'a>>;

/// All sweeps, in the order in which their benchmarks first appear.
fn found<'a>(view: &View<'a>) -> Vec<ArgSweep<'a>> {
    let mut order = Vec::new();
    let mut benchmarks: BTreeMap<(&str, &str), BenchmarkCases<'a>> = BTreeMap::new();
    for row in view.measured() {
        let key = (&*row.case.record.case.benchmark, &*row.case.record.device);
        let rows = benchmarks.entry(key).or_default();
        if rows.is_empty() {
            order.push(key);
        }
        rows.push(row);
    }
    order.iter().flat_map(|key| of_benchmark(view, &benchmarks[key])).collect()
}

/// The sweeps of a benchmark: over the argument that has the most values, one for each combination of the others.
fn of_benchmark<'a>(view: &View<'a>, rows: &[MeasuredCase<'a>]) -> Vec<ArgSweep<'a>> {
    let Some(first) = rows.first() else { return Vec::new() };
    let case = &first.case.record.case;
    let values = |name: &str| {
        let mut values: Vec<f64> = rows.iter().filter_map(|row| value(row, name)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        values.len()
    };
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
    let several = |sweep: &ArgSweep<'_>| {
        let mut values: Vec<f64> = sweep.rows.iter().map(|(value, _)| *value).collect();
        values.dedup();
        values.len() >= FEWEST
    };
    combinations.into_iter().map(sweep).filter(several).collect()
}

/// The value of a numeric argument.
fn value(row: &MeasuredCase<'_>, name: &str) -> Option<f64> {
    let arg = row.case.record.case.args.iter().find(|arg| arg.name == name)?;
    arg.value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

impl ArgSweep<'_> {
    fn drawing(&self) -> Drawing {
        let knee = self.knee().map(|(x, size)| Mark::x(x, format!("L2, {}", format::bytes(size))));
        let marks: Vec<Mark> = knee.into_iter().collect();
        let time = self.series(|row| {
            let ci = row.it.samples.time.median_ci;
            Some((row.it.median().as_f64(), [ci.low.as_f64(), ci.high.as_f64()]))
        });
        let mut panels = vec![self.panel("time", Unit::TIME, time, marks.clone())];
        let bandwidth = self.rated(|row| row.it.metrics.bandwidth.map(BytesPerSecond::as_f64));
        let throughput = self.rated(|row| row.it.metrics.throughput.map(FlopsPerSecond::as_f64));
        if bandwidth.iter().any(|series| !series.points.is_empty()) {
            panels.push(self.panel("bandwidth", Unit::BANDWIDTH, bandwidth, marks));
        } else if throughput.iter().any(|series| !series.points.is_empty()) {
            panels.push(self.panel("throughput", Unit::THROUGHPUT, throughput, marks));
        }
        let unit = if self.arg.contains("bytes") { Unit::BYTES } else { Unit::NUMBER };
        let label = plain(self.arg);
        Panels {
            title: self.title(),
            subtitle: format!("medians with their 95 % intervals, by {label}"),
            x: if self.is_wide() { Axis::log2(label, unit).tight() } else { Axis::near(label, unit).tight() },
            panels,
            alike: true,
            height: 150.0,
        }
        .drawing()
    }

    /// The finding: the fastest row, with its rate.
    fn title(&self) -> String {
        let rate = |row: &MeasuredCase<'_>| {
            let Metrics { bandwidth, throughput, .. } = &row.it.metrics;
            bandwidth.map(BytesPerSecond::as_f64).or(throughput.map(FlopsPerSecond::as_f64))
        };
        let rows = self.rows.iter().filter_map(|(value, row)| Some((value, row, rate(row)?)));
        let Some((value, row, rate)) = rows.max_by(|a, b| a.2.total_cmp(&b.2)) else {
            return format!("{} by {}", self.name, plain(self.arg));
        };
        let shown = match row.it.metrics.bandwidth {
            Some(_) => format::bandwidth(BytesPerSecond(rate)),
            None => format::throughput(FlopsPerSecond(rate)),
        };
        let cache = row.case.record.case.cache;
        format!("{}: up to {shown}, {cache} at {}={}", self.name, plain(self.arg), format::number(*value))
    }

    fn panel(&self, name: &str, unit: Unit, series: Vec<Series>, marks: Vec<Mark>) -> Panel {
        let values = || series.iter().flat_map(|series| &series.points).map(|point| point.y);
        let (low, high) = values().fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
        let y = if unit_is_time(name) && high > 20.0 * low {
            Axis::log10("", unit)
        } else {
            Axis::linear("", unit)
        };
        Panel { name: name.to_owned(), y, series, marks }
    }

    /// The hot and the cold rows that have a value.
    fn series(&self, of: impl Fn(&MeasuredCase<'_>) -> Option<(f64, [f64; 2])>) -> Vec<Series> {
        let of = |cache: Cache| {
            let rows = self.rows.iter().filter(|(_, row)| row.case.record.case.cache == cache);
            let point = |(x, row): &(f64, MeasuredCase<'_>)| {
                let (y, interval) = of(row)?;
                let target = Some(row.case.target());
                Some(Point { target, name: Some(row.case.name()), ..Point::from((*x, y, interval)) })
            };
            Series::new(cache.to_string(), rows.filter_map(point))
        };
        [Cache::Hot, Cache::Cold].map(of).into()
    }

    /// The same for a rate, whose interval is the inverse of the time's.
    fn rated(&self, rate: impl Fn(&MeasuredCase<'_>) -> Option<f64>) -> Vec<Series> {
        self.series(|row| {
            let (rate, ci) = (rate(row)?, row.it.samples.time.median_ci);
            let median = row.it.median();
            Some((rate, [ci.high, ci.low].map(|time| rate * (median / time))))
        })
    }

    /// Returns true if the values are far apart.
    fn is_wide(&self) -> bool {
        let ends = self.rows.first().zip(self.rows.last());
        ends.is_some_and(|((low, _), (high, _))| *high >= 8.0 * low)
    }

    /// The value at which a launch touches as many bytes as the last-level cache holds, between the two rows around it.
    fn knee(&self) -> Option<(f64, Bytes)> {
        let cache = self.info?.last_level_cache.filter(|cache| *cache > Bytes::ZERO)?;
        let touched: Vec<(f64, f64)> = self
            .rows
            .iter()
            .filter_map(|(value, row)| Some((value.ln(), (row.it.counts.bytes? as f64).ln())))
            .collect();
        let full = cache.as_f64().ln();
        let around = touched
            .windows(2)
            .find(|pair| pair[0].1 <= full && full <= pair[1].1 && pair[0].1 < pair[1].1)?;
        let part = (full - around[0].1) / (around[1].1 - around[0].1);
        Some(((around[0].0 + part * (around[1].0 - around[0].0)).exp(), cache))
    }
}

fn unit_is_time(panel: &str) -> bool {
    panel == "time"
}
