//! The colours of reports. Whether they are shown is decided where text is printed.

use anstyle::{AnsiColor, Style};

use gpubench_records::comparison::Answer;
use gpubench_records::verdict::State;

/// The style of headings.
pub const BOLD: Style = Style::new().bold();
/// The style of warnings.
pub const NOTE: Style = AnsiColor::Yellow.on_default();

/// The style of a row of this verdict.
#[must_use]
pub fn of_state(state: State) -> Style {
    match state {
        State::Valid => Style::new(),
        State::Suspect => NOTE,
        State::Invalid => AnsiColor::Red.on_default(),
    }
}

/// The style of a row of this answer.
#[must_use]
pub fn of_answer(answer: Answer) -> Style {
    match answer {
        Answer::Same => Style::new(),
        Answer::Undecided => NOTE,
        Answer::Faster => AnsiColor::Green.on_default(),
        Answer::Slower => AnsiColor::Red.on_default(),
    }
}
