//! The colours of reports. Whether they are shown is decided where text is printed.

use anstyle::{AnsiColor, Style};

use super::page::Page;
use super::text::{width, wrapped};
use gpubench_records::{Answer, State};

/// The style of headings.
pub const BOLD: Style = Style::new().bold();
/// The style of warnings.
pub const NOTE: Style = AnsiColor::Yellow.on_default();

/// The style of a row of this verdict.
pub fn of_state(state: State) -> Style {
    match state {
        State::Valid => Style::new(),
        State::Suspect => NOTE,
        State::Invalid => AnsiColor::Red.on_default(),
    }
}

/// The style of a row of this answer.
pub fn of_answer(answer: Answer) -> Style {
    match answer {
        Answer::Same => Style::new(),
        Answer::Undecided => NOTE,
        Answer::Faster => AnsiColor::Green.on_default(),
        Answer::Slower => AnsiColor::Red.on_default(),
    }
}

/// A heading with `rest` behind it; where `page` has no room for both in a line, lines of it, all of them bold.
pub fn heading(heading: &str, rest: &str, page: Page) -> String {
    let line = format!("{heading}{rest}");
    if width(&line) <= page.width() {
        return format!("{BOLD}{heading}{BOLD:#}{rest}\n");
    }
    styled(&wrapped(&line, "", page), BOLD)
}

/// Returns the lines in `style`, each with a line end and without trailing spaces.
pub fn styled(lines: &[String], style: Style) -> String {
    lines.iter().map(|line| format!("{style}{}{style:#}\n", line.trim_end())).collect()
}
