//! The map of a fleet: a block for each host, in it a column for each GPU and a row for each roof. In: a group of GPUs; out: the
//! markup of its blocks. A thousand GPUs have small cells, and shapes of one colour are one path.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gpubench_records::fleet::{FleetGpu, FleetGroup, FleetRoof, FleetVerdict, GpuVerdict, Standing};
use maud::{Markup, PreEscaped, html};

use super::words;
use crate::text::plain;

/// The side of a cell, and the place that it takes.
const CELL: usize = 9;
const PLACE: usize = 10;

/// The factor by which cells are larger if there are at most so many GPUs.
const LARGER: usize = 2;
const FEW: usize = 64;

/// The number of GPUs beside each other.
const ACROSS: usize = 32;

/// The map, with its legend and a switch that hides hosts without a slow GPU.
pub(super) fn map(group: &FleetGroup, number: usize, least: f64) -> Markup {
    let roofs: Vec<FleetRoof> = group.roofs.iter().map(|it| it.roof).collect();
    let mut hosts: BTreeMap<&str, Vec<&FleetGpu>> = BTreeMap::new();
    for gpu in &group.gpus {
        hosts.entry(gpu.host.as_deref().unwrap_or("host not known")).or_default().push(gpu);
    }
    for gpus in hosts.values_mut() {
        gpus.sort_by_key(|gpu| &gpu.device);
    }
    html! {
        div.fleet {
            @if hosts.len() > 1 {
                label.only { input type="checkbox"; " only hosts with a slow GPU" }
            }
            (legend(&roofs))
            div.hosts {
                @for (host, gpus) in &hosts {
                    div.host.has-slow[gpus.iter().any(|gpu| gpu.verdict == GpuVerdict::Slow)] {
                        span.host-name { (plain(host)) }
                        @for gpus in gpus.chunks(ACROSS) { (PreEscaped(block(group, gpus, &roofs, number, least))) }
                    }
                }
            }
        }
    }
}

/// The order of the rows, and the meaning of the colours.
fn legend(roofs: &[FleetRoof]) -> Markup {
    let kinds = [
        ("slow", "slow"),
        ("longer", "takes longer, and belongs to the others"),
        ("shorter", "faster"),
        ("usual", "as usual"),
        ("unknown", "not enough data"),
    ];
    html! {
        p.legend {
            @for (class, meaning) in kinds {
                svg.cells width="10" height="10" aria-hidden="true" { path class=(class) d="M.5.5h9v9h-9z"; }
                " " (meaning) " "
            }
        }
        p.soft {
            "A block is a host, a column a GPU. Rows from above: "
            (roofs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")) "."
        }
    }
}

/// The colour of a cell.
fn class(standing: &Standing, least: f64) -> &'static str {
    match standing.verdict {
        FleetVerdict::Slow => "slow",
        FleetVerdict::NotEnoughData(_) => "unknown",
        FleetVerdict::Normal if standing.effect >= least => "longer",
        FleetVerdict::Normal if standing.effect <= -least => "shorter",
        FleetVerdict::Normal => "usual",
    }
}

fn block(group: &FleetGroup, gpus: &[&FleetGpu], roofs: &[FleetRoof], number: usize, least: f64) -> String {
    let (width, height) = (PLACE * gpus.len(), PLACE * roofs.len());
    let mut paths: BTreeMap<&str, String> = BTreeMap::new();
    let mut columns = String::new();
    for (column, gpu) in gpus.iter().enumerate() {
        for (row, roof) in roofs.iter().enumerate() {
            let Some(standing) = gpu.on(*roof) else { continue };
            let path = paths.entry(class(standing, least)).or_default();
            // Writing to a string never fails.
            _ = write!(path, "M{} {}h{CELL}v{CELL}h-{CELL}z", PLACE * column, PLACE * row);
        }
        let place = place(group, gpu);
        let shape = html! {
            rect.column x=(PLACE * column) y="0" width=(CELL) height=(height - 1) { title { (title(group, gpu)) } }
        };
        let shape = match place.filter(|_| gpu.verdict == GpuVerdict::Slow) {
            Some(place) => html! { a href={ "#" (target(number, place)) } { (shape) } },
            None => shape,
        };
        columns += &shape.into_string();
    }
    let paths: String =
        paths.iter().map(|(class, path)| format!("<path class=\"{class}\" d=\"{path}\"/>")).collect();
    let shown = if group.gpus.len() <= FEW { LARGER } else { 1 };
    let (across, down) = (shown * width, shown * height);
    format!(
        "<svg class=\"cells\" width=\"{across}\" height=\"{down}\" viewBox=\"-.5 -.5 {width} {height}\">{paths}{columns}</svg>"
    )
}

fn place(group: &FleetGroup, gpu: &FleetGpu) -> Option<usize> {
    group.gpus.iter().position(|other| other.uuid == gpu.uuid)
}

/// The place of a GPU's details on the page.
pub(super) fn target(group: usize, gpu: usize) -> String {
    format!("g{group}-{gpu}")
}

/// The words that a pointer at a column shows.
fn title(group: &FleetGroup, gpu: &FleetGpu) -> String {
    let told = words::finding(gpu).unwrap_or_else(|| {
        let verdict = match gpu.verdict {
            GpuVerdict::Slow => "slow",
            GpuVerdict::Normal => "normal",
            GpuVerdict::NotEnoughData => "not enough data",
        };
        verdict.to_owned()
    });
    format!("{}: {told}", words::place(group, gpu))
}
