//! The columns of the table: one list, which the printed table and the Markdown table share.

use self::CellFormat::{Number, Words};
use self::CellSource::{Measured, OfRow, OwnMetric};
use crate::text::{left, plain, right, shortened, width};
use crate::{devices, rows::TableRow};
use gpubench_records::{Counters, Measurement, NcuPass, Run, State, UserMetric};
use gpubench_stats::{Nanoseconds, format};

/// The source of a column's cells: a function of the row, a function of the measurement, or a metric of the benchmark's own. A cell without
/// a value is empty.
#[derive(Clone, Copy, Debug)]
enum CellSource {
    /// Of the row, which may show a failure.
    OfRow(fn(&TableRow<'_>) -> Option<String>),
    /// Of the measurement that the row shows; a row without one has an empty cell.
    Measured(fn(&Measurement) -> Option<String>),
    /// The benchmark's own metric of this name.
    OwnMetric(&'static str),
}

/// A column of the table, after the one with the case's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// The text above the printed column.
    pub head: &'static str,
    /// The head in Markdown, and the name in the line *columns left out*.
    pub title: &'static str,
    /// The name by which a user chooses the column; empty if users cannot choose it.
    name: &'static str,
    /// The width and alignment of its cells in the printed table.
    pub cell_format: CellFormat,
    /// The tables that have it.
    tables: Tables,
    /// True for a column that is left out where it would be empty.
    optional: bool,
    /// The rank in which columns fill a narrow page: those of a low rank get the width first. Columns of rank 0 are always shown.
    pub rank: u8,
    cell: CellSource,
}

impl Column {
    /// A column of both tables, which is left out where it would be empty.
    const fn new(head: &'static str, cell_format: CellFormat, rank: u8, cell: CellSource) -> Self {
        Self { head, title: head, name: head, cell_format, tables: Tables::Both, optional: true, rank, cell }
    }

    /// The same column with another head in Markdown.
    const fn with_title(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    /// The same column under another name for `--columns`; with an empty one, users cannot choose it.
    const fn with_name(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same column in these tables instead of both.
    const fn only(self, tables: Tables) -> Self {
        Self { tables, ..self }
    }

    /// Returns the cell of a row; empty if the row has no value.
    pub(super) fn cell(&self, row: &TableRow<'_>) -> String {
        let measured = row.shown.measurement.as_ref();
        let cell = match self.cell {
            OfRow(cell) => cell(row),
            Measured(cell) => measured.and_then(cell),
            OwnMetric(name) => measured.and_then(|it| {
                let metric = it.user_metrics.iter().find(|metric| metric.name == name)?;
                Some(plain(&format::metric(metric.value, &metric.unit)))
            }),
        };
        cell.unwrap_or_default()
    }

    /// The column of the benchmark's own metric `name`. Leaks the name, since columns are static.
    fn of_metric(name: &str) -> Self {
        Self::new(plain(name).leak(), Number(5, 4, 8), 4, OwnMetric(name.to_owned().leak()))
    }

    /// Returns the name of the metric, if it is the column of one.
    fn metric(&self) -> Option<&'static str> {
        if let OwnMetric(name) = self.cell { Some(name) } else { None }
    }

    /// Returns true for the same column: one with the same title, and for a benchmark's own metric with the same metric.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.title, self.metric()) == (other.title, other.metric())
    }

    /// Returns true if a table of these rows shows the column: if it is not optional, or if one of its cells
    /// is not empty.
    pub(super) fn is_used(&self, rows: &[TableRow<'_>]) -> bool {
        !self.optional || rows.iter().any(|row| !self.cell(row).is_empty())
    }

    /// The same column, also where it is empty.
    const fn always(self) -> Self {
        Self { optional: false, ..self }
    }
}

/// The tables that have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// The printed one and Markdown's.
    Both,
    /// The printed one.
    Printed,
    /// Markdown tables. The printed table has the column only if the user chooses it.
    Markdown,
    /// Neither, unless the user chooses the column.
    OnRequest,
}

/// The format of a time, such as `12.54 µs`.
const TIME_FORMAT: CellFormat = Number(3, 4, 3);
/// The terminal columns for the slowest device and its difference, such as `cuda:0 +12.5`.
const SLOWEST_WIDTH: usize = 13;
/// The format of a fraction of a peak and its name, such as `0.64 BF16 tensor`.
const PEAK_FORMAT: CellFormat = Number(3, 3, 12);

/// All columns except those of benchmarks' own metrics, in their order.
const ALL_COLUMNS: &[Column] = &[
    Column::new("", Words(4), 0, OfRow(|row| Some(row.shown.case.cache.to_string())))
        .with_title("cache")
        .with_name("")
        .always(),
    Column::new("time", TIME_FORMAT, 0, OfRow(time)).always(),
    Column::new("± %", Number(2, 3, 0), 1, OfRow(half_width))
        .with_title("95 % interval, ± %")
        .with_name("±")
        .always(),
    on_request("min", Measured(|it| Some(format::time(it.samples.time.min)))),
    on_request("p5", Measured(|it| Some(format::time(it.samples.time.p5)))),
    on_request("p50", Measured(|it| Some(format::time(it.median())))),
    on_request("p95", Measured(|it| Some(format::time(it.samples.time.p95)))),
    on_request("p99", Measured(|it| Some(format::time(it.samples.time.p99)))),
    on_request("max", Measured(|it| Some(format::time(it.samples.time.max)))),
    on_request("mean", Measured(|it| Some(format::time(it.samples.time.mean)))),
    on_request("call", Measured(|it| it.call_time.map(format::time))).with_title("host call"),
    on_request("first", Measured(|it| it.launch.first_launch_time.map(format::time)))
        .with_title("first launch"),
    Column::new("slowest %", Words(SLOWEST_WIDTH), 2, OfRow(|row| row.slowest().map(without_unit)))
        .with_title("slowest device, %")
        .with_name("slowest")
        .only(Tables::Printed),
    Column::new("range %", Number(4, 3, 0), 6, OfRow(|row| row.range().map(without_unit)))
        .with_title("range of devices, %")
        .with_name("range")
        .only(Tables::Printed),
    Column::new(SPREAD_TITLE, Words(BAR_CELLS), 7, Measured(spread_bar)).only(Tables::Printed).always(),
    Column::new("GB/s", Number(4, 3, 0), 5, Measured(|it| it.metrics.bandwidth.map(format::gigabytes))),
    Column::new("% of peak", PEAK_FORMAT, 4, OfRow(|row| devices::peak_cell(row.shown).map(without_unit)))
        .with_name("peak"),
    Column::new("GFLOP/s", Number(5, 3, 0), 8, Measured(|it| it.metrics.throughput.map(format::gigaflops))),
    Column::new("items", Number(3, 3, 18), 10, Measured(items)),
    Column::new("cold/hot", Number(4, 3, 1), 9, Measured(|it| it.metrics.cold_over_hot.map(format::ratio))),
    // Which launches are short is known only after they were measured. A printed column that appears then needs
    // new heads in the middle of a group.
    on_request("back-to-back", Measured(|it| it.samples.back_to_back.map(format::time)))
        .only(Tables::Markdown),
    Column::new(
        "energy",
        Number(4, 3, 3),
        11,
        Measured(|it| it.energy.as_ref()?.per_launch().map(format::energy)),
    ),
    Column::new("DRAM bytes", Number(4, 3, 3), 12, Measured(|it| counters(it)?.moved().map(format::bytes)))
        .with_name("moved"),
    Column::new("L2 hit", Number(3, 3, 2), 13, Measured(|it| counters(it)?.l2_hit.map(format::percent)))
        .with_name("L2-hit"),
    Column::new("processes", Words(25), 3, OfRow(processes)),
    Column::new("samples", Number(7, 0, 0), 14, Measured(|it| Some(it.samples.time.samples.to_string())))
        .always(),
    Column::new("", Number(0, 0, 0), 0, OfRow(verdict_mark))
        .with_title("verdict")
        .with_name("")
        .only(Tables::Markdown)
        .always(),
];

/// The titles of the columns that are after those of benchmarks' own metrics. All other columns are before these.
const LAST_COLUMNS: [&str; 2] = ["samples", "verdict"];

/// Returns a column of a time that is shown only if the user chooses it.
const fn on_request(name: &'static str, cell: CellSource) -> Column {
    Column::new(name, TIME_FORMAT, 0, cell).only(Tables::OnRequest)
}

/// Checks names of columns.
///
/// # Errors
/// Returns the first unknown name, and lists all that there are.
pub fn check(names: &[String]) -> Result<(), String> {
    let Some(unknown) = names.iter().find(|name| column_named(name).is_none()) else { return Ok(()) };
    let known = ALL_COLUMNS.iter().map(|column| column.name).filter(|name| !name.is_empty());
    Err(format!("--columns: unknown column `{unknown}`: choose from {}", format::joined(known, ", ")))
}

/// Returns the column that the user calls `name`, in any case of letters; `None` if there is none.
fn column_named(name: &str) -> Option<&'static Column> {
    ALL_COLUMNS.iter().find(|column| !name.is_empty() && column.name.eq_ignore_ascii_case(name))
}

/// Adds the columns of the own metrics of `rows` that are not among `columns` yet, before the [`LAST_COLUMNS`] at the end.
pub(super) fn add_metrics(columns: &mut Vec<Column>, rows: &[TableRow<'_>]) {
    let measured = rows.iter().filter_map(|row| row.shown.measurement.as_ref());
    for UserMetric { name, .. } in measured.flat_map(|it| &it.user_metrics) {
        if !columns.iter().any(|column| column.metric() == Some(name)) {
            let after =
                columns.iter().rev().take_while(|column| LAST_COLUMNS.contains(&column.title)).count();
            columns.insert(columns.len() - after, Column::of_metric(name));
        }
    }
}

/// The columns of the Markdown table of `run`.
pub(super) fn markdown_columns(run: &Run) -> Vec<Column> {
    let rows: Vec<TableRow<'_>> = run.records.iter().map(TableRow::from_record).collect();
    let mut columns = columns(run, Tables::Markdown);
    add_metrics(&mut columns, &rows);
    columns.retain(|column| column.is_used(&rows));
    columns
}

/// The columns of a table without those of benchmarks' own metrics. Columns that the user chooses replace all
/// that have a name. On a narrow page, the last one that was chosen is dropped first.
pub(super) fn columns(run: &Run, tables: Tables) -> Vec<Column> {
    let mut columns = ALL_COLUMNS.to_vec();
    columns.retain(|column| column.tables == tables || column.tables == Tables::Both);
    if !run.columns.is_empty() {
        columns.retain(|column| column.name.is_empty());
        let chosen = (0..=u8::MAX).zip(run.columns.iter().filter_map(|name| column_named(name)));
        // After the cache state, and before the verdict.
        columns.splice(1..1, chosen.map(|(rank, column)| Column { rank, ..column.always() }));
    }
    columns
}

/// Returns the hardware counters of Nsight Compute, if they were read.
fn counters(measured: &Measurement) -> Option<&Counters> {
    match measured.verification.as_ref()?.ncu.as_ref()? {
        NcuPass::Counted(counters) => Some(counters),
        NcuPass::Failed(_) => None,
    }
}

/// Returns the cell `time`: the median, or `failed` without a measurement.
fn time(row: &TableRow<'_>) -> Option<String> {
    let time = row.shown.measurement.as_ref().map(|measured| format::time(measured.median()));
    Some(time.unwrap_or_else(|| "failed".to_owned()))
}

/// Returns the cell `± %`: half of the 95 % interval, as a percentage of the median. `None` without a measurement.
fn half_width(row: &TableRow<'_>) -> Option<String> {
    row.shown.measurement.as_ref().map(|_| without_unit(format::plus_minus(row.shown.half_width())))
}

/// Removes `± ` and ` %` from a cell, because the column's head has them.
fn without_unit(cell: String) -> String {
    cell.trim_start_matches("± ").replace(" %", "")
}

/// Returns the cell `processes`: the number of processes and the range of their medians, such as `5: 320.0 µs to 332.8 µs`. `None`
/// for one process.
fn processes(row: &TableRow<'_>) -> Option<String> {
    let (range, processes) = row.shown.processes()?;
    Some(format!("{processes}: {}", format::from_to(range, format::time)))
}

/// Returns the cell `items`: the rate of items with their name.
fn items(measured: &Measurement) -> Option<String> {
    let item = measured.item.as_deref().map_or_else(|| "items".to_owned(), plain);
    measured.metrics.items_per_second.map(|rate| format::items(rate, &item))
}

/// Returns the verdict column of a result in Markdown. Empty for a valid result of a real device, and for a
/// failed result, since the column of the time shows the failure.
fn verdict_mark(row: &TableRow<'_>) -> Option<String> {
    let record = row.shown;
    let mark = match record.verdict.state {
        _ if record.measurement.is_none() => "",
        State::Invalid if record.fake => "fake, invalid",
        State::Invalid => "invalid",
        _ if record.fake => "fake",
        State::Suspect => "?",
        State::Valid => "",
    };
    Some(mark.to_owned())
}

/// The width and alignment of the cells of a column, in terminal columns. It does not depend on the rows, so
/// that a row can be printed before the next is measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum CellFormat {
    /// Left-aligned text of this width.
    Words(usize),
    /// A number, aligned at its decimal point: the widths before the point, from the point on, and of the unit.
    Number(usize, usize, usize),
}

impl CellFormat {
    /// The number of terminal columns.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Words(width) => width,
            Self::Number(whole, fraction, unit) => whole + fraction + unit,
        }
    }

    /// Returns true for numbers.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Number(..))
    }

    /// Aligns the head of the column: to the right above numbers with a short unit, else to the left.
    pub(super) fn head(self, head: &str) -> String {
        match self {
            Self::Number(_, _, ..=MAX_SHORT_UNIT) => right(head, self.width()),
            _ => left(head, self.width()),
        }
    }

    /// Pads `cell` to the width of the column, with decimal points below each other if numbers are short
    /// enough. If `cell` is too long, a number without a unit gets an exponent, and any other text is
    /// shortened.
    pub(super) fn fit(self, cell: &str) -> String {
        let Self::Number(whole, fraction, unit) = self else {
            return left(&shortened(cell, self.width()), self.width());
        };
        // A number without its middle would be another number.
        let exponent = cell.parse::<f64>().ok().filter(|_| width(cell) > self.width());
        let cell = exponent.map_or_else(|| shortened(cell, self.width()), |number| format!("{number:.0e}"));
        let cell = &*cell;
        let Some(point) = end_of_whole_part(cell).filter(|_| exponent.is_none()) else {
            return left(&right(cell, whole + fraction), self.width());
        };
        let (before, behind) = cell.split_at(point);
        let digits = behind.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(behind.len());
        let (behind, after) = behind.split_at(digits);
        // A long number takes the room of digits that it does not have.
        let before = right(before, whole);
        let spare = (whole + fraction + unit).saturating_sub(width(&before) + width(after));
        left(&format!("{before}{}{after}", left(behind, fraction.min(spare))), self.width())
    }
}

