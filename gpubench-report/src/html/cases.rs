//! The section of the page with the table of all cases. The page's script sorts and filters its rows, and draws the samples of a row from
//! attributes of its element.

use gpubench_records::{Answer, CuptiPass, CuptiTimes, GroupClock, Measurement, Record, State};
use gpubench_stats::{Nanoseconds, format, quantile};
use gpubench_table::{devices, sentences, text::plain};
use maud::{Markup, html};

use super::run::definition_list;
use super::view::{PageCase, PageView};

/// The number of rows whose figures the page explains in words. Later rows have only their figures.
const MAX_EXPLAINED_ROWS: usize = 3000;
/// The most clock readings of a row that are drawn. Of more readings, only every second, third and so on is
/// drawn.
const MAX_CLOCK_READINGS: usize = 100;

/// A function that returns the text of a cell, and the number by which the column is sorted.
type CaseCell = fn(&Record, &Measurement) -> Option<(String, f64)>;

/// A column: its title; true if narrow screens omit it, because the details of a row have its figure; the
/// function that returns its cells.
type CaseColumn = (&'static str, bool, CaseCell);

/// The columns after the name. The page omits a column if no case has a figure for it.
const COLUMNS: [CaseColumn; 7] = [
    ("time", false, |_, it| Some((format::time(it.median()), it.median().as_f64()))),
    ("95 % interval", true, |record, _| {
        let half = record.half_width();
        Some((format::plus_minus(half), half))
    }),
    ("GB/s", true, |_, it| it.metrics.bandwidth.map(|rate| (format::gigabytes(rate), rate.as_f64()))),
    ("GFLOP/s", true, |_, it| it.metrics.throughput.map(|rate| (format::gigaflops(rate), rate.as_f64()))),
    ("% of peak", false, |record, it| {
        let share = devices::binding_peak(it)?.fraction;
        Some((devices::peak_cell(record)?, share))
    }),
    ("cold/hot", true, |_, it| it.metrics.cold_over_hot.map(|ratio| (format::ratio(ratio), ratio))),
    ("samples", true, |_, it| Some((it.samples.time.samples.to_string(), it.samples.time.samples as f64))),
];

/// Returns the table of all cases with its filters.
pub(super) fn cases_section(view: &PageView<'_>) -> Markup {
    let columns: Vec<_> = COLUMNS
        .into_iter()
        .filter(|(_, _, cell)| view.cases.iter().any(|case| cell_of(case, *cell).is_some()))
        .collect();
    let is_compared = view.cases.iter().any(|case| case.change().is_some());
    html! {
        (filter_controls())
        p #count.soft aria-live="polite" { (format::counted(view.cases.len(), "row")) }
        @if !view.prefix.is_empty() { p.soft { "Names begin with " code { (plain(view.prefix)) } } }
        div.wide {
            table #table.compared[is_compared] {
                thead {
                    tr {
                        th scope="col" data-kind="text" { "case" }
                        @if view.several_devices { th.device-cell scope="col" data-kind="text" { "device" } }
                        th scope="col" data-kind="text" { "cache" }
                        @for (title, is_wide, _) in &columns { th.number.wide-only[*is_wide] scope="col" { (title) } }
                        @if is_compared { th.number scope="col" { "change" } }
                        th scope="col" data-kind="text" { "verdict" }
                    }
                }
                @for case in &view.cases { (case_row(view, case, &columns, is_compared)) }
            }
        }
        p #more hidden { button type="button" { "Show more rows" } }
        p.soft {
            "At most " (samples_per_row(view.cases.len())) " samples of a row are drawn over time: of more, the lowest and the highest of each \
             stretch. Quantiles and distributions are of all."
        }
        @if view.cases.len() > MAX_EXPLAINED_ROWS {
            p.soft { "The first " (MAX_EXPLAINED_ROWS) " rows show the origin of their numbers; --explain shows it for all." }
        }
        @for skipped in &view.run.skipped {
            p.soft { "skipped " (plain(&skipped.name())) ": " (plain(&skipped.reason)) }
        }
    }
}

