//! The details of a row: the reasons against it, the origin of its numbers, and its samples for the page's script to draw. In a large
//! run some rows have less, which the page says.

use gpubench_records::conditions::GroupClock;
use gpubench_records::record::Measurement;
use gpubench_stats::format;
use gpubench_stats::units::Nanoseconds;
use maud::{Markup, html};

use super::samples::{Drawn, drawn_of};
use super::view::{PageCase, View};
use gpubench_table::sentences;
use gpubench_table::text::plain;

/// The most rows whose numbers are explained in words.
const EXPLAINED: usize = 3000;
/// The most readings of a clock that are drawn of a row.
const MOST_CLOCKS: usize = 100;

/// The details of all rows.
#[derive(Debug)]
pub(super) struct Details<'a> {
    view: &'a View<'a>,
    /// The number of samples that are drawn of each row.
    drawn: usize,
}

impl<'a> Details<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        Self { view, drawn: drawn_of(view.cases.len()) }
    }

    /// The remarks on what the page leaves out.
    pub(super) fn notes(&self) -> Vec<String> {
        let samples = self.view.cases.iter().filter_map(|case| case.record.measurement.as_ref());
        let most = samples.map(|it| it.samples.event_times.len()).max().unwrap_or_default();
        let thinned = (most > self.drawn).then(|| {
            format!(
                "Of more than {0} samples of a row, {0} are drawn over time: the lowest and the highest of each stretch. Its \
                 quantiles and its distribution are of all.",
                self.drawn
            )
        });
        let rows = self.view.cases.len();
        let explained = (rows > EXPLAINED).then(|| {
            format!("The first {EXPLAINED} rows of {rows} show the origin of their numbers; --explain shows it for all.")
        });
        thinned.into_iter().chain(explained).collect()
    }

    pub(super) fn of_case(&self, case: &PageCase<'_>) -> Markup {
        let record = case.record;
        html! {
            @for reason in &record.verdict.reasons {
                p class=(reason.state().to_string()) { b { (reason.state().to_string()) } ": " (plain(&reason.to_string())) }
            }
            @if let Some(measured) = &record.measurement {
                (self.drawings(case, measured))
                details open[case.number == 0 && self.view.cases.len() == 1] {
                    summary { "Method, launch and figures" }
                    dl {
                        @for (what, value) in figures(measured) { dt { (what) } dd { (value) } }
                        @if case.number < EXPLAINED {
                            @for (what, sentence) in sentences(record, measured, self.view.info(record)) {
                                dt { (what) } dd { (plain(&sentence)) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The samples as data of an element that the script draws in, with their figures in words for readers who do not see
    /// it.
    fn drawings(&self, case: &PageCase<'_>, measured: &Measurement) -> Markup {
        let Some(drawn) = Drawn::new(&measured.times(), self.drawn) else { return html! {} };
        let quantiles: Vec<String> = drawn.quantiles.iter().map(f64::to_string).collect();
        let [_, low, median, high, _] = drawn.quantiles.map(|time| format::time(Nanoseconds(time)));
        let time = &measured.samples.time;
        let [p99, low_end, high_end] =
            [time.p99, time.median_ci.low, time.median_ci.high].map(Nanoseconds::as_f64);
        html! {
            div.drawings
                data-samples=(drawn.all)
                data-quantiles=(quantiles.join(","))
                data-p99=(p99)
                data-interval={ (low_end) "," (high_end) }
                data-histogram=(drawn.histogram)
                data-order=(drawn.order)
                data-clock=[clock(measured)]
                data-partner=[case.partner.map(|partner| format!("r{partner}"))]
                data-told={ (drawn.all) " samples: median " (median) ", half of them from " (low) " to " (high) } {}
        }
    }
}

/// The clock of the multiprocessors over the samples: for each reading, the number of samples so far and the clock in
/// megahertz.
fn clock(measured: &Measurement) -> Option<String> {
    let clock = measured.samples.device_clock.as_ref().filter(|clock| clock.over_time.len() > 1)?;
    let step = clock.over_time.len().div_ceil(MOST_CLOCKS);
    let shown = |read: &GroupClock| format!("{}:{:.1}", read.samples, read.clock.as_f64() / 1e6);
    Some(clock.over_time.iter().step_by(step).map(shown).collect::<Vec<_>>().join(" "))
}

/// Returns the figures of the samples that have no column.
fn figures(measured: &Measurement) -> Vec<(&'static str, String)> {
    let (time, metrics) = (&measured.samples.time, &measured.metrics);
    let [low, high, min, max, p5, p95, p99, mean, deviation] = [
        time.median_ci.low,
        time.median_ci.high,
        time.min,
        time.max,
        time.p5,
        time.p95,
        time.p99,
        time.mean,
        time.standard_deviation,
    ]
    .map(format::time);
    let item = measured.item.as_deref().unwrap_or("items");
    let figures = [
        ("interval", Some(format!("{low} to {high} (95 %)"))),
        ("range", Some(format!("{min} to {max}"))),
        ("p5, p95, p99", Some(format!("{p5}, {p95}, {p99}"))),
        ("mean", Some(format!("{mean}, standard deviation {deviation}"))),
        ("back-to-back", measured.samples.back_to_back.map(format::time)),
        ("bandwidth", metrics.bandwidth.map(format::bandwidth)),
        ("throughput", metrics.throughput.map(format::throughput)),
        ("items", metrics.items_per_second.map(|rate| plain(&format::items(rate, item)))),
        ("cold/hot", metrics.cold_over_hot.map(format::ratio)),
    ];
    figures.into_iter().filter_map(|(what, figure)| Some((what, figure?))).collect()
}
