//! Drawings of many cases together: sweeps, which show time and bandwidth over a numeric argument, and rooflines,
//! which show throughput over arithmetic intensity.

use std::collections::{BTreeMap, BTreeSet};

use gpubench_records::{Arg, Cache, DeviceInfo, Quantity, Record, metrics::PeakFraction};
use gpubench_stats::{Bytes, BytesPerSecond, FlopsPerSecond, format};
use gpubench_table::devices::{binding_peak, roof_name};
use gpubench_table::text::{plain, split_path};
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, PageCase, PageView, hot_and_cold};
use crate::drawing::{
    Axis, AxisUnit, COLOUR_COUNT, Drawing, Panel, Panels, PlotSeries, ReferenceLine, SeriesStyle, all_points,
};

/// The least number of different values of an argument for a curve. A sweep with fewer is not drawn.
const MIN_CURVE_VALUES: usize = 3;
/// The most sweeps that are drawn. If there are more, the page shows their number.
const MAX_SWEEPS: usize = 60;

/// Returns the drawings of all sweeps.
pub(super) fn sweeps_section(view: &PageView<'_>) -> Markup {
    let sweeps = find_sweeps(view);
    let count = sweeps.len();
    html! {
        @if count > 0 {
            div.figures {
                @for sweep in sweeps.iter().take(MAX_SWEEPS) { figure { (PreEscaped(sweep.drawing(view).element())) } }
            }
            @if count > MAX_SWEEPS { p.soft { (MAX_SWEEPS) " of " (count) " sweeps are drawn." } }
        }
    }
}

/// The cases of a benchmark, or of several benchmarks of a group, over the values of one argument in ascending
/// order. Their other arguments are equal.
struct ArgSweep<'a> {
    /// The title.
    name: String,
    /// The title if the sweep is drawn together with other benchmarks of its group; `None` if it is drawn
    /// alone.
    shared_name: Option<String>,
    arg: &'a str,
    /// The cases, each with its value of the argument.
    rows: Vec<(f64, MeasuredCase<'a>)>,
}

/// Returns all sweeps, ordered by their first cases. A benchmark is swept over the argument with the most values,
/// once for each combination of its other arguments.
fn find_sweeps<'a>(view: &PageView<'a>) -> Vec<ArgSweep<'a>> {
    let key = |record: &'a Record, arg: &'a Arg| (&*record.case.benchmark, &*record.device, &*arg.name);
    let mut values: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    for MeasuredCase { case: PageCase { record, .. }, .. } in view.measured_cases() {
        for arg in &record.case.args {
            values.entry(key(record, arg)).or_default().extend(numeric_value(arg).map(f64::to_bits));
        }
    }
    let mut sweeps: BTreeMap<String, ArgSweep<'_>> = BTreeMap::new();
    for row in view.measured_cases() {
        let record = row.case.record;
        let count = |arg: &&'a Arg| values[&key(record, arg)].len();
        // The first of several with the same count.
        let arg = record.case.args.iter().rev().max_by_key(count);
        let Some((arg, value)) = arg.and_then(|arg| Some((arg, numeric_value(arg)?))) else { continue };
        let others = record.case.args.iter().filter(|other| other.name != arg.name);
        let others = format::joined(others, ", ");
        let others = if others.is_empty() { others } else { format!("[{others}]") };
        let on = if view.several_devices { format!(" on {}", record.device) } else { String::new() };
        let named = |of: &str| plain(&format!("{}{others}{on} by {}", view.without_prefix(of), arg.name));
        let name = named(&record.case.benchmark);
        let group = row.it.group.as_ref().and_then(|_| split_path(&record.case.benchmark));
        let shared_name = group.map(|(group, _)| named(group));
        let new = || ArgSweep { name: name.clone(), shared_name, arg: &arg.name, rows: Vec::new() };
        sweeps.entry(name.clone()).or_insert_with(new).rows.push((value, row));
    }
    let mut sweeps = combine_groups(sweeps.into_values().filter(ArgSweep::has_enough_values).collect());
    sweeps.sort_by_key(|sweep| sweep.rows[0].1.case.number);
    sweeps.iter_mut().for_each(|sweep| sweep.rows.sort_by(|a, b| a.0.total_cmp(&b.0)));
    sweeps
}