/// Returns the filters, which need the script.
fn filter_controls() -> Markup {
    html! {
        form #controls.needs-script role="search" aria-label="Filter rows" {
            label { "Filter " input #filter type="search" placeholder="part of a name" autocomplete="off"; }
            fieldset {
                legend { "Verdict" }
                @for state in [State::Valid, State::Suspect, State::Invalid] {
                    label { input type="checkbox" name="verdict" value=(state.to_string()) checked; " " (state.to_string()) }
                }
            }
            label {
                "Cache "
                select #cache {
                    option value="" { "both" }
                    option value="hot" { "hot" }
                    option value="cold" { "cold" }
                }
            }
        }
    }
}

/// Returns the cell of a case; `None` if the case was not measured, or has no such figure.
fn cell_of(case: &PageCase<'_>, cell: CaseCell) -> Option<(String, f64)> {
    cell(case.record, case.record.measurement.as_ref()?)
}

/// Returns the row of a case: a table body of its own with a line of cells, and a line of details.
fn case_row(view: &PageView<'_>, case: &PageCase<'_>, columns: &[CaseColumn], is_compared: bool) -> Markup {
    let record = case.record;
    let number = case.number;
    let state = record.verdict.state.to_string();
    html! {
        tbody #{ "r" (number) } data-cache=(record.case.cache.to_string()) data-verdict=(state) {
            tr {
                th scope="row" { a.name href={ "#m" (number) } { (case.short_name()) } }
                @if view.several_devices { td.device-cell { (plain(&record.device)) } }
                td { (record.case.cache.to_string()) }
                @for (_, is_wide, cell) in columns {
                    @let cell = cell_of(case, *cell);
                    td.number.wide-only[*is_wide] data-v=[cell.as_ref().map(|(_, value)| value)] { @if let Some((text, _)) = &cell { (text) } }
                }
                @if is_compared { (change_cell(case)) }
                td class=(state) {
                    @if record.measurement.is_none() { "failed" } @else { @if record.fake { "fake, " } (state) }
                }
            }
            tr.more #{ "m" (number) } { td colspan="12" { (details(view, case)) } }
        }
    }
}

/// Returns the cell with the change of a case, which is empty if the case was not compared.
fn change_cell(case: &PageCase<'_>) -> Markup {
    let change = case.change();
    let is = |answer| change.is_some_and(|(_, it)| it == answer);
    html! {
        td.number.slower[is(Answer::Slower)].faster[is(Answer::Faster)] data-v=[change.map(|(ratio, _)| ratio.value)] {
            @if let Some((ratio, _)) = change { (format::change(ratio.value)) }
        }
    }
}

/// Returns the details of a case: reasons of its verdict, its change, its samples, and its figures.
fn details(view: &PageView<'_>, case: &PageCase<'_>) -> Markup {
    let record = case.record;
    html! {
        @for reason in &record.verdict.reasons {
            p class=(reason.state().to_string()) { b { (reason.state().to_string()) } ": " (plain(&reason.to_string())) }
        }
        @if let Some((ratio, answer)) = case.change() {
            p { "change: " (format::change(ratio.value)) " " (format::changes(ratio.low, ratio.high)) ", " (answer) }
        }
        @if let Some(measured) = &record.measurement {
            @let explained = (case.number < MAX_EXPLAINED_ROWS).then(|| sentences(record, measured, view.run.device_of(record)));
            @let explained = explained.into_iter().flatten().map(|(what, text)| (what, Some(text)));
            (sample_data(view, case, measured))
            @if let Some(CuptiPass::Traced(times)) = measured.verification.as_ref().and_then(|it| it.cupti.as_ref()) { (traced_operations(times)) }
            details open[case.number == 0 && view.cases.len() == 1] {
                summary { "Method, launch and figures" }
                (definition_list(figures(measured).into_iter().chain(explained)))
            }
        }
    }
}

