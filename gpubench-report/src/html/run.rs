//! The run as a whole: the summary at the top of the page, and the method and the environment at its end.

use gpubench_records::{DeviceInfo, Run, files::time_of_day};
use gpubench_stats::format;
use gpubench_table::text::{plain, plain_lines};
use gpubench_table::{case_name, header, remarks};
use maud::{Markup, html};
use serde_json::json;

use super::view::View;

/// The number of rows with reservations that are named.
const NAMED: usize = 6;

/// Returns the top of the page: the devices, the verdicts in numbers, and rows with reservations.
pub(super) fn summary(view: &View<'_>) -> Markup {
    let run = view.run;
    html! {
        @for note in header::notes(run) { p.note { (plain(&note)) } }
        @for info in &run.devices {
            p.device {
                b { (plain(&info.device)) } ": " (plain(&info.name))
                @if info.fake { " " strong.bad { "FAKE: a fake driver for tests. Its times are invented" } }
            }
        }
        p.soft { (plain(remarks::summary(run).trim())) }
        (reservations(view))
    }
}

/// The rows with reasons against them, the worst first.
fn reservations(view: &View<'_>) -> Markup {
    let mut cases: Vec<_> =
        view.cases.iter().filter(|case| !case.record.verdict.reasons.is_empty()).collect();
    cases.sort_by_key(|case| std::cmp::Reverse(case.record.verdict.state));
    html! {
        @if !cases.is_empty() {
            h3 { "Suspect and invalid results" }
            ol {
                @for case in cases.iter().take(NAMED) {
                    li {
                        a href=(case.target()) { (plain(&case_name(case.record, view.several_devices))) } ": "
                        @for reason in case.record.verdict.reasons.iter().take(1) { (plain(&reason.to_string())) }
                    }
                }
            }
            @if cases.len() > NAMED { p.soft { "and " (cases.len() - NAMED) " more" } }
        }
    }
}

/// Returns the end of the page, folded: the method, the properties of devices, and the machine as the file of the run has it.
pub(super) fn appendix(run: &Run) -> Markup {
    let Run { program, environment, sampling, started, wall_time, .. } = run;
    let stored = json!({ "program": program, "environment": environment, "sampling": sampling });
    html! {
        details { summary { "Method" } ul { @for line in remarks::methods(run).lines() { li { (plain(line)) } } } }
        details { summary { "Devices" } @for info in &run.devices { (device(info)) } }
        details {
            summary { "Environment" }
            p { "Begun " (time_of_day(*started)) ", measured for " (format::time(*wall_time)) }
            pre tabindex="0" { (plain_lines(&format!("{stored:#}"))) }
        }
    }
}

/// Returns a list of names and texts, without those that have no text.
pub(super) fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Markup {
    html! {
        dl {
            @for (name, text) in facts { @if let Some(text) = text { dt { (name) } dd { (plain(&text)) } } }
        }
    }
}

fn device(info: &DeviceInfo) -> Markup {
    html! {
        h3 { (plain(&info.device)) ": " (plain(&info.name)) }
        ul {
            @for property in &info.properties { li { (header::shown(property)) } }
            @for peak in &info.peaks { li { "peak " (plain(&header::shown_peak(peak))) } }
        }
    }
}
