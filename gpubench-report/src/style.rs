//! The colours of reports. Whether they are shown is decided where text is printed.

use anstyle::{AnsiColor, Style};

use gpubench_records::comparison::Answer;
use gpubench_records::verdict::State;

/// What stands out.
pub const BOLD: Style = Style::new().bold();
/// What a reader must not overlook.
pub const NOTE: Style = AnsiColor::Yellow.on_default();

/// How a row of this verdict looks.
#[must_use]
pub fn of_state(state: State) -> Style {
    match state {
        State::Valid => Style::new(),
        State::Suspect => NOTE,
        State::Invalid => AnsiColor::Red.on_default(),
    }
}

/// How a row of this answer looks.
#[must_use]
pub fn of_answer(answer: Answer) -> Style {
    match answer {
        Answer::Same => Style::new(),
        Answer::Undecided => NOTE,
        Answer::Faster => AnsiColor::Green.on_default(),
        Answer::Slower => AnsiColor::Red.on_default(),
    }
}
