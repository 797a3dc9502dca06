//! The run as a whole: the summary at the top of the page, and the method and the environment at its end.

use gpubench_records::{DeviceInfo, Run, files::time_of_day};
use gpubench_stats::format;
use gpubench_table::{case_name, devices, remarks, text::plain};
use maud::{Markup, html};

use super::view::View;

/// The number of rows with reservations that are named.
const NAMED: usize = 6;

/// Returns the top of the page: the devices, the verdicts in numbers, and rows with reservations.
pub(super) fn summary(view: &View<'_>) -> Markup {
    let run = view.run;
    html! {
        @for note in devices::notes(run) { p.note { (plain(&note)) } }
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

/// Returns the end of the page, folded: the method, the machine, and the properties of its devices.
pub(super) fn appendix(run: &Run) -> Markup {
    html! {
        details { summary { "Method" } (method(run)) }
        details { summary { "Environment" } (environment(run)) }
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
    let package = program.package.as_ref().map(|package| {
        let commit = package.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {commit}"));
        format!("{} {}{commit}", package.name, package.version)
    });
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let built = format!("{}, {}, opt-level {}", program.version, program.target, program.opt_level);
    let rows = [
        ("gpubench", Some(built)),
        ("suite", some(&program.suite)),
        ("package", package),
        ("host", machine.host.clone()),
        ("system", machine.system.clone()),
        ("kernel", machine.kernel.clone()),
        ("CPU", machine.cpu.clone()),
        ("settings", some(&format::joined(machine.settings().iter().map(devices::shown), "; "))),
        ("task", machine.task.as_ref().map(|task| format!("{task} ({})", task.share))),
        ("command", some(&machine.command.join(" "))),
        ("begun", Some(time_of_day(run.started))),
        ("wall time", Some(format::time(run.wall_time))),
    ];
    html! {
        (facts(rows))
        @for info in &run.devices { (device(info)) }
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
            @for property in &info.properties { li { (devices::shown(property)) } }
            @for peak in &info.peaks { li { "peak " (plain(&devices::shown_peak(peak))) } }
        }
    }
}
