//! Text that fits the width of a page: wrapped lines, shortened names, aligned columns, and the colours of verdicts and answers.

use std::{env, ops::Range, os::fd::AsFd};

use anstyle::{AnsiColor, Style};
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSplitter, wrap};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use gpubench_records::{Answer, State};
use gpubench_stats::format::joined;

pub use gpubench_records::text::{printable as plain, printable_lines as plain_lines};

/// The width of lines. By default lines have no end, as in a file or a pipe: nothing is left out or shortened there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The number of columns of a line; `None` if lines have no end.
    width: Option<usize>,
}

impl Page {
    /// The least number of columns of a line, in terminal columns: below it, a row has no room for a name and a time. Narrower pages
    /// are made this wide.
    pub const LEAST_WIDTH: usize = 40;

    /// Returns the page of `out`: as wide as `width`, else as the variable `COLUMNS`, else as the terminal, else without an end to its lines.
    pub fn of(out: &impl AsFd, width: Option<usize>) -> Self {
        let terminal = || terminal_size_of(out).map(|(Width(columns), _)| usize::from(columns));
        let width = width.or_else(width_from_environment).or_else(terminal);
        width.map_or_else(Self::default, |columns| Self::default().with_width(columns))
    }

    /// The same page with lines of `columns`, or of [`LEAST_WIDTH`](Self::LEAST_WIDTH) if that is more.
    #[must_use]
    pub fn with_width(mut self, columns: usize) -> Self {
        self.width = Some(columns.max(Self::LEAST_WIDTH));
        self
    }

    /// Returns the number of columns of a line; the greatest number if lines have no end.
    pub(super) fn width(self) -> usize {
        self.width.unwrap_or(usize::MAX)
    }
}

/// Returns the width that the variable `COLUMNS` states; `None` if it is not set, not a number, or less than
/// the least width.
fn width_from_environment() -> Option<usize> {
    let columns = env::var("COLUMNS").ok()?.parse().ok()?;
    Some(columns).filter(|columns| *columns >= Page::LEAST_WIDTH)
}

/// Splits the path of a benchmark into its modules and its name; `None` if it has no modules. Separators at
/// its end, which only a file from another program has, belong to the name.
pub fn split_path(path: &str) -> Option<(&str, &str)> {
    let at = path[..path.trim_end_matches(':').len()].rfind("::")?;
    Some((&path[..at], &path[at + 2..]))
}

/// The parts that are not empty, with a blank line between them.
pub(super) fn join_sections(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The number of terminal columns of `text`.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Returns `text` with `…` in place of its middle, so that it fits into this many terminal columns; unchanged if it fits already.
pub fn shortened(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let left = columns.saturating_sub(1);
    let begin = first_columns(text.chars(), left.div_ceil(2));
    let end = first_columns(text.chars().rev(), left / 2);
    format!("{begin}…{}", end.chars().rev().collect::<String>())
}

/// Returns the first of `chars` that fit into this many terminal columns.
fn first_columns(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// Returns `text` with spaces after it up to this many terminal columns; unchanged if it is longer.
pub(super) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", spaces(columns.saturating_sub(width(text))))
}

/// Returns `text` with spaces before it up to this many terminal columns; unchanged if it is longer.
pub(super) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", spaces(columns.saturating_sub(width(text))))
}

/// Returns this many spaces.
pub(super) fn spaces(number: usize) -> String {
    " ".repeat(number)
}

/// Wraps `text` to lines of `page`, without line ends. The first begins with `first`, and the others with spaces of the same width, or two
/// more if `first` is blank.
pub fn wrapped(text: &str, first: &str, page: Page) -> Vec<String> {
    let hanging = spaces(width(first) + if first.trim().is_empty() { 2 } else { 0 });
    let options = Options::new(page.width())
        .initial_indent(first)
        .subsequent_indent(&hanging)
        .word_splitter(WordSplitter::NoHyphenation);
    let text = with_whole_quantities(text);
    wrap(&text, options).iter().map(|line| line.trim_end().replace(NO_BREAK_SPACE, " ")).collect()
}

/// A space at which lines are not wrapped; replaced by a normal space afterwards.
const NO_BREAK_SPACE: char = '\u{a0}';

/// Puts a space without a line break between each number and a known unit, and after each `±`.
fn with_whole_quantities(text: &str) -> String {
    const UNITS: [&str; 18] = [
        "%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "GB/s", "TB/s", "GFLOP/s", "TFLOP/s", "GOP/s",
        "TOP/s", "MHz", "W", "J",
    ];
    let mut words = text.split(' ').peekable();
    let mut joined = String::with_capacity(text.len());
    while let Some(word) = words.next() {
        joined += word;
        let Some(next) = words.peek() else { break };
        let is_number = word.ends_with(|end: char| end.is_ascii_digit()) || word == "±";
        let unit = next.trim_end_matches([',', '.', ';', ':', ')', ']']);
        joined.push(if is_number && (word == "±" || UNITS.contains(&unit)) { NO_BREAK_SPACE } else { ' ' });
    }
    joined
}