/// Combines the sweeps with the same `shared_name`, those of the benchmarks of a group, into one sweep for
/// hot and one for cold cases. Sweeps stay alone if there is only one, or if there are more than there are
/// colours. Drops sweeps with too few values.
fn combine_groups(sweeps: Vec<ArgSweep<'_>>) -> Vec<ArgSweep<'_>> {
    let mut groups: BTreeMap<Option<String>, Vec<ArgSweep<'_>>> = BTreeMap::new();
    for sweep in sweeps {
        groups.entry(sweep.shared_name.clone()).or_default().push(sweep);
    }
    let mut all = groups.remove(&None).unwrap_or_default();
    for (name, sweeps) in groups {
        if !(2..=COLOUR_COUNT).contains(&sweeps.len()) {
            all.extend(sweeps.into_iter().map(|sweep| ArgSweep { shared_name: None, ..sweep }));
            continue;
        }
        let arg = sweeps[0].arg;
        let rows = sweeps.into_iter().flat_map(|sweep| sweep.rows);
        let (hot, cold): (Vec<_>, Vec<_>) =
            rows.partition(|(_, row)| row.case.record.case.cache == Cache::Hot);
        for (cache, rows) in [(Cache::Hot, hot), (Cache::Cold, cold)] {
            let title = format!("{}, {cache}", name.as_deref().unwrap_or_default());
            all.push(ArgSweep { name: title, shared_name: name.clone(), arg, rows });
        }
    }
    all.retain(ArgSweep::has_enough_values);
    all
}

/// Returns the value of an argument that is a positive, finite number; `None` for any other, such as a text.
fn numeric_value(arg: &Arg) -> Option<f64> {
    arg.value.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

impl<'a> ArgSweep<'a> {
    /// Returns true if the sweep has enough different values for a curve.
    fn has_enough_values(&self) -> bool {
        self.rows.iter().map(|(value, _)| value.to_bits()).collect::<BTreeSet<_>>().len() >= MIN_CURVE_VALUES
    }

    /// Draws time, and bandwidth or else throughput, over the argument. The axis of times is logarithmic if
    /// the times differ by more than a factor of 20.
    fn drawing(&self, view: &PageView<'_>) -> Drawing {
        let label = plain(self.arg);
        let time = self.curves(|row| Some(row.it.median().as_f64()));
        let times = || all_points(&time).map(|point| point.y);
        let is_wide = times().fold(0.0, f64::max) > 20.0 * times().fold(f64::INFINITY, f64::min);
        let y =
            if is_wide { Axis::log10("time", AxisUnit::TIME) } else { Axis::linear("time", AxisUnit::TIME) };
        let marks = Vec::from_iter(self.cache_size_line(view));
        let panel = |y, series| Panel { y, series, marks: marks.clone() };
        let bandwidth = self.curves(|row| row.it.metrics.bandwidth.map(BytesPerSecond::as_f64));
        let throughput = self.curves(|row| row.it.metrics.throughput.map(FlopsPerSecond::as_f64));
        let rate =
            [("bandwidth", AxisUnit::BANDWIDTH, bandwidth), ("throughput", AxisUnit::THROUGHPUT, throughput)];
        let rate = rate.into_iter().find(|(.., rate)| all_points(rate).next().is_some());
        let mut panels = vec![panel(y, time)];
        panels.extend(rate.map(|(name, unit, rate)| panel(Axis::linear(name, unit), rate)));
        let unit = if self.arg.contains("bytes") { AxisUnit::BYTES } else { AxisUnit::NUMBER };
        let [low, high] = [0, self.rows.len() - 1].map(|row| self.rows[row].0);
        Panels {
            title: self.name.clone(),
            subtitle: format!("medians by {label}"),
            x: if high >= 8.0 * low {
                Axis::log2(label, unit)
            } else {
                Axis::linear_around_values(label, unit)
            },
            panels,
            shares_legend: true,
        }
        .drawing()
    }

    /// Returns curves of the values that `of` returns for the cases: one for hot and one for cold cases, or
    /// one for each benchmark of a combined sweep. Cases for which `of` returns `None` are left out.
    fn curves(&self, of: impl Fn(&MeasuredCase<'_>) -> Option<f64>) -> Vec<PlotSeries> {
        if self.shared_name.is_some() {
            let of_row = |row: &MeasuredCase<'a>| &*row.case.record.case.benchmark;
            let mut seen = BTreeSet::new();
            let mut rows: Vec<_> = self.rows.iter().map(|(_, row)| row).collect();
            rows.sort_by_key(|row| row.case.number);
            rows.retain(|row| seen.insert(of_row(row)));
            let series = rows.into_iter().map(of_row).map(|name| {
                let rows = self.rows.iter().filter(|(_, row)| of_row(row) == name);
                let points = rows.filter_map(|(x, row)| Some(row.point(*x, of(row)?, "").1));
                PlotSeries::new(plain(split_path(name).map_or(name, |(_, name)| name)), points)
            });
            return series.collect();
        }
        let points = self.rows.iter().filter_map(|(x, row)| Some(row.point(*x, of(row)?, "")));
        hot_and_cold(&points.collect::<Vec<_>>(), SeriesStyle::Line)
    }

    /// Returns a vertical line at the value for which a launch touches as many bytes as the last-level cache
    /// holds, interpolated between two cases. Returns `None` if no two cases enclose it, or if combined
    /// benchmarks touch different numbers of bytes.
    fn cache_size_line(&self, view: &PageView<'_>) -> Option<ReferenceLine> {
        let cache = view
            .run
            .device_of(self.rows.first()?.1.case.record)?
            .last_level_cache
            .filter(|cache| *cache > Bytes::ZERO)?;
        let full = cache.as_f64().ln();
        let touched = self.rows.iter();
        let touched: Vec<(f64, f64)> = touched
            .filter_map(|(value, row)| Some((value.ln(), (row.it.counts.bytes? as f64).ln())))
            .collect();
        // Implementations that touch different bytes fill the cache at different values.
        let is_one =
            |pair: &[(f64, f64)]| pair[0] == pair[1] || (pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        if self.shared_name.is_some() && !touched.windows(2).all(is_one) {
            return None;
        }
        let around = touched
            .windows(2)
            .find(|pair| pair[0].1 <= full && full <= pair[1].1 && pair[0].1 < pair[1].1)?;
        let part = (full - around[0].1) / (around[1].1 - around[0].1);
        let value = (around[0].0 + part * (around[1].0 - around[0].0)).exp();
        Some(ReferenceLine::x(value, format!("last-level cache, {}", format::bytes(cache))))
    }
}

/// The most cases in a roofline. Of more cases, it shows every second, every third, and so on.
const MAX_POINTS: usize = 1500;

/// Returns a roofline for each device that has cases with a throughput and an intensity, and a known peak of
/// its memory. Returns nothing without such a device.
pub(super) fn rooflines_section(view: &PageView<'_>) -> Markup {
    let drawn: Vec<(String, Drawing)> = view
        .run
        .devices
        .iter()
        .filter_map(|info| {
            let rows: Vec<MeasuredCase<'_>> =
                view.measured_cases().filter(|row| row.case.record.device == info.device).collect();
            Some((plain(&info.device), roofline(info, &rows)?))
        })
        .collect();
    html! {
        @if !drawn.is_empty() {
            @for (device, drawing) in &drawn {
                @if view.several_devices { h3 { (device) } }
                figure { (PreEscaped(drawing.element())) }
            }
            p.soft {
                "Each point is a row: point at it or move to it for its name, follow it to the row."
                @if view.cases.len() > MAX_POINTS { " Of more than " (MAX_POINTS) " rows of a device, as many are drawn." }
            }
        }
    }
}

/// Draws the throughput of cases over their arithmetic intensity, with the peaks of the device `info`. Leaves
/// out cases that lack either figure. Returns `None` if no case is left, or if the peak of the memory is not
/// known.
fn roofline(info: &DeviceInfo, rows: &[MeasuredCase<'_>]) -> Option<Drawing> {
    let point = |row: &MeasuredCase<'_>| {
        let (intensity, rate) = (row.it.metrics.arithmetic_intensity?, row.it.metrics.throughput?);
        let share = |share: &PeakFraction| {
            format!(", {} of {}", format::percent(share.fraction), roof_name(&share.quantity))
        };
        let of = binding_peak(row.it).map(share).unwrap_or_default();
        let note = format!(": {} at {}{of}", format::throughput(rate), format::intensity(intensity));
        Some(row.point(intensity, rate.as_f64(), &note))
    };
    let shown = rows.iter().step_by(rows.len().div_ceil(MAX_POINTS).max(1));
    let mut series = hot_and_cold(&shown.filter_map(point).collect::<Vec<_>>(), SeriesStyle::Points);
    let xs = || all_points(&series).map(|point| point.x);
    let (low, high) = xs().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let memory = info.peak(&Quantity::MemoryBandwidth)?.value.as_f64();
    if high <= 0.0 {
        return None;
    }
    let types = rows.iter().filter(|row| row.it.metrics.throughput.is_some()).map(|row| &row.it.data_type);
    let peak = |data_type: &String| {
        let quantity = Quantity::Compute(data_type.clone());
        Some((roof_name(&quantity), info.peak(&quantity)?.value.as_f64()))
    };
    let peaks: Vec<(String, f64)> = types.collect::<BTreeSet<_>>().into_iter().filter_map(peak).collect();
    let ridge = peaks.iter().map(|(_, peak)| peak / memory).fold(low, f64::max);
    let (from, to) = (low / 2.0, (2.0 * high).max(2.0 * ridge));
    let sloped = |name: String, rate: f64| {
        let top = peaks.iter().map(|(_, peak)| peak / rate).fold(from, f64::max);
        let end = if peaks.is_empty() { to } else { top };
        PlotSeries::new(name, [(from, from * rate), (end, end * rate)]).with_style(SeriesStyle::Bare)
    };
    for quantity in [Quantity::MemoryBandwidth, Quantity::CacheBandwidth] {
        if let Some(peak) = info.peak(&quantity) {
            let name = format!("{}, {}", roof_name(&quantity), format::bandwidth(peak.value.into()));
            series.push(sloped(name, peak.value.as_f64()));
        }
    }
    for (name, peak) in &peaks {
        let name = format!("{name}, {}", format::throughput(FlopsPerSecond(*peak)));
        series
            .push(PlotSeries::new(name, [(peak / memory, *peak), (to, *peak)]).with_style(SeriesStyle::Bare));
    }
    let curves = Panels {
        title: format!("{}: rows below their roofs", plain(&info.name)),
        subtitle: "throughput by arithmetic intensity, medians, below the peaks of memory and arithmetic"
            .to_owned(),
        x: Axis::log10("operations for each byte (flop/byte)", AxisUnit::NUMBER),
        panels: vec![Panel { y: Axis::log10("throughput", AxisUnit::THROUGHPUT), series, marks: Vec::new() }],
        shares_legend: true,
    };
    Some(curves.drawing())
}
