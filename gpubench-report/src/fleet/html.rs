//! The page about a fleet: one file that a browser shows without a network and without a script. In: a [`FleetReport`]; out:
//! HTML: the answer, a map of hosts, GPUs and roofs, the slow GPUs with their intervals and reasons, the spreads, and what is
//! missing. GPUs that are not slow have cells on the map and no rows, so that a page of thousands stays usable.

use gpubench_records::fleet::{FleetGpu, FleetGroup, FleetReport, FleetVerdict, GpuVerdict, Standing};
use gpubench_stats::format::{self, counted, percent};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{map, words};
use crate::drawing::{Axis, BoxPlot, Change, Forest, Row, Unit};
use crate::html::style;
use crate::text::plain;

/// The browser fetches and runs nothing, whatever a name contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// The number of slow GPUs in the drawing.
const DRAWN: usize = 30;
/// The number of GPUs up to which all of them have a row.
const LISTED: usize = 64;

/// The page.
#[must_use]
pub fn page(report: &FleetReport) -> String {
    let title = title(report);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(style())) (PreEscaped(include_str!("fleet.css"))) }
            }
            body {
                header { h1 { (title) } }
                main {
                    @if report.groups.is_empty() { p { strong { "No GPU can be judged." } } }
                    @for (number, it) in report.groups.iter().enumerate() { (group(it, number, report)) }
                    (missing(report))
                    (method(report))
                }
                footer { p.soft { "gpubench " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    }
    .into_string()
}

fn title(report: &FleetReport) -> String {
    match &report.groups[..] {
        [one] => format!("{} {} on {}", one.gpus.len(), plain(&one.model), counted(one.hosts.len(), "host")),
        groups => {
            let gpus = groups.iter().map(|group| group.gpus.len()).sum();
            format!("{} in {}", counted(gpus, "GPU"), counted(groups.len(), "group"))
        }
    }
}

fn group(group: &FleetGroup, number: usize, report: &FleetReport) -> Markup {
    html! {
        section aria-labelledby={ "answer" (number) } {
            h2 id={ "answer" (number) } { (capitalised(&words::answer(group))) }
            p.soft { (words::size(group)) }
            @if group.fake { p { strong.bad { "FAKE: stand-ins for tests. Their times are made up" } } }
            (verdicts(group))
            @if let Some(tails) = words::tails(group) { p.note { (capitalised(&tails)) "." } }
            @for lack in words::lacks(group) { p.note { (lack) } }
            h3 { "Map" }
            (map::map(group, number, report.least))
            (ranking(group, number, report.least))
            (spreads(group))
            (every(group))
        }
    }
}

fn verdicts(group: &FleetGroup) -> Markup {
    let counts = [
        (GpuVerdict::Slow, "slow", "invalid"),
        (GpuVerdict::Normal, "normal", "valid"),
        (GpuVerdict::NotEnoughData, "without a verdict", "suspect"),
    ];
    html! {
        ul.verdicts {
            @for (verdict, words, class) in counts { li class=(class) { b { (group.count(verdict)) } " " (words) } }
        }
    }
}

/// The slow GPUs, drawn and in words.
fn ranking(group: &FleetGroup, number: usize, least: f64) -> Markup {
    let slow: Vec<&FleetGpu> = group.slow().collect();
    html! {
        @if !slow.is_empty() {
            h3 { "Slow GPUs, the slowest first" }
            figure tabindex="0" { (PreEscaped(forest(group, &slow, least))) }
            @for (place, gpu) in slow.iter().enumerate() {
                details.gpu id=(map::target(number, place)) open[slow.len() <= 8] {
                    summary { b { (words::place(group, gpu)) } ": " (words::finding(gpu).unwrap_or_default()) }
                    p { (capitalised(&words::sensors(gpu))) "." }
                    @if let Some(suspect) = words::suspect(gpu) { p { (capitalised(&suspect)) "." } }
                    (standings(group, gpu))
                    p.soft { (plain(&gpu.uuid)) " · " (counted(gpu.runs.len(), "run")) ": "
                        (gpu.runs.iter().map(|run| plain(run)).collect::<Vec<_>>().join(", ")) }
                }
            }
        }
    }
}

fn forest(group: &FleetGroup, slow: &[&FleetGpu], least: f64) -> String {
    let row = |gpu: &&FleetGpu| {
        let findings = gpu.findings();
        let first = findings.first()?;
        Some(Change {
            name: words::place(group, gpu),
            value: first.standing.effect,
            interval: [first.standing.low, first.standing.high],
            note: format!("{} {}", words::effect(&first.standing), words::roof(first)),
            index: 1,
        })
    };
    let title = match slow.len() {
        1 => "1 GPU is slower than the others".to_owned(),
        many => format!("{many} GPUs are slower than the others"),
    };
    let most = if slow.len() > DRAWN { format!("the {DRAWN} slowest, ") } else { String::new() };
    Forest {
        title,
        subtitle: format!("{most}with 95 % intervals; the band does not count as slow"),
        label: "time over that of the others".to_owned(),
        band: least,
        rows: slow.iter().take(DRAWN).filter_map(row).collect(),
    }
    .drawing()
    .element()
}

/// The standing of a GPU on each roof.
fn standings(group: &FleetGroup, gpu: &FleetGpu) -> Markup {
    let of_roofs = group.roofs.iter().filter_map(|of| Some((of.roof.to_string(), gpu.on(of.roof)?, "case")));
    let most = gpu.most_roofs.as_ref().map(|most| ("in common".to_owned(), most, "roof"));
    html! {
        div.wide tabindex="0" {
            table.standings {
                thead { tr {
                    th scope="col" { "roof" } th.number scope="col" { "time" } th.number scope="col" { "95 % interval" }
                    th.number scope="col" { "data" } th.number scope="col" { "processes differ by" } th scope="col" { "verdict" }
                } }
                tbody {
                    @for (name, standing, what) in of_roofs.chain(most) {
                        tr {
                            th scope="row" { (name) }
                            td.number { (words::effect(standing)) }
                            td.number { (words::interval(standing)) }
                            td.number { (counted(standing.cases, what)) ", " (processes(standing)) }
                            td.number { @if standing.processes > 1 { (percent(standing.between_processes)) } }
                            td class=(class(standing)) { (words::verdict(standing)) }
                        }
                    }
                }
            }
        }
    }
}

fn processes(standing: &Standing) -> String {
    match standing.processes {
        1 => "1 process".to_owned(),
        more => format!("{more} processes"),
    }
}

fn class(standing: &Standing) -> &'static str {
    match standing.verdict {
        FleetVerdict::Slow => "invalid",
        FleetVerdict::Normal => "valid",
        FleetVerdict::NotEnoughData(_) => "suspect",
    }
}