/// Returns the operations of a launch according to CUPTI's trace, each with its share of their total time;
/// nothing for a launch of one operation.
fn traced_operations(times: &CuptiTimes) -> Markup {
    let CuptiTimes { activities, activity_count, .. } = times;
    html! {
        @if *activity_count > 1 {
            p {
                (format::counted(*activity_count, "operation")) " of a launch, by CUPTI's trace. "
                @match times.slowdown() {
                    Some(slowdown) => { "Tracing slows the launch by " (slowdown) ", which these times include:" }
                    None => { "The slowdown by tracing, which these times include, is not known:" }
                }
            }
            ol {
                @for activity in activities {
                    li { (activity.time) ", " (format::percent(times.share(activity))) ": " (plain(&activity.name)) }
                }
            }
            @if activity_count > &activities.len() { p.soft { "and " (activity_count - activities.len()) " more" } }
        }
    }
}

/// Returns an element with the samples as data attributes, from which the script draws them, and a
/// description for screen readers. Returns nothing without samples.
fn sample_data(view: &PageView<'_>, case: &PageCase<'_>, measured: &Measurement) -> Markup {
    let Some(drawn) = DrawnSamples::new(&measured.times(), samples_per_row(view.cases.len())) else {
        return html! {};
    };
    let [_, low, median, high, _] = drawn.quantiles.map(|time| format::time(Nanoseconds(time)));
    let time = &measured.samples.time;
    let [p99, low_end, high_end] =
        [time.p99, time.median_ci.low, time.median_ci.high].map(Nanoseconds::as_f64);
    html! {
        div.drawings
            data-samples=(drawn.all)
            data-quantiles=(format::joined(drawn.quantiles, ","))
            data-p99=(p99)
            data-interval={ (low_end) "," (high_end) }
            data-histogram=(drawn.histogram)
            data-order=(drawn.order)
            data-clock=[clock_readings(measured)]
            data-partner=[case.partner.map(|partner| format!("r{partner}"))]
            data-told={ (drawn.all) " samples: median " (median) ", half of them from " (low) " to " (high) } {}
    }
}

/// Returns clock readings over the samples, as `SAMPLES:MEGAHERTZ` separated by spaces. SAMPLES is the number
/// of samples before the reading. Returns `None` for fewer than two readings.
fn clock_readings(measured: &Measurement) -> Option<String> {
    let clock = measured.samples.device_clock.as_ref().filter(|clock| clock.over_time.len() > 1)?;
    let step = clock.over_time.len().div_ceil(MAX_CLOCK_READINGS);
    let shown = |read: &GroupClock| format!("{}:{:.1}", read.samples, read.clock.as_f64() / 1e6);
    Some(format::joined(clock.over_time.iter().step_by(step).map(shown), " "))
}

