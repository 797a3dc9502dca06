//! The columns of the table: one list, which the printed table and the Markdown table share. In: a row; out: the text of
//! each of its cells, the room that a cell takes, and the order in which columns are dropped from a narrow page.

use gpubench_records::device_info::Quantity;
use gpubench_records::metrics::PeakFraction;
use gpubench_records::record::{Measurement, Run};
use gpubench_records::samples::Energy;
use gpubench_records::verdict::State;
use gpubench_records::verification::{Counters, NcuPass};
use gpubench_records::work::Link;
use gpubench_stats::units::{Nanoseconds, Range};
use gpubench_stats::{SMALLEST_SAMPLE, Summary, format};

use crate::room::Room;
use crate::rows::Row;
use crate::text::plain;
use crate::{roof, spread};

/// A column of the table, behind the one with the case's name.
#[derive(Debug)]
pub(super) struct Column {
    /// The text above the printed column.
    pub(super) head: &'static str,
    /// The name of the column, above it in Markdown and in the line *not shown*.
    pub(super) title: &'static str,
    /// The room that its cells take in the printed table.
    pub(super) room: Room,
    /// The tables that have it.
    pub(super) tables: Tables,
    /// True for a column that is left out where it would be empty.
    pub(super) optional: bool,
    /// The place in the order in which columns fill a narrow page: the last ones are dropped first.
    pub(super) rank: u8,
    /// The cell of a row.
    pub(super) cell: fn(&Row<'_>) -> String,
    /// The same on a narrow page, where it is another.
    pub(super) narrow: Option<Narrow>,
}

/// A column as a narrow page has it: what is the same in all cells stands in its head alone.
#[derive(Debug)]
pub(super) struct Narrow {
    head: &'static str,
    room: Room,
    cell: fn(&Row<'_>) -> String,
}

impl Column {
    /// The text above the column.
    pub(super) fn head(&self, is_narrow: bool) -> &'static str {
        self.narrow.as_ref().filter(|_| is_narrow).map_or(self.head, |narrow| narrow.head)
    }

    /// The room that its cells take.
    pub(super) fn room(&self, is_narrow: bool) -> Room {
        self.narrow.as_ref().filter(|_| is_narrow).map_or(self.room, |narrow| narrow.room)
    }

    /// The cell of `row`.
    pub(super) fn cell(&self, row: &Row<'_>, is_narrow: bool) -> String {
        let cell = self.narrow.as_ref().filter(|_| is_narrow).map_or(self.cell, |narrow| narrow.cell);
        cell(row)
    }
}

/// The tables that have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// The printed one and Markdown's.
    Both,
    /// The printed one.
    Printed,
    /// Markdown's: the printed one shows the same beside the name.
    Markdown,
}

const COLUMN: Column = Column {
    head: "",
    title: "",
    room: Room::Words(0),
    tables: Tables::Both,
    optional: false,
    rank: 0,
    cell: |_| String::new(),
    narrow: None,
};
const OPTIONAL: Column = Column { optional: true, ..COLUMN };

/// Room for a time, such as `12.54 µs`.
const TIME: Room = Room::Number(3, 4, 3);
/// The columns of the slowest device with its difference, such as `cuda:0 +12.5 %`.
const SLOWEST: usize = 14;
/// Room for a part of a peak and its name, such as `93.1 % bf16 tensor`.
const SHARE: Room = Room::Named(3, 3);

