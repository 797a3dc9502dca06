//! The results as rows in columns, printed as they are measured: the same lines for a stored run as for a live one.

use std::fmt::Write;

use super::columns::{Column, SPREAD_MEANING, SPREAD_TITLE, Tables, add_metrics, columns};
use super::devices::serving_cache;
use super::rows::{self, DeviceGroup, Note, Notes, TableRow, grouped};
use super::text::{
    BOLD, Page, left, paragraph, plain, shortened, spaces, split_path, state_style, styled, width, wrapped,
};
use gpubench_records::{Arg, PlannedCase, Record, Run, State, Verdict, id::shown_name};
use gpubench_stats::{Map, Set};

/// The terminal columns of the verdict's mark before a name, such as `! `.
const VERDICT_MARK_WIDTH: usize = 2;
/// The spaces before a column, and one more time after the name.
const COLUMN_GAP: usize = 1;
/// The terminal columns reserved after a row for the numbers of its reasons, such as `[1]`. Numbers that do not fit behind a space are
/// on the next line, at its end.
const NOTE_NUMBERS_WIDTH: usize = 6;
/// The text after the rows of a fake device.
const FAKE_SUFFIX: &str = " fake";
/// The minimum width of the name column for long names, in terminal columns. It is a quarter of the page if that is more.
const MIN_NAME_WIDTH: usize = 16;
/// The spaces before a reason under its row.
const REASON_INDENT: usize = 4;
/// The sentence that explains intervals of rows that several processes measured.
const PROCESSES_MEANING: &str =
    "± % of several processes: the median of one more process is within this with a probability of 95 %";

/// The sentence that explains a cell without a number.
const UNKNOWN_MEANING: &str = "`?` in place of a number: unknown, or ± 100 % or more";

/// The table of a run as text. A benchmark binary adds rows while it measures, and [`render`](crate::render) adds all rows of a stored
/// run. It returns text and prints nothing.
#[derive(Debug, Default)]
pub struct TableWriter {
    page: Page,
    /// The terminal columns of the longest name.
    longest: usize,
    /// The names of the planned cases of each group.
    names: Map<GroupKey, Set<String>>,
    /// The smallest width, in terminal columns, at which the shortened names of the current group still differ.
    distinct: usize,
    /// The label of each device, which has the names of all devices of its model, such as `cuda:0, cuda:1`.
    labels: Map<String, String>,
    several_models: bool,
    fake: bool,
    notes: Notes,
    /// The columns that the table may have.
    columns: Vec<Column>,
    /// The columns that the rows of the current group have needed so far.
    used: Vec<Column>,
    layout: ColumnLayout,
    /// The group of the row that was printed last.
    group: Option<GroupKey>,
    /// The number of planned cases of each group that are not printed yet. Empty on one device: its rows wait for no others.
    left: Map<GroupKey, usize>,
    /// The records of rows that wait, in the order in which their groups began.
    waiting: Vec<(GroupKey, Vec<Vec<Record>>)>,
    /// The columns that were left out so far for lack of room.
    dropped: Vec<&'static str>,
    /// The sentences that explain cells of the rows so far.
    meanings: Vec<String>,
    /// The verdict and the number of further processes of each record when its row was added.
    printed: Map<PlannedCase, (Verdict, usize)>,
}

/// The module and the device label of a group of rows. Each group begins with a line of column heads.
type GroupKey = (String, String);

/// The columns that the page has room for, and the width of the name column.
#[derive(Debug, Default)]
struct ColumnLayout {
    /// The terminal columns of the name column.
    name: usize,
    columns: Vec<Column>,
}

impl ColumnLayout {
    /// Returns true if the page has room for this column.
    fn contains(&self, column: &Column) -> bool {
        self.columns.iter().any(|other| other.is(column))
    }
}