/// Wraps each line of `text` to `page`, keeps its indent, and shows control characters by their codes. Each line of the result has a line
/// end.
pub fn paragraph(text: &str, page: Page) -> String {
    let lines = text.lines().flat_map(|line| {
        let indent = line.len() - line.trim_start().len();
        wrapped(&plain(line.trim_start()), &line[..indent], page)
    });
    lines.map(|line| line + "\n").collect()
}

/// The indent of the rows.
const INDENT: usize = 2;
/// The space between columns.
const GAP: usize = 2;

/// Returns the lines of each row, indented, with the columns `numbers` (indices of cells) aligned to the right. A row is one line; if
/// `page` has no room for the longest, each row has its first cell on a line of its own, and the others under it.
pub fn columns(rows: &[Vec<String>], numbers: Range<usize>, page: Page) -> Vec<Vec<String>> {
    let number = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..number).map(|column| widest(column).unwrap_or_default()).collect();
    let lines: Vec<String> = rows.iter().map(|row| line(row, &widths, &numbers)).collect();
    if lines.iter().all(|line| width(line) <= page.width()) {
        return lines.into_iter().map(|line| vec![line]).collect();
    }
    rows.iter().map(|row| stacked(row, page)).collect()
}

/// Returns a row as one line, its cells padded to `widths`.
fn line(row: &[String], widths: &[usize], numbers: &Range<usize>) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
        if numbers.contains(&column) { right(cell, *width) } else { left(cell, *width) }
    });
    let line = spaces(INDENT) + &joined(cells, &spaces(GAP));
    line.trim_end().to_owned()
}

/// Returns a row as several lines: the first cell, and the others that are not empty, indented under it.
fn stacked(row: &[String], page: Page) -> Vec<String> {
    let Some((name, cells)) = row.split_first() else { return Vec::new() };
    let mut lines = wrapped(name, &spaces(INDENT), page);
    let cells: Vec<&str> = cells.iter().map(|cell| &**cell).filter(|cell| !cell.is_empty()).collect();
    lines.extend(wrapped(&cells.join(&spaces(GAP)), &spaces(2 * INDENT), page));
    lines
}

/// The style of headings.
pub const BOLD: Style = Style::new().bold();
/// The style of warnings.
pub const NOTE: Style = AnsiColor::Yellow.on_default();

/// Returns the style of a result with this state.
pub fn state_style(state: State) -> Style {
    match state {
        State::Valid => Style::new(),
        State::Suspect => NOTE,
        State::Invalid => AnsiColor::Red.on_default(),
    }
}

/// Returns the style of a comparison with this answer.
pub fn answer_style(answer: Answer) -> Style {
    match answer {
        Answer::Same => Style::new(),
        Answer::Undecided => NOTE,
        Answer::Faster => AnsiColor::Green.on_default(),
        Answer::Slower => AnsiColor::Red.on_default(),
    }
}

/// Returns a line with a bold heading and `rest` after it. If `page` has no room for both in a line, wraps them to lines that are all bold.
pub fn heading(heading: &str, rest: &str, page: Page) -> String {
    let line = format!("{heading}{rest}");
    if width(&line) <= page.width() {
        return format!("{BOLD}{heading}{BOLD:#}{rest}\n");
    }
    styled(&wrapped(&line, "", page), BOLD)
}

/// Returns the lines in `style`, each with a line end and without trailing spaces. The style of each line is reset at its end.
pub fn styled(lines: &[String], style: Style) -> String {
    lines.iter().map(|line| format!("{style}{}{style:#}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod text_tests {
    use super::*;

    #[test]
    fn names_are_shortened_in_their_middle() {
        let shown = |name: &str, columns| shortened(name, columns);
        assert_eq!(shown("copy[n=65536]", 13), "copy[n=65536]");
        assert_eq!(shown("copy[n=65536]", 8), "copy…36]");
        // A wide character is not cut in two.
        assert_eq!(shown("千千千千千千", 6), "千…千");
        assert_eq!(width(&shown("千千千千千千", 6)), 5);
    }

    #[test]
    fn lines_end_where_the_page_does() {
        let text = format!("one two three {}", "x".repeat(50));
        let lines = wrapped(&text, "[1] ", Page::default().with_width(40));
        assert_eq!(lines[0], "[1] one two three");
        assert!(lines.len() > 2 && lines.iter().all(|line| width(line) <= 40), "{lines:?}");
        assert!(lines[1].starts_with("    x"));
        assert_eq!(wrapped("one\ntwo", "- ", Page::default()), ["- one", "  two"]);
        assert_eq!(wrapped("one\ntwo", "", Page::default()), ["one", "  two"]);
    }
}