const COLUMNS: &[Column] = &[
    Column { title: "cache", room: Room::Words(4), cell: |row| row.shown.case.cache.to_string(), ..COLUMN },
    Column { head: "time", title: "time", room: TIME, cell: time, ..COLUMN },
    Column {
        title: "95 % interval",
        room: Room::Number(4, 3, 2),
        rank: 1,
        cell: interval,
        narrow: Some(Narrow { head: "± %", room: Room::Number(2, 3, 0), cell: |row| bare(&interval(row)) }),
        ..COLUMN
    },
    Column {
        head: "slowest",
        title: "slowest device",
        room: Room::Words(SLOWEST),
        tables: Tables::Printed,
        rank: 2,
        cell: |row| row.slowest().unwrap_or_default(),
        narrow: Some(Narrow {
            head: "slowest %",
            room: Room::Words(SLOWEST - 1),
            cell: |row| bare(&row.slowest().unwrap_or_default()),
        }),
        ..OPTIONAL
    },
    Column {
        head: "range",
        title: "range of devices",
        room: Room::Number(3, 3, 2),
        tables: Tables::Printed,
        rank: 5,
        cell: |row| row.range().unwrap_or_default(),
        narrow: Some(Narrow {
            head: "range %",
            room: Room::Number(4, 3, 0),
            cell: |row| bare(&row.range().unwrap_or_default()),
        }),
        ..OPTIONAL
    },
    Column {
        head: spread::TITLE,
        title: spread::TITLE,
        room: Room::Words(spread::CELLS),
        tables: Tables::Printed,
        rank: 6,
        cell: |row| of(row, spread::bar),
        ..COLUMN
    },
    Column {
        head: "GB/s",
        title: "GB/s",
        room: Room::Number(4, 3, 0),
        rank: 4,
        cell: |row| maybe(row, |it| it.metrics.bandwidth.map(format::gigabytes)),
        ..OPTIONAL
    },
    Column {
        head: "of peak",
        title: "of peak",
        room: SHARE,
        rank: 3,
        cell: |row| maybe(row, |it| main_share(it).map(roof::cell)),
        narrow: Some(Narrow {
            head: "% of peak",
            room: SHARE,
            cell: |row| maybe(row, |it| binding_share(it).map(|share| bare(&roof::cell(share)))),
        }),
        ..OPTIONAL
    },
    Column {
        head: "GFLOP/s",
        title: "GFLOP/s",
        room: Room::Number(5, 3, 0),
        rank: 7,
        cell: |row| maybe(row, |it| it.metrics.throughput.map(format::gigaflops)),
        ..OPTIONAL
    },
    Column {
        head: "of peak",
        title: "of compute peak",
        room: SHARE,
        rank: 9,
        cell: |row| maybe(row, |it| compute_share(it).map(roof::cell)),
        // The column before it has it.
        narrow: Some(Narrow { head: "", room: SHARE, cell: |_| String::new() }),
        ..OPTIONAL
    },
    Column { head: "items", title: "items", room: Room::Number(3, 3, 18), rank: 10, cell: items, ..OPTIONAL },
    Column {
        head: "cold/hot",
        title: "cold/hot",
        room: Room::Number(4, 3, 1),
        rank: 8,
        cell: |row| maybe(row, |it| it.metrics.cold_over_hot.map(format::ratio)),
        ..OPTIONAL
    },
    Column {
        head: "back-to-back",
        title: "back-to-back",
        room: Room::Number(5, 4, 3),
        rank: 11,
        cell: |row| maybe(row, |it| it.samples.back_to_back.map(format::time)),
        ..OPTIONAL
    },
    Column {
        head: "energy",
        title: "energy",
        room: Room::Number(4, 3, 3),
        rank: 12,
        cell: |row| maybe(row, |it| it.energy.as_ref().and_then(Energy::per_launch).map(format::energy)),
        ..OPTIONAL
    },
    Column {
        head: "moved",
        title: "moved",
        room: Room::Number(4, 3, 3),
        rank: 13,
        cell: |row| maybe(row, |it| counters(it)?.moved().map(format::bytes)),
        ..OPTIONAL
    },
    Column {
        head: "L2 hit",
        title: "L2 hit",
        room: Room::Number(3, 3, 2),
        rank: 14,
        cell: |row| maybe(row, |it| counters(it)?.l2_hit.map(format::percent)),
        ..OPTIONAL
    },
    Column {
        head: "processes",
        title: "processes",
        room: Room::Words(25),
        rank: 15,
        cell: processes,
        ..OPTIONAL
    },
    Column {
        head: "samples",
        title: "samples",
        room: Room::Number(7, 0, 0),
        rank: 16,
        cell: |row| of(row, |it| it.samples.time.samples.to_string()),
        ..COLUMN
    },
    Column { title: "verdict", room: Room::Number(0, 0, 0), tables: Tables::Markdown, cell: mark, ..COLUMN },
];