impl TableWriter {
    /// Creates a table without rows. It reads the devices and the chosen columns of `run`, not its records. `planned` are the cases
    /// that the run will have, whose names determine the widths.
    pub fn new(run: &Run, planned: impl Iterator<Item = PlannedCase>, page: Page) -> Self {
        let (columns, fake) = (columns(run, Tables::Printed), run.devices.iter().any(|info| info.fake));
        let mut table = Self { page, columns, fake, ..Self::default() };
        for DeviceGroup { info, label } in DeviceGroup::by_key(run, |info| (&info.name, info.fake)) {
            table.labels.extend(info.into_iter().map(|info| (info.device.clone(), label.clone())));
        }
        for case in planned {
            let (module, name) = split(&case.benchmark, &case.args);
            table.longest = table.longest.max(width(&name));
            let group = (module, table.labels.or_insert(case.device.clone(), case.device).clone());
            *table.left.or_insert(group.clone(), 0) += 1;
            table.names.or_insert(group, Set::default()).insert(name);
        }
        if table.labels.len() < 2 {
            table.left = Map::default();
        }
        table.several_models = table.labels.iter().map(|(_, label)| label).collect::<Set<_>>().len() > 1;
        table
    }

    /// Adds the rows of `records`, which are of one benchmark with its arguments: hot, cold or both, on one
    /// device or several. Returns the rows that can be printed now, and after them the reasons against them.
    /// Jobs on several devices end in any order: the rows of a new group wait until the current group is
    /// complete. [`end`](crate::end) has those that still wait.
    pub fn rows(&mut self, records: &[&Record]) -> String {
        self.printed.extend(records.iter().map(|record| (record.planned(), verdict_and_processes(record))));
        let groups = records.iter().enumerate().map(|(number, record)| (self.group_of(record), number));
        for (group, numbers) in grouped(groups) {
            let row = numbers.into_iter().map(|number| *records[number].boxed_clone()).collect();
            match self.waiting.iter_mut().find(|(other, _)| *other == group) {
                Some((_, rows)) => rows.push(row),
                None => self.waiting.push((group, vec![row])),
            }
        }
        self.take_printable_rows()
    }

    /// Returns all rows that still wait for others. Rows that are added later do not wait.
    pub(super) fn waiting_rows(&mut self) -> String {
        self.left = Map::default();
        self.take_printable_rows()
    }

    /// Removes and returns the rows that can be printed: those of the current group, and once it is complete
    /// those of the next.
    fn take_printable_rows(&mut self) -> String {
        let mut text = String::new();
        loop {
            let is_left = |group: &&GroupKey| self.left.get(*group).is_some_and(|left| *left > 0);
            let next = match self.group.as_ref().filter(is_left) {
                Some(group) => self.waiting.iter().position(|(other, _)| other == group),
                None => (!self.waiting.is_empty()).then_some(0),
            };
            let Some(next) = next else { return text };
            let (group, rows) = self.waiting.remove(next);
            for records in rows {
                let left = self.left.or_insert(group.clone(), 0);
                *left = left.saturating_sub(records.len());
                text += &self.rows_of_group(&records, &group);
            }
        }
    }

    /// Returns the group whose rows the record belongs to: its module, and the label of its device, which is empty for an unknown
    /// device.
    fn group_of(&self, record: &Record) -> GroupKey {
        let (module, _) = split(&record.case.benchmark, &record.case.args);
        (module, self.labels.get(&record.device).cloned().unwrap_or_default())
    }

    /// Returns the rows of `run` whose cases further processes measured after they were printed. Their notes
    /// replace the earlier ones. Empty if no row changed.
    pub(super) fn replaced_rows(&mut self, run: &Run) -> String {
        let is_replaced = |record: &&Record| {
            let printed = self.printed.get(&record.planned());
            printed.is_some_and(|printed| *printed != verdict_and_processes(record))
        };
        let mut replaced = rows::records_by_benchmark(run);
        replaced.retain(|records| records.iter().any(is_replaced));
        if replaced.is_empty() {
            return String::new();
        }
        let mut text = paragraph("measured again; these results replace those above:", self.page);
        self.group = None;
        if self.labels.len() > 1 {
            for record in replaced.iter().flatten() {
                *self.left.or_insert(self.group_of(record), 0) += 1;
            }
        }
        for records in replaced {
            records.iter().for_each(|record| self.notes.forget(&record.case));
            text += &self.rows(&records);
        }
        text
    }

