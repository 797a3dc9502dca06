//! The rooflines. In: the rows of a device; out: the place of each below the roofs of memory and arithmetic, and for all
//! rows the share of the roof that binds them, their speed-of-light score.

use gpubench_records::device_info::{DeviceInfo, Quantity};
use gpubench_records::method::Cache;
use gpubench_stats::format;
use gpubench_stats::units::FlopsPerSecond;
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, View, roof_share};
use crate::drawing::{Axis, Curves, Drawing, Mark, Point, Series, Style, Unit};
use gpubench_table::roof;
use gpubench_table::text::plain;

/// The most rows that a drawing shows; of more rows it shows every second, third and so on.
const MOST: usize = 1500;

pub(super) fn rooflines(view: &View<'_>) -> Markup {
    let drawn: Vec<(String, Vec<Drawing>)> = view
        .run
        .devices
        .iter()
        .map(|info| {
            let rows: Vec<MeasuredCase<'_>> =
                view.measured().filter(|row| row.case.record.device == info.device).collect();
            let both = [roofline(info, &rows), speed_of_light(info, &rows)];
            (plain(&info.device), both.into_iter().flatten().collect())
        })
        .filter(|(_, drawings): &(_, Vec<_>)| !drawings.is_empty())
        .collect();
    let thinned = view.cases.len() > MOST;
    html! {
        @if !drawn.is_empty() {
            section #roofline aria-labelledby="roofline-title" {
                h2 #roofline-title { "Roofline" }
                @for (device, drawings) in &drawn {
                    @if view.several_devices { h3 { (device) } }
                    @for drawing in drawings { figure { (PreEscaped(drawing.element())) } }
                }
                p.soft {
                    "Each point is a row: point at it or move to it for its name, follow it to the row. Whiskers are 95 % intervals."
                    @if thinned { " Of more than " (MOST) " rows of a device, as many are drawn." }
                }
            }
        }
    }
}

/// Every n-th of the rows, so that no more than [`MOST`] are left.
fn thinned<'r, 'a>(rows: &'r [MeasuredCase<'a>]) -> impl Iterator<Item = &'r MeasuredCase<'a>> {
    rows.iter().step_by(rows.len().div_ceil(MOST).max(1))
}

/// The series of hot and of cold rows that have a point.
fn series<'a>(rows: &[MeasuredCase<'a>], point: impl Fn(&MeasuredCase<'a>) -> Option<Point>) -> Vec<Series> {
    let of = |cache: Cache| {
        let rows = thinned(rows).filter(move |row| row.case.record.case.cache == cache);
        Series::new(cache.to_string(), rows.filter_map(&point)).styled(Style::Points)
    };
    [Cache::Hot, Cache::Cold].map(of).into()
}

/// The point of a row, which is a link to it.
fn named(row: &MeasuredCase<'_>, (x, y): (f64, f64), interval: [f64; 2], note: &str) -> Point {
    Point {
        interval: Some(interval),
        name: Some(format!("{}: {note}", row.case.name())),
        target: Some(row.case.target()),
        ..Point::from((x, y))
    }
}