/// The columns that are printed, in their order.
pub(super) fn printed() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.tables != Tables::Markdown)
}

/// The columns of the Markdown table of `run`.
pub(super) fn columns_of(run: &Run) -> Vec<&'static Column> {
    let used = |column: &&Column| {
        !column.optional || run.records.iter().any(|record| !(column.cell)(&Row::of(record)).is_empty())
    };
    COLUMNS.iter().filter(|column| column.tables != Tables::Printed).filter(used).collect()
}

/// The cell of a row that has a measurement; an empty one of any other.
fn of(row: &Row<'_>, cell: impl FnOnce(&Measurement) -> String) -> String {
    row.shown.measurement.as_ref().map(cell).unwrap_or_default()
}

fn maybe(row: &Row<'_>, cell: impl FnOnce(&Measurement) -> Option<String>) -> String {
    row.shown.measurement.as_ref().and_then(cell).unwrap_or_default()
}

/// What the hardware's counters say of a launch, if they were read.
fn counters(measured: &Measurement) -> Option<&Counters> {
    match measured.verification.as_ref()?.ncu.as_ref()? {
        NcuPass::Counted(counters) => Some(counters),
        NcuPass::Failed(_) => None,
    }
}

fn time(row: &Row<'_>) -> String {
    row.shown
        .measurement
        .as_ref()
        .map_or_else(|| "failed".to_owned(), |measured| format::time(measured.median()))
}

/// Half of the interval, such as `± 0.42 %`.
fn interval(row: &Row<'_>) -> String {
    of(row, |it| format::plus_minus(half_width(&it.samples.time)))
}

/// A cell without the signs that a narrow page has in the head.
fn bare(cell: &str) -> String {
    cell.trim_start_matches("± ").replace(" %", "")
}

/// The range of the medians of several processes, such as `5: 320.0 µs to 332.8 µs`.
fn processes(row: &Row<'_>) -> String {
    let spread = |(range, processes): (Range<Nanoseconds>, usize)| {
        format!("{processes}: {}", format::from_to(range, format::time))
    };
    row.shown.processes().map(spread).unwrap_or_default()
}

fn items(row: &Row<'_>) -> String {
    maybe(row, |measured| {
        let item = measured.item.as_deref().map_or_else(|| "items".to_owned(), plain);
        measured.metrics.items_per_second.map(|rate| format::items(rate, &item))
    })
}

/// The warning beside a number that is not valid.
fn mark(row: &Row<'_>) -> String {
    let record = row.shown;
    let mark = match record.verdict.state {
        _ if record.measurement.is_none() => "",
        State::Invalid if record.fake => "fake, invalid",
        State::Invalid => "invalid",
        _ if record.fake => "fake",
        State::Suspect => "?",
        State::Valid => "",
    };
    mark.to_owned()
}

/// The share of the peak that bytes are limited by; if that is not known, of the compute peak.
fn main_share(measured: &Measurement) -> Option<&PeakFraction> {
    let share = |quantity| measured.metrics.peak_fractions.iter().find(|share| share.quantity == quantity);
    share(Link::quantity(measured.link)).or_else(|| share(Quantity::Compute(measured.data_type.clone())))
}

/// The share of the compute peak, if that is the one that binds.
fn compute_share(measured: &Measurement) -> Option<&PeakFraction> {
    measured.metrics.roofline.as_ref().filter(|roof| matches!(roof.quantity, Quantity::Compute(_)))
}

/// The part of the roof that limits the launch most: a narrow page has room for one.
fn binding_share(measured: &Measurement) -> Option<&PeakFraction> {
    compute_share(measured).or_else(|| main_share(measured))
}

/// Half the interval as a part of the median; infinite if there are too few samples for one.
fn half_width(time: &Summary) -> f64 {
    if time.samples < SMALLEST_SAMPLE { f64::INFINITY } else { time.relative_half_width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_has_the_rank_of_another() {
        let mut ranks: Vec<u8> = printed().map(|column| column.rank).filter(|rank| *rank > 0).collect();
        ranks.sort_unstable();
        assert!(ranks.iter().copied().eq(1..=ranks.len() as u8), "{ranks:?}");
    }
}