/// Returns the figures that have no column, or one that narrow screens omit. The user's metrics are not among
/// them, because the explanations have them.
fn figures(measured: &Measurement) -> [(&'static str, Option<String>); 6] {
    let (time, metrics) = (&measured.samples.time, &measured.metrics);
    let item = measured.item.as_deref().unwrap_or("items");
    [
        ("interval", Some(format!("{} to {} (95 %)", time.median_ci.low, time.median_ci.high))),
        ("back-to-back", measured.samples.back_to_back.map(format::time)),
        ("bandwidth", metrics.bandwidth.map(format::bandwidth)),
        ("throughput", metrics.throughput.map(format::throughput)),
        ("items", metrics.items_per_second.map(|rate| format::items(rate, item))),
        ("cold/hot", metrics.cold_over_hot.map(format::ratio)),
    ]
}

/// The number of bins of a histogram.
const BINS: usize = 60;
/// The most samples that are drawn of a row. Of more samples, the lowest and the highest of each stretch of
/// consecutive samples are drawn.
const MAX_ROW_SAMPLES: usize = 600;
/// The least value of [`samples_per_row`], however many rows the page has.
const MIN_ROW_SAMPLES: usize = 64;
/// The most samples that are drawn of all rows together. A page with very many rows exceeds it, since each
/// row may have [`MIN_ROW_SAMPLES`].
const MAX_PAGE_SAMPLES: usize = 1_200_000;

/// The samples of a row, compact enough for a page with thousands of rows.
#[derive(Debug, PartialEq)]
struct DrawnSamples {
    /// The number of all samples.
    pub all: usize,
    /// The minimum, the quartiles with the median between them, and the maximum of all samples, in nanoseconds.
    pub quantiles: [f64; 5],
    /// The histogram of all samples in [`BINS`] equal bins from the minimum to the 99th percentile: two
    /// hexadecimal digits for each bin, relative to the largest, which is 255.
    pub histogram: String,
    /// The drawn samples in the order of measurement: four hexadecimal digits each, from 0 for the minimum to
    /// 65535 for the maximum.
    pub order: String,
}

/// Returns the largest number of samples that are drawn of each row, in a page with this number of rows.
fn samples_per_row(rows: usize) -> usize {
    (MAX_PAGE_SAMPLES / rows.max(1)).clamp(MIN_ROW_SAMPLES, MAX_ROW_SAMPLES)
}

impl DrawnSamples {
    /// Encodes these times, with at most `most` of them in order; `None` without finite times.
    pub(super) fn new(times: &[Nanoseconds], most: usize) -> Option<Self> {
        let times: Vec<f64> =
            times.iter().copied().map(Nanoseconds::as_f64).filter(|time| time.is_finite()).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |part| quantile(&sorted, part);
        let quantiles = [min, at(0.25), at(0.5), at(0.75), max];
        let part = |time| if max > min { f64::from(u16::MAX) * (time - min) / (max - min) } else { 0.0 };
        let order =
            thinned(&times, most).into_iter().map(|time| format!("{:04x}", part(time).round() as u16));
        Some(Self {
            all: times.len(),
            quantiles,
            histogram: histogram(&sorted, min, at(0.99)),
            order: order.collect(),
        })
    }
}

/// Returns all times if there are at most `most`. Else divides them into stretches of consecutive times, and
/// returns the lowest and the highest of each stretch, so that outliers remain. The order of measurement is
/// kept.
fn thinned(times: &[f64], most: usize) -> Vec<f64> {
    if times.len() <= most {
        return times.to_vec();
    }
    let stretch = times.len().div_ceil(most / 2);
    let mut thinned = Vec::with_capacity(most);
    for part in times.chunks(stretch) {
        let by_time = |a: &usize, b: &usize| part[*a].total_cmp(&part[*b]);
        let lowest = (0..part.len()).min_by(by_time).unwrap_or_default();
        let highest = (0..part.len()).max_by(by_time).unwrap_or_default();
        thinned.extend([part[lowest.min(highest)], part[lowest.max(highest)]]);
    }
    thinned
}

/// Returns the histogram of times in [`BINS`] equal bins from `low` to `high`: two hexadecimal digits for
/// each bin, which is `ff` for the fullest. Times above `high` are left out.
fn histogram(sorted: &[f64], low: f64, high: f64) -> String {
    let mut counts = [0_usize; BINS];
    for time in sorted {
        let part = if high > low { (time - low) / (high - low) } else { 0.0 };
        if part <= 1.0 {
            counts[((part * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    counts.iter().map(|count| format!("{:02x}", (count * 255).div_ceil(most))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: impl IntoIterator<Item = f64>) -> Vec<Nanoseconds> {
        values.into_iter().map(Nanoseconds).collect()
    }

    #[test]
    fn few_samples_are_all_drawn_and_of_many_those_that_are_far_out() {
        let drawn = DrawnSamples::new(&times([1.0, 3.0, 2.0]), 64).expect("there are some");
        assert_eq!((drawn.all, drawn.quantiles), (3, [1.0, 1.5, 2.0, 2.5, 3.0]));
        assert_eq!(drawn.order, "0000ffff8000");
        let mut many: Vec<f64> = (0..1000).map(|number| f64::from(number % 10)).collect();
        many[517] = 99.0;
        let thin = thinned(&many, 64);
        assert!(thin.len() <= 64 && thin.contains(&99.0), "{thin:?}");
    }

    #[test]
    fn samples_that_are_all_the_same_have_a_histogram() {
        let drawn = DrawnSamples::new(&times([5.0; 40]), 64).expect("there are some");
        assert_eq!((drawn.histogram.len(), &drawn.histogram[..2]), (2 * BINS, "ff"));
        assert_eq!(DrawnSamples::new(&[], 64), None);
    }

    #[test]
    fn rows_share_the_room_for_samples() {
        assert_eq!([1, 5_000, 10_000, 1_000_000].map(samples_per_row), [600, 240, 120, 64]);
    }
}
