//! The end of the page, folded: the method, the machine, and the properties of its devices.

use gpubench_records::device_info::DeviceInfo;
use gpubench_records::files::time_of_day;
use gpubench_records::record::Run;
use gpubench_stats::format;
use maud::{Markup, html};

use gpubench_table::text::plain;
use gpubench_table::{header, remarks};

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