/// The most terminal columns of a unit for which the column's head is aligned to the right.
const MAX_SHORT_UNIT: usize = 4;

/// Returns the byte index after the first digits of `cell`, where a decimal point would be; `None` for text
/// without digits.
fn end_of_whole_part(cell: &str) -> Option<usize> {
    let first = cell.find(|c: char| c.is_ascii_digit())?;
    let digits = cell[first..].find(|c: char| !c.is_ascii_digit());
    Some(digits.map_or(cell.len(), |digits| first + digits))
}

/// The title of the column of histograms.
pub(super) const SPREAD_TITLE: &str = "spread";
/// The number of characters of a histogram.
const BAR_CELLS: usize = 7;

/// The limits between a histogram's cells, as distances from the median in fractions of it. A sample on a limit belongs to the
/// faster cell.
const BAR_CELL_LIMITS: [f64; BAR_CELLS - 1] = [-0.05, -0.01, -0.002, 0.002, 0.01, 0.05];

/// The sentence that explains the interval and the histogram.
pub(super) const SPREAD_MEANING: &str = "± %: half of the 95 % interval of the median, with the timer's random errors; spread: a histogram of the samples: in the \
                                  middle within 0.2 % of the median, outwards within 1 %, 5 %, and more";

/// The character of a histogram's cell without samples.
const EMPTY_BAR_CELL: char = '·';
/// The characters of a histogram's cells, in eighths of all samples.
const BAR_HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the histogram of the stall-corrected samples around the median, one character for each of
/// [`BAR_CELLS`]. `None` if the median is not above zero or the samples are not stored.
fn spread_bar(measured: &Measurement) -> Option<String> {
    let median = measured.median();
    // DRAM stalls are reported for the device, and not for each result.
    let times = measured.samples.stall_corrected();
    if median <= Nanoseconds::ZERO || times.is_empty() {
        return None;
    }
    let mut counts = [0_usize; BAR_CELLS];
    for time in &times {
        let off = *time / median - 1.0;
        counts[BAR_CELL_LIMITS.partition_point(|band| *band < off)] += 1;
    }
    Some(counts.iter().map(|count| bar_character(*count, times.len())).collect())
}

