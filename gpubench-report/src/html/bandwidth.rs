//! Bars of the median bandwidth of each benchmark, hot and cold; of a sweep its largest case.

use gpubench_records::method::Cache;
use gpubench_stats::format;
use gpubench_stats::units::BytesPerSecond;
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, View};
use crate::drawing::{Bar, Bars, Unit};
use gpubench_table::text::plain;

/// The most rows of a drawing.
const MOST: usize = 40;

/// Returns the section; nothing if no benchmark has a bandwidth.
pub(super) fn bandwidth(view: &View<'_>) -> Markup {
    let mut rows = bars(view);
    if rows.is_empty() {
        return html! {};
    }
    let left_out =
        if rows.len() > MOST { format!("; the first {MOST} of {}", rows.len()) } else { String::new() };
    rows.truncate(MOST);
    let values = rows.iter().flat_map(|row| row.values.iter().map(move |value| (&row.name, *value)));
    let largest = values.filter(|(_, value)| value.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1));
    let title = largest.map_or_else(String::new, |(name, rate)| {
        format!("Up to {}, by {name}", format::bandwidth(BytesPerSecond(rate)))
    });
    let drawing = Bars {
        title,
        subtitle: format!("medians with their 95 % intervals; of a sweep its largest case{left_out}"),
        label: "bandwidth".to_owned(),
        unit: Unit::BANDWIDTH,
        series: [Cache::Hot, Cache::Cold].map(|cache| cache.to_string()).into(),
        rows,
        marks: Vec::new(),
    };
    html! {
        section #bandwidth aria-labelledby="bandwidth-title" {
            h2 #bandwidth-title { "Bandwidth" }
            figure tabindex="0" { (PreEscaped(drawing.drawing().element())) }
        }
    }
}

/// Returns a row for each benchmark on a device that has a bandwidth: hot and cold, of the case with the most work.
fn bars<'a>(view: &View<'a>) -> Vec<Bar> {
    let key = |row: &MeasuredCase<'a>| (&row.case.record.case.benchmark, &row.case.record.device);
    let work = |row: &MeasuredCase<'_>| (row.it.counts.bytes, row.it.counts.flops);
    let mut benchmarks: Vec<MeasuredCase<'a>> = Vec::new();
    for row in view.measured().filter(|row| row.it.metrics.bandwidth.is_some()) {
        match benchmarks.last_mut().filter(|last| key(last) == key(&row)) {
            Some(largest) if work(&row) > work(largest) => *largest = row,
            Some(_) => {}
            None => benchmarks.push(row),
        }
    }
    let bar = |MeasuredCase { case, .. }: MeasuredCase<'_>| {
        let both = [Cache::Hot, Cache::Cold].map(|cache| {
            let same = if case.record.case.cache == cache { Some(case.number) } else { case.partner };
            let rate = same.and_then(|number| {
                let case = view.cases[number];
                let row = MeasuredCase { case, it: case.record.measurement.as_ref()? };
                Some(row.rate(row.it.metrics.bandwidth?.as_f64()))
            });
            rate.unwrap_or((f64::NAN, [f64::NAN; 2]))
        });
        let on = if view.several_devices { format!(" on {}", case.record.device) } else { String::new() };
        Bar {
            name: case.short_name() + &plain(&on),
            values: both.map(|(value, _)| value).into(),
            intervals: both.map(|(_, interval)| interval).into(),
        }
    };
    benchmarks.into_iter().map(bar).collect()
}