/// Throughput over arithmetic intensity, below the roofs that rows are compared with.
fn roofline(info: &DeviceInfo, rows: &[MeasuredCase<'_>]) -> Option<Drawing> {
    let point = |row: &MeasuredCase<'_>| {
        let (intensity, rate) = (row.it.metrics.arithmetic_intensity?, row.it.metrics.throughput?);
        let ci = row.it.samples.time.median_ci;
        let median = row.it.median();
        let interval = [ci.high, ci.low].map(|time| rate.as_f64() * (median / time));
        let of = roof_share(row.it).map(|share| format!(", {}", roof::phrase(share))).unwrap_or_default();
        let note = format!("{} at {}{of}", format::throughput(rate), format::intensity(intensity));
        Some(named(row, (intensity, rate.as_f64()), interval, &note))
    };
    let mut series = series(rows, point);
    let xs = || series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let (low, high) = xs().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let memory = info.peak(&Quantity::MemoryBandwidth)?.value.as_f64();
    if high <= 0.0 {
        return None;
    }
    let mut precisions: Vec<&str> =
        rows.iter().filter(|row| row.it.metrics.throughput.is_some()).map(|row| &*row.it.data_type).collect();
    precisions.sort_unstable();
    precisions.dedup();
    let peaks: Vec<(String, f64)> = precisions
        .into_iter()
        .filter_map(|precision| {
            let quantity = Quantity::Compute(precision.to_owned());
            Some((roof::name(&quantity), info.peak(&quantity)?.value.as_f64()))
        })
        .collect();
    let ridge = peaks.iter().map(|(_, peak)| peak / memory).fold(low, f64::max);
    let (from, to) = (low / 2.0, (2.0 * high).max(2.0 * ridge));
    let sloped = |name: String, rate: f64| {
        let top = peaks.iter().map(|(_, peak)| peak / rate).fold(from, f64::max);
        let end = if peaks.is_empty() { to } else { top };
        Series::new(name, [(from, from * rate), (end, end * rate)]).styled(Style::Bare)
    };
    for quantity in [Quantity::MemoryBandwidth, Quantity::CacheBandwidth] {
        if let Some(peak) = info.peak(&quantity) {
            let name = format!("{}, {}", roof::name(&quantity), format::bandwidth(peak.value.into()));
            series.push(sloped(name, peak.value.as_f64()));
        }
    }
    for (name, peak) in &peaks {
        let name = format!("{name}, {}", format::throughput(FlopsPerSecond(*peak)));
        series.push(Series::new(name, [(peak / memory, *peak), (to, *peak)]).styled(Style::Bare));
    }
    let curves = Curves {
        title: best(info, rows.iter().filter(|row| point(row).is_some())),
        subtitle: "throughput by arithmetic intensity, medians, below the roofs of memory and arithmetic"
            .to_owned(),
        x: Axis::log10("operations for each byte (flop/byte)", Unit::INTENSITY),
        y: Axis::log10("throughput", Unit::THROUGHPUT),
        series,
        marks: Vec::new(),
    };
    Some(curves.drawing())
}

/// The row that is nearest to its roof and not above it, as rows served from a cache are.
fn best<'r, 'a: 'r>(info: &DeviceInfo, rows: impl Iterator<Item = &'r MeasuredCase<'a>>) -> String {
    let shares =
        rows.filter_map(|row| Some((row, roof_share(row.it)?))).filter(|(_, share)| share.fraction <= 1.0);
    let best = shares.max_by(|a, b| a.1.fraction.total_cmp(&b.1.fraction));
    let device = plain(&info.name);
    best.map_or_else(
        || format!("{device}: rows below their roofs"),
        |(row, share)| {
            let (name, part) = (row.case.name(), roof::phrase(share));
            format!("{device}: the nearest to its roof is {name}, at {part}")
        },
    )
}

/// The share of the roof that binds each row, over its time.
fn speed_of_light(info: &DeviceInfo, rows: &[MeasuredCase<'_>]) -> Option<Drawing> {
    let point = |row: &MeasuredCase<'_>| {
        let share = roof_share(row.it)?;
        let (ci, median) = (row.it.samples.time.median_ci, row.it.median());
        let interval = [ci.high, ci.low].map(|time| share.fraction * (median / time));
        let note = format!("{} in {}", roof::phrase(share), format::time(median));
        Some(named(row, (median.as_f64(), share.fraction), interval, &note))
    };
    let series = series(rows, point);
    let shares: Vec<f64> = series.iter().flat_map(|series| &series.points).map(|point| point.y).collect();
    if shares.is_empty() {
        return None;
    }
    let near = shares.iter().filter(|share| **share >= 0.8).count();
    let curves = Curves {
        title: format!(
            "{near} of {} are at 80 % of their roof or more",
            format::counted(shares.len(), "row")
        ),
        subtitle: format!(
            "{}: the part of the roof that binds each row (speed of light), by its time",
            plain(&info.name)
        ),
        x: Axis::log10("time", Unit::TIME),
        y: Axis::linear("part of the roof", Unit::PART),
        series,
        marks: vec![Mark::y(1.0, "the roof; above it a cache serves")],
    };
    Some(curves.drawing())
}
