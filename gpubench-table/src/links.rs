//! The links between devices as a matrix: the speed of copies between each two. In: a run; out: for each benchmark with a `peer`
//! the rate from every device to every other, with its share of the peak; as text, and for the page.

use std::fmt::Write;

use super::page::Page;
use super::style::{BOLD, heading};
use super::text::{left, paragraph, plain, right, width};
use gpubench_records::device_info::Quantity;
use gpubench_records::id::{Arg, DeviceId, shown_name};
use gpubench_records::peer::Peer;
use gpubench_records::record::{Record, Run};
use gpubench_records::work::Link;
use gpubench_stats::format;
use gpubench_stats::units::BytesPerSecond;

/// The meaning of rows and columns, which the terminal and the page share.
pub const DIRECTIONS: &str =
    "The device of a row copies: `write` to the device of the column, `read` from it.";

/// The rates of a benchmark between devices.
#[derive(Debug)]
pub struct Matrix {
    /// The benchmark with its other arguments.
    pub name: String,
    /// The kind of the devices, such as `cuda`.
    kind: String,
    /// The rate from the device of a row, which does the copy, to or from that of a column.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// A pair of devices.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The rate.
    pub rate: BytesPerSecond,
    /// The share of the link's peak, if that is known.
    pub share: Option<f64>,
}

impl Matrix {
    /// The name of a device.
    pub fn device(&self, number: usize) -> String {
        format!("{}:{number}", self.kind)
    }
}

/// The matrices of `run`, in the order of its records.
pub fn matrices(run: &Run) -> Vec<Matrix> {
    let mut all: Vec<Matrix> = Vec::new();
    for record in &run.records {
        let Some((peer, name)) = peer_of(record) else { continue };
        let DeviceId { kind, ordinal } = DeviceId::parse(&record.device);
        let place = all.iter().position(|matrix| matrix.name == name && matrix.cells.len() == peer.of());
        let place = place.unwrap_or_else(|| {
            let cells = vec![vec![None; peer.of()]; peer.of()];
            all.push(Matrix { name, kind: kind.to_owned(), cells });
            all.len() - 1
        });
        let cell = record.usable_measurement().and_then(|measured| {
            let share = measured.metrics.share(&Quantity::PeerToPeer);
            Some(Cell { rate: measured.metrics.bandwidth?, share })
        });
        if let Some(row) = all[place].cells.get_mut(ordinal) {
            row[peer.after(ordinal)] = cell;
        }
    }
    all
}

/// The peer of a record, and the name of its benchmark without it.
fn peer_of(record: &Record) -> Option<(Peer, String)> {
    let is_link = record.measurement.as_ref().is_none_or(|measured| measured.link == Some(Link::P2p));
    let (peers, others): (Vec<&Arg>, Vec<&Arg>) =
        record.case.args.iter().partition(|arg| arg.name == Peer::ARG);
    let peer = peers.first()?.value.parse().ok().filter(|_| is_link)?;
    let others: Vec<Arg> = others.into_iter().cloned().collect();
    Some((peer, shown_name(&record.case.benchmark, &others)))
}

/// The matrices as text; nothing if there are none, or if each has one pair alone.
pub(super) fn links(run: &Run, page: Page) -> String {
    let known = |matrix: &Matrix| matrix.cells.iter().flatten().flatten().count() > 1;
    let mut text = String::new();
    for matrix in matrices(run).iter().filter(|matrix| known(matrix)) {
        text += &heading(&plain(&matrix.name), ", GB/s (% of the link's peak)", page);
        let names: Vec<String> = (0..matrix.cells.len()).map(|number| matrix.device(number)).collect();
        let first = names.iter().map(|name| width(name)).max().unwrap_or_default();
        let cell = |cell: &Option<Cell>| cell.map_or_else(|| "-".to_owned(), shown);
        let cells = matrix.cells.iter().flatten().map(cell).chain(names.iter().cloned());
        let room = cells.map(|cell| width(&cell)).max().unwrap_or_default() + 2;
        let heads: String = names.iter().map(|name| right(name, room)).collect();
        // Writing to a string cannot fail.
        _ = writeln!(text, "{}{BOLD}{heads}{BOLD:#}", left("", first));
        for (name, row) in names.iter().zip(&matrix.cells) {
            let row: String = row.iter().map(|it| right(&cell(it), room)).collect();
            _ = writeln!(text, "{}{row}", left(name, first));
        }
    }
    if !text.is_empty() {
        text += &paragraph(DIRECTIONS, page);
    }
    text
}

/// The rate in GB/s with its share of the peak.
pub fn shown(cell: Cell) -> String {
    let share = cell.share.map(|share| format!(" ({})", format::percent(share)));
    format::gigabytes(cell.rate) + &share.unwrap_or_default()
}