/// The spread of each roof: a drawing of all GPUs, if there are enough, and a table.
fn spreads(group: &FleetGroup) -> Markup {
    let rows: Vec<Row> = group
        .roofs
        .iter()
        .map(|of| {
            let samples = group.gpus.iter().filter_map(|gpu| Some(gpu.on(of.roof)?.effect)).collect();
            Row { name: of.roof.to_string(), samples, note: String::new() }
        })
        .collect();
    html! {
        h3 { "How GPUs differ by nature" }
        @if group.gpus.len() >= 8 {
            figure tabindex="0" { (PreEscaped(BoxPlot {
                title: "All GPUs, on each roof".to_owned(),
                subtitle: "half of them are in the box; points are far from it".to_owned(),
                axis: Axis::near("time over that of the others", Unit::CHANGE),
                rows,
            }.drawing().element())) }
        }
        div.wide tabindex="0" {
            table.standings {
                thead { tr {
                    th scope="col" { "roof" } th.number scope="col" { "cases" } th.number scope="col" { "slow" }
                    th.number scope="col" { "GPUs differ by" } th.number scope="col" { "shared by a host" }
                    th.number scope="col" { "processes differ by" }
                } }
                tbody {
                    @for of in &group.roofs {
                        tr {
                            th scope="row" { (of.roof) }
                            td.number { details.cases { summary { (of.cases.len()) } ul { @for case in &of.cases { li { (plain(case)) } } } } }
                            td.number { (group.gpus.iter().filter(|gpu| gpu.on(of.roof).is_some_and(|it| it.verdict == FleetVerdict::Slow)).count()) }
                            td.number { @if group.gpus.len() > 2 { (percent(of.between_gpus)) } @else { "–" } }
                            td.number { @if group.hosts.len() > 1 { (percent(of.common_to_host)) } @else { "–" } }
                            td.number { (of.between_processes.map_or_else(|| "–".to_owned(), percent)) }
                        }
                    }
                }
            }
        }
        p.soft { "Standard deviations, without the slow GPUs. Shared by a host: the part of the variance that its GPUs have in common." }
    }
}

/// A row for each GPU, if there are few.
fn every(group: &FleetGroup) -> Markup {
    let mut gpus: Vec<&FleetGpu> = group.gpus.iter().collect();
    gpus.sort_by_key(|gpu| (&gpu.host, &gpu.device));
    html! {
        @if gpus.len() <= LISTED {
            h3 { "Each GPU" }
            div.wide tabindex="0" {
                table.standings {
                    thead { tr {
                        th scope="col" { "GPU" }
                        @for of in &group.roofs { th.number scope="col" { (of.roof) } }
                        th scope="col" { "differences from what is usual" }
                    } }
                    tbody {
                        @for gpu in &gpus {
                            tr {
                                th scope="row" title=(plain(&gpu.uuid)) { (words::place(group, gpu)) }
                                @for of in &group.roofs {
                                    @match gpu.on(of.roof) {
                                        None => td.number { "–" },
                                        Some(standing) => td class={ "number " (class(standing)) } title=(words::interval(standing)) {
                                            (format::signed_percent(standing.effect))
                                        },
                                    }
                                }
                                td { (gpu.reasons.iter().map(|reason| plain(reason)).collect::<Vec<_>>().join("; ")) }
                            }
                        }
                    }
                }
            }
        } @else {
            p.soft { "GPUs that are not slow have no row here. " code { "--json" } " has the effect of each on each roof." }
        }
    }
}

fn missing(report: &FleetReport) -> Markup {
    html! {
        @if !report.missing.is_empty() {
            section aria-labelledby="missing" {
                h2 #missing { "Missing" }
                details open[report.missing.len() <= 20] {
                    summary { (counted(report.missing.len(), "part")) " of the data could not be used" }
                    ul { @for gap in &report.missing { li { (plain(&gap.to_string())) } } }
                }
            }
        }
    }
}

fn method(report: &FleetReport) -> Markup {
    html! {
        section aria-labelledby="method" {
            h2 #method { "Method" }
            p {
                (counted(report.runs, "run")) " in " (counted(report.files, "file")) ". Medians are compared as logarithms. "
                "The cases that a roof binds are pooled to one effect for each GPU, precise ones counting for more. "
                "A GPU is held against the others by Student's t: it is slow if it does not belong to them, at a false "
                "discovery rate of " (percent(report.false_discoveries)) ", and by at least " (percent(report.least)) ". "
                "GPUs of a model differ by nature, so that a GPU which differs as the others do is normal."
            }
        }
    }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
