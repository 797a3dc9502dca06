//! Bars of medians: the bandwidth of each benchmark, and the energy of a launch. In: the rows of a run; out: a row of bars
//! for each benchmark, hot and cold, of a sweep the largest case.

use gpubench_records::method::Cache;
use gpubench_records::samples::Energy;
use gpubench_stats::format;
use gpubench_stats::units::{BytesPerSecond, Joules};
use maud::{Markup, PreEscaped, html};

use super::view::{MeasuredCase, View};
use crate::drawing::{Bar, Bars, Unit};
use gpubench_table::text::plain;

/// The most rows of a drawing.
const MOST: usize = 40;

/// A section with one drawing.
struct Section<'a> {
    /// The anchor of the section.
    id: &'a str,
    title: &'a str,
    subtitle: &'a str,
    /// The quantity beside the bars.
    label: &'a str,
    unit: Unit,
    /// The text of a value in the finding.
    text: fn(f64) -> String,
}

pub(super) fn medians(view: &View<'_>) -> Markup {
    let rows = bars(view, |row| {
        let (rate, ci, median) =
            (row.it.metrics.bandwidth?.as_f64(), row.it.samples.time.median_ci, row.it.median());
        Some((rate, [ci.high, ci.low].map(|time| rate * (median / time))))
    });
    let section = Section {
        id: "medians",
        title: "Bandwidth",
        subtitle: "medians with their 95 % intervals; of a sweep its largest case",
        label: "bandwidth",
        unit: Unit::BANDWIDTH,
        text: |rate| format::bandwidth(BytesPerSecond(rate)),
    };
    section.markup(rows)
}

pub(super) fn energy(view: &View<'_>) -> Markup {
    let rows = bars(view, |row| {
        let joules = row.it.energy.as_ref().and_then(Energy::per_launch)?.as_f64();
        Some((joules, [joules; 2]))
    });
    let section = Section {
        id: "energy",
        title: "Energy",
        subtitle: "by the device's own counter, over back-to-back launches",
        label: "energy of a launch",
        unit: Unit::ENERGY,
        text: |energy| format::energy(Joules(energy)),
    };
    section.markup(rows)
}

impl Section<'_> {
    /// The section with the first of `rows`; nothing if there are none.
    fn markup(self, mut rows: Vec<Bar>) -> Markup {
        let Self { id, title, subtitle, label, unit, text } = self;
        let left_out =
            if rows.len() > MOST { format!("; the first {MOST} of {}", rows.len()) } else { String::new() };
        rows.truncate(MOST);
        let is_empty = rows.is_empty();
        let drawing = Bars {
            title: largest(&rows, text),
            subtitle: format!("{subtitle}{left_out}"),
            label: label.to_owned(),
            unit,
            series: [Cache::Hot, Cache::Cold].map(|cache| cache.to_string()).into(),
            rows,
            marks: Vec::new(),
        };
        html! {
            @if !is_empty {
                section id=(id) aria-labelledby={ (id) "-title" } {
                    h2 id={ (id) "-title" } { (title) }
                    figure tabindex="0" { (PreEscaped(drawing.drawing().element())) }
                }
            }
        }
    }
}

/// The finding: the largest value, with the name of its row.
fn largest(rows: &[Bar], show: impl Fn(f64) -> String) -> String {
    let values = rows.iter().flat_map(|row| row.values.iter().map(move |value| (&row.name, *value)));
    let largest = values.filter(|(_, value)| value.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1));
    largest.map_or_else(String::new, |(name, value)| format!("Up to {}, by {name}", show(value)))
}

/// A row for each benchmark on a device that has a value: hot and cold, of the case with the most work.
fn bars(view: &View<'_>, value: impl Fn(&MeasuredCase<'_>) -> Option<(f64, [f64; 2])>) -> Vec<Bar> {
    struct Largest<'a> {
        key: (&'a str, &'a str),
        row: MeasuredCase<'a>,
    }
    let mut benchmarks: Vec<Largest<'_>> = Vec::new();
    let work = |row: &MeasuredCase<'_>| {
        (row.it.counts.bytes.unwrap_or_default(), row.it.counts.flops.unwrap_or_default())
    };
    for row in view.measured().filter(|row| value(row).is_some()) {
        let key = (&*row.case.record.case.benchmark, &*row.case.record.device);
        match benchmarks.last_mut().filter(|last| last.key == key) {
            Some(largest) if work(&row) > work(&largest.row) => largest.row = row,
            Some(_) => {}
            None => benchmarks.push(Largest { key, row }),
        }
    }
    let bar = |Largest { row, .. }: Largest<'_>| {
        let record = row.case.record;
        let both = [Cache::Hot, Cache::Cold].map(|cache| {
            let same = if record.case.cache == cache { Some(row.case.number) } else { row.case.partner };
            let measured = same.and_then(|number| {
                let case = view.cases[number];
                value(&MeasuredCase { case, it: case.record.measurement.as_ref()? })
            });
            measured.unwrap_or((f64::NAN, [f64::NAN; 2]))
        });
        let on = if view.several_devices { format!(" on {}", record.device) } else { String::new() };
        let name = format!("{}{}", row.case.short_name(), plain(&on));
        Bar {
            intervals: both.iter().map(|(_, interval)| *interval).collect(),
            ..Bar::new(name, both.map(|(value, _)| value))
        }
    };
    benchmarks.into_iter().map(bar).collect()
}