/// Returns the character of a histogram's cell with `count` of `all` samples. Eighths are rounded up, so that a single sample
/// is visible.
fn bar_character(count: usize, all: usize) -> char {
    let eighths = (BAR_HEIGHTS.len() * count).div_ceil(all);
    eighths.checked_sub(1).map_or(EMPTY_BAR_CELL, |height| BAR_HEIGHTS[height])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_column_has_the_rank_of_another() {
        let mut ranks: Vec<u8> =
            ALL_COLUMNS.iter().map(|column| column.rank).filter(|rank| *rank > 0).collect();
        ranks.sort_unstable();
        assert!(ranks.iter().copied().eq(1..=ranks.len() as u8), "{ranks:?}");
    }

    #[test]
    fn decimal_points_stand_under_each_other() {
        let shown = ["12.54 µs", "601.1 ns", "1000 µs", "4.473 ms", "-3.000 ns", "failed"]
            .map(|it| Number(3, 4, 3).fit(it));
        assert_eq!(
            shown,
            [" 12.54  µs", "601.1   ns", "1000    µs", "  4.473 ms", " -3.000 ns", " failed   "]
        );
        let shares = ["93.1 % DRAM", "0.64 % bf16 tensor", "102 % L2"];
        let shown = shares.map(|it| Number(3, 3, 14).fit(it));
        assert_eq!(shown, [" 93.1  % DRAM       ", "  0.64 % bf16 tensor", "102    % L2         "]);
        let room = Number(4, 3, 2);
        assert_eq!(
            ["± 0.42 %", "± 99.99 %", "± 150 %", "± ?"].map(|it| room.fit(it)),
            [" ± 0.42 %", "± 99.99 %", "± 150   %", "    ± ?  "]
        );
    }

    #[test]
    fn a_number_without_room_is_rounded_and_keeps_its_size() {
        let shown = Number(4, 3, 0).fit("701210196");
        assert_eq!(shown.replace(' ', "").parse(), Ok(7e8), "{shown}");
    }

    #[test]
    fn a_few_samples_are_seen_and_all_are_the_highest() {
        let heights = [0, 1, 13, 50, 100].map(|count| bar_character(count, 100));
        assert_eq!(heights, ['·', '▁', '▂', '▄', '█']);
    }
}
