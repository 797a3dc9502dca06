//! The rooflines: the place of each case of a device below the roofs of memory and arithmetic.

use std::collections::BTreeSet;

use gpubench_records::device_info::{DeviceInfo, Quantity};
use gpubench_stats::format;
use gpubench_stats::units::FlopsPerSecond;
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, View, hot_and_cold};
use crate::drawing::{Axis, Curves, Drawing, Series, Style, Unit};
use gpubench_table::roof;
use gpubench_table::text::plain;

/// The most rows that a drawing shows; of more rows it shows every second, third and so on.
const MOST: usize = 1500;

pub(super) fn rooflines(view: &View<'_>) -> Markup {
    let of_device = |info: &DeviceInfo| {
        let on_device = |row: &MeasuredCase<'_>| row.case.record.device == info.device;
        let rows: Vec<MeasuredCase<'_>> = view.measured().filter(on_device).collect();
        Some((plain(&info.device), roofline(info, &rows)?))
    };
    let drawn: Vec<(String, Drawing)> = view.run.devices.iter().filter_map(of_device).collect();
    html! {
        @if !drawn.is_empty() {
            section #roofline aria-labelledby="roofline-title" {
                h2 #roofline-title { "Roofline" }
                @for (device, drawing) in &drawn {
                    @if view.several_devices { h3 { (device) } }
                    figure { (PreEscaped(drawing.element())) }
                }
                p.soft {
                    "Each point is a row: point at it or move to it for its name, follow it to the row. Whiskers are 95 % intervals."
                    @if view.cases.len() > MOST { " Of more than " (MOST) " rows of a device, as many are drawn." }
                }
            }
        }
    }
}

/// Draws throughput over arithmetic intensity, below the roofs that rows are compared with.
fn roofline(info: &DeviceInfo, rows: &[MeasuredCase<'_>]) -> Option<Drawing> {
    let point = |row: &MeasuredCase<'_>| {
        let (intensity, rate) = (row.it.metrics.arithmetic_intensity?, row.it.metrics.throughput?);
        let of = roof::binding(row.it).map(|share| format!(", {}", roof::phrase(share))).unwrap_or_default();
        let note = format!(": {} at {}{of}", format::throughput(rate), format::intensity(intensity));
        Some(row.point(intensity, row.rate(rate.as_f64()), &note))
    };
    let shown = rows.iter().step_by(rows.len().div_ceil(MOST).max(1));
    let mut series = hot_and_cold(&shown.filter_map(point).collect::<Vec<_>>(), Style::Points);
    let xs = || series.iter().flat_map(|series| &series.points).map(|point| point.x);
    let (low, high) = xs().fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let memory = info.peak(&Quantity::MemoryBandwidth)?.value.as_f64();
    if high <= 0.0 {
        return None;
    }
    let types = rows.iter().filter(|row| row.it.metrics.throughput.is_some()).map(|row| &row.it.data_type);
    let peak = |data_type: &String| {
        let quantity = Quantity::Compute(data_type.clone());
        Some((roof::name(&quantity), info.peak(&quantity)?.value.as_f64()))
    };
    let peaks: Vec<(String, f64)> = types.collect::<BTreeSet<_>>().into_iter().filter_map(peak).collect();
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
        title: format!("{}: rows below their roofs", plain(&info.name)),
        subtitle: "throughput by arithmetic intensity, medians, below the peaks of memory and arithmetic"
            .to_owned(),
        x: Axis::log10("operations for each byte (flop/byte)", Unit::INTENSITY),
        y: Axis::log10("throughput", Unit::THROUGHPUT),
        series,
        marks: Vec::new(),
    };
    Some(curves.drawing())
}
