//! The run as a whole: the summary at the top of the page, and the method and the environment at its end.

use gpubench_records::counts::ResultCounts;
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::files::time_of_day;
use gpubench_records::record::Run;
use gpubench_records::verdict::State;
use gpubench_stats::format;
use gpubench_table::text::plain;
use gpubench_table::{gate, header, remarks, together};
use maud::{Markup, html};

use super::view::View;

/// The number of rows with reservations that are named.
const NAMED: usize = 6;

/// Returns the top of the page: the devices, the verdicts in numbers, the outcome of a comparison, and rows with reservations.
pub(super) fn summary(view: &View<'_>) -> Markup {
    let run = view.run;
    let ResultCounts { valid, suspect, invalid, skipped, .. } = run.counts();
    html! {
        section #summary aria-labelledby="summary-title" {
            h2 #summary-title { "Summary" }
            @for note in header::notes(run) { p.note { (plain(&note)) } }
            @for info in &run.devices {
                p.device {
                    b { (plain(&info.device)) } ": " (plain(&info.name))
                    @if info.fake { " " strong.bad { "FAKE: a stand-in for tests. Its times are made up" } }
                }
            }
            ul.verdicts {
                @for (state, count) in [(State::Valid, valid), (State::Suspect, suspect), (State::Invalid, invalid)] {
                    li class=(state.to_string()) { b { (count) } " " (state.to_string()) }
                }
                @if skipped > 0 { li { b { (skipped) } " skipped" } }
            }
            p.soft { (plain(remarks::summary(run).trim())) }
            (comparison(run))
            (reservations(view))
        }
    }
}

/// The number of each answer of a comparison with a baseline, and the outcome of its gate.
fn comparison(run: &Run) -> Markup {
    html! {
        @if let Some(check) = &run.baseline_comparison {
            p { a href="#baseline" { "Against baseline " (plain(&check.baseline)) } ": " (together::answer_counts(together::answers(check))) }
        }
        @if let Some(gate) = run.gate() {
            @let (count, from) = gate::regressions(&gate);
            p { @if gate.regressions().is_empty() { (count) } @else { strong.bad { (count) } } (from) }
            @for line in gate::unjudged(&gate) { p { strong.bad { (line) } } }
        }
    }
}

/// The rows with reasons against them, the worst first.
fn reservations(view: &View<'_>) -> Markup {
    let mut cases: Vec<_> =
        view.cases.iter().filter(|case| !case.record.verdict.reasons.is_empty()).collect();
    cases.sort_by_key(|case| std::cmp::Reverse(case.record.verdict.state));
    html! {
        @if !cases.is_empty() {
            h3 { "Rows with a reservation" }
            ol {
                @for case in cases.iter().take(NAMED) {
                    li {
                        a href=(case.target()) { (case.full_name(view.several_devices)) } ": "
                        @for reason in case.record.verdict.reasons.iter().take(1) { (plain(&reason.to_string())) }
                    }
                }
            }
            @if cases.len() > NAMED { p.soft { "and " (cases.len() - NAMED) " more" } }
        }
    }
}

/// Returns the end of the page, folded: the method, the machine, and the properties of its devices.
pub(super) fn appendix(run: &Run) -> Markup {
    html! {
        section #method aria-labelledby="method-title" {
            h2 #method-title { "Method and environment" }
            details { summary { "Method" } (method(run)) }
            details { summary { "Environment" } (environment(run)) }
        }
    }
}

fn method(run: &Run) -> Markup {
    let sampling = &run.sampling;
    html! {
        p {
            "Medians of event times less the timer's overhead. A case is sampled until the 95 % interval of its median is at "
            (format::plus_minus(sampling.precision)) ", for at most " (format::time(sampling.max_time))
            ", after at least " (format::time(sampling.min_warm_up_time)) " of warm-up; a benchmark or the command line may say otherwise."
        }
        ul { @for line in remarks::methods(run).lines() { li { (plain(line)) } } }
    }
}

fn environment(run: &Run) -> Markup {
    let (program, machine) = (&run.program, &run.environment);
    let info = [
        ("host", &machine.host),
        ("system", &machine.system),
        ("kernel", &machine.kernel),
        ("CPU", &machine.cpu),
    ];
    let task = machine.task.as_ref().map(|task| format!("{task} ({})", task.share));
    let command = machine.command.join(" ");
    html! {
        dl {
            dt { "gpubench" } dd { (plain(&program.version)) ", " (plain(&program.target)) ", opt-level " (plain(&program.opt_level)) }
            @if !program.suite.is_empty() { dt { "suite" } dd { (plain(&program.suite)) } }
            @if let Some(package) = &program.package {
                dt { "package" }
                dd { (plain(&package.name)) " " (plain(&package.version)) @if let Some(commit) = &package.commit { ", commit " (plain(commit)) } }
            }
            @for (what, fact) in info {
                @if let Some(fact) = fact { dt { (what) } dd { (plain(fact)) } }
            }
            @if let Some(task) = task { dt { "task" } dd { (plain(&task)) } }
            @if !command.is_empty() { dt { "command" } dd { code { (plain(&command)) } } }
            dt { "begun" } dd { (time_of_day(run.started)) }
            dt { "wall time" } dd { (format::time(run.wall_time)) }
        }
        @for info in &run.devices { (device(info)) }
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