    /// Returns the rows of `records`, with the group's heads if the group or the columns change, and the
    /// reasons under them.
    fn rows_of_group(&mut self, records: &[Record], group: &GroupKey) -> String {
        let rows = TableRow::all(records);
        let is_new = self.group.as_ref() != Some(group);
        let mut text = String::new();
        if is_new && self.group.is_some() {
            text.push('\n');
        }
        if is_new {
            self.used.clear();
            self.distinct = self.names.get(group).map_or(0, |names| self.distinct_width(names));
        }
        let has_new_columns = self.update_columns(&rows);
        if is_new || has_new_columns {
            text += &self.heads(is_new.then_some(group));
        }
        self.group = Some(group.clone());
        let (lines, reasons): (String, String) = rows.iter().map(|row| self.row_and_reasons(row)).unzip();
        text + &lines + &reasons
    }

    /// Adds the columns that `rows` need and computes the layout anew. Returns true if the printed columns
    /// change.
    fn update_columns(&mut self, rows: &[TableRow<'_>]) -> bool {
        add_metrics(&mut self.columns, rows);
        let is_used = |column: &&Column| self.used.iter().any(|used| used.is(column)) || column.is_used(rows);
        self.used = self.columns.iter().filter(is_used).copied().collect();
        let layout = self.layout();
        let is_same = layout.columns.len() == self.layout.columns.len()
            && layout.columns.iter().all(|column| self.layout.contains(column));
        for column in &self.used {
            if !layout.contains(column) && !self.dropped.contains(&column.title) {
                self.dropped.push(column.title);
            }
        }
        self.layout = layout;
        !is_same
    }

    /// Computes the columns that fit after a name, those of the lowest rank first; those of rank 0 always count
    /// as fitting. The name gets the remaining width, up to the longest name.
    fn layout(&self) -> ColumnLayout {
        let needs = |column: &Column| COLUMN_GAP + column.cell_format.width();
        let always = self.used.iter().filter(|column| column.rank == 0).map(needs);
        let taken = VERDICT_MARK_WIDTH
            + COLUMN_GAP
            + always.sum::<usize>()
            + NOTE_NUMBERS_WIDTH
            + FAKE_SUFFIX.len() * usize::from(self.fake);
        let room = self.page.width().saturating_sub(taken);
        let least = self.longest.min(self.distinct.max(min_name_width(self.page.width()))).min(room);
        let mut free = room - least;
        let mut layout = ColumnLayout { name: 0, columns: self.used.clone() };
        gpubench_stats::sort_by_key(&mut layout.columns, |column| column.rank);
        layout.columns.retain(|column| {
            let needs = if column.rank == 0 { 0 } else { needs(column) };
            let fits = needs <= free;
            free -= if fits { needs } else { 0 };
            fits
        });
        let columns = self.used.iter().filter(|column| layout.contains(column)).copied().collect();
        ColumnLayout { name: self.longest.min(least + free), columns }
    }

    /// Returns the smallest width, from the minimum width of a name on, at which all shortened `names`
    /// differ. If there is none, returns the width of the longest name of the table.
    fn distinct_width(&self, names: &Set<String>) -> usize {
        let differ = |columns: &usize| {
            let mut seen = Set::default();
            names.iter().all(|name| seen.insert(shortened(name, *columns)))
        };
        (min_name_width(self.page.width())..self.longest).find(differ).unwrap_or(self.longest)
    }

    /// Returns the line of column heads. With a new `group`, its title is before the heads, or on its own line
    /// if there is no room. `None` if the group is the same and only the columns have changed.
    fn heads(&self, group: Option<&GroupKey>) -> String {
        let mut title = match group {
            Some((module, device)) if self.several_models => format!("{module} on {}", plain(device)),
            Some((module, _)) => module.clone(),
            None => String::new(),
        };
        let mut heads = String::new();
        for column in &self.layout.columns {
            heads += &spaces(COLUMN_GAP);
            heads += &column.cell_format.head(column.head);
        }
        let heads = heads.trim_end();
        let room =
            VERDICT_MARK_WIDTH + COLUMN_GAP + self.layout.name + heads.len() - heads.trim_start().len();
        let mut text = String::new();
        // Writing to a string cannot fail.
        if width(&title) >= room {
            _ = writeln!(text, "{BOLD}{}{BOLD:#}", shortened(&title, self.page.width()));
            title.clear();
        }
        let blank = spaces(room - width(&title));
        _ = writeln!(text, "{BOLD}{title}{BOLD:#}{blank}{}", heads.trim_start());
        text
    }

    /// Returns the line of a row, and the lines of the reasons against it. Counts the reasons, and adds the sentences that
    /// explain its cells to `meanings`.
    fn row_and_reasons(&mut self, row: &TableRow<'_>) -> (String, String) {
        let notes = self.notes.notes_of(row);
        let mark = match row.state() {
            State::Valid => "  ",
            State::Suspect => "? ",
            State::Invalid => "! ",
        };
        let (_, name) = split(&row.shown.case.benchmark, &row.shown.case.args);
        let name = shortened(&name, self.layout.name);
        let mut line = format!("{mark}{}", left(&name, self.layout.name + COLUMN_GAP));
        let (mut has_bar, mut has_unknown) = (false, false);
        for column in &self.layout.columns {
            let cell = column.cell(row);
            has_bar |= column.title == SPREAD_TITLE && !cell.is_empty();
            has_unknown |= cell == "?";
            line += &spaces(COLUMN_GAP);
            line += &column.cell_format.fit(&cell);
        }
        self.explain(row.has_several_devices(), rows::DEVICE_ROWS_MEANING);
        self.explain(has_bar, SPREAD_MEANING);
        self.explain(has_unknown, UNKNOWN_MEANING);
        self.explain(!row.shown.other_processes.is_empty(), PROCESSES_MEANING);
        if let Some(cache) = serving_cache(row.shown) {
            let meaning = "in place of a % of peak: the cache served the data, faster than memory can";
            self.explain(true, &format!("{cache} {meaning}"));
        }
        if row.shown.fake {
            line += FAKE_SUFFIX;
        }
        let numbers: String = notes.iter().map(|note| format!("[{}]", note.number)).collect();
        let room = self.page.width().saturating_sub(width(&numbers));
        if !numbers.is_empty() {
            let cells = if width(&line) < room { &line } else { line.trim_end() };
            let gap = if width(cells) < room { " " } else { &format!("\n{}", spaces(room)) };
            line = format!("{cells}{gap}{numbers}");
        }
        (styled(&[line], state_style(row.state())), self.reason_lines(&notes))
    }

    /// Adds `meaning` to the sentences that explain cells if a row `has` such cells, unless the sentence is there already.
    fn explain(&mut self, has: bool, meaning: &str) {
        if has && self.meanings.iter().all(|known| known != meaning) {
            self.meanings.push(meaning.to_owned());
        }
    }

    /// Returns the lines of the reasons that no earlier row had, or had with other figures.
    fn reason_lines(&self, notes: &[Note]) -> String {
        let mut text = String::new();
        for Note { number, state, text: words } in notes {
            let Some(words) = words else { continue };
            let begin = format!("{}[{number}] ", spaces(REASON_INDENT));
            text += &styled(&wrapped(words, &begin, self.page), state_style(*state));
        }
        text
    }

    /// Returns the lines that explain the rows: device ranges, histogram, columns left out, shared reasons.
    /// Empty if nothing was printed.
    pub(super) fn closing_lines(&self) -> String {
        if self.group.is_none() {
            return String::new();
        }
        let mut lines = self.meanings.clone();
        if !self.dropped.is_empty() {
            let dropped = self.dropped.join(", ");
            lines.push(format!(
                "columns left out, since they do not fit: {dropped} (widen the terminal, or use --csv)"
            ));
        }
        lines.extend(self.notes.shared());
        lines.iter().map(|line| paragraph(line, self.page)).collect()
    }
}

/// Returns the parts of a record that further processes change: its verdict and the number of its other processes.
fn verdict_and_processes(record: &Record) -> (Verdict, usize) {
    (record.verdict.clone(), record.other_processes.len())
}

/// Returns the minimum width of a long name on a page of this width, in terminal columns.
fn min_name_width(page: usize) -> usize {
    MIN_NAME_WIDTH.max(page / 4)
}

/// Returns a case's module, and its name within it, both without control characters. The module is empty if the path of the
/// benchmark has none.
pub(super) fn split(benchmark: &str, args: &[Arg]) -> (String, String) {
    let name = shown_name(benchmark, args);
    let Some((module, _)) = split_path(benchmark) else { return (String::new(), plain(&name)) };
    let short = name.strip_prefix(module).and_then(|name| name.strip_prefix("::"));
    (plain(module), plain(short.unwrap_or(&name)))
}
