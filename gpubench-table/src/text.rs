//! Text that fits the width of a page: lines are wrapped, and names are shortened in their middle.

use textwrap::{Options, WordSplitter, wrap};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::page::Page;
pub use gpubench_records::text::{printable as plain, printable_lines as plain_lines};

/// Splits the path of a benchmark into its modules and its name; nothing if there are no modules. Separators at its end, which only a
/// file that was written by others has, belong to the name.
pub fn split_path(path: &str) -> Option<(&str, &str)> {
    let at = path[..path.trim_end_matches(':').len()].rfind("::")?;
    Some((&path[..at], &path[at + 2..]))
}

/// The parts that are not empty, with a blank line between them.
pub(super) fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The number of terminal columns of `text`.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` with as much left out of its middle as `columns` need, and `…` there.
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

/// `text` with spaces behind it up to `columns`.
pub(super) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", spaces(columns.saturating_sub(width(text))))
}

/// `text` with spaces before it up to `columns`.
pub(super) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", spaces(columns.saturating_sub(width(text))))
}

pub(super) fn spaces(number: usize) -> String {
    " ".repeat(number)
}

/// `text` as lines of `page`: the first begins with `first`, the others with as many spaces, or two more if that is blank.
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

/// Puts a space without a line break between each number and its unit.
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

/// The lines of `text`, as wide as `page` and without control characters.
pub fn paragraph(text: &str, page: Page) -> String {
    let lines = text.lines().flat_map(|line| {
        let indent = line.len() - line.trim_start().len();
        wrapped(&plain(line.trim_start()), &line[..indent], page)
    });
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
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
