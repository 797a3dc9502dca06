//! The line of progress on standard error, if that is a terminal.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use gpubench_table::text::shortened;
use terminal_size::{Width, terminal_size_of};

/// The number of columns of the bar.
const BAR_COLUMNS: usize = 16;
/// The least time from one message to the next.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(50);

/// A number of things that are done, and the current activity.
#[derive(Debug, Default)]
pub(super) struct StatusLine {
    done: usize,
    /// The number of all, if it is known.
    total: Option<usize>,
    /// The name of the things, such as `cases`.
    unit: &'static str,
    message: String,
    /// Nothing if the line is hidden.
    began: Option<Instant>,
    message_shown: Option<Instant>,
}

impl StatusLine {
    pub(super) fn new(total: Option<usize>, unit: &'static str, is_quiet: bool) -> Self {
        let can_move = env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
        let began = (!is_quiet && can_move && io::stderr().is_terminal()).then(Instant::now);
        Self { total, unit, began, ..Self::default() }
    }

    /// Shows the activity.
    pub(super) fn set_message(&mut self, message: String) {
        self.message = message;
        self.message_shown = Some(Instant::now());
        self.draw();
    }

    /// Shows the activity, unless another was shown just before.
    pub(super) fn update_message(&mut self, message: String) {
        if self.message_shown.is_none_or(|shown| shown.elapsed() > MESSAGE_INTERVAL) {
            self.set_message(message);
        }
    }

    /// Counts `more` as done.
    pub(super) fn add_done(&mut self, more: usize) {
        self.done += more;
        self.draw();
    }

    /// Counts `more` to do.
    pub(super) fn add_total(&mut self, more: usize) {
        self.total = self.total.map(|total| total + more);
        self.draw();
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.write("");
        let printed = print();
        self.draw();
        printed
    }

    /// Hides the line for good.
    pub(super) fn end(&mut self) {
        self.write("");
        self.began = None;
    }

    fn draw(&self) {
        let columns: usize = terminal_size_of(io::stderr()).map_or(80, |(Width(columns), _)| columns.into());
        // Some terminals begin a new line after the last column.
        self.write(&shortened(&self.text(), columns.saturating_sub(1)));
    }

    /// Writes `text` in place of the line.
    fn write(&self, text: &str) {
        if self.began.is_some() {
            _ = io::stderr().write_all(format!("\r{text}\x1b[K").as_bytes());
        }
    }

    /// Returns the line, as in `████░░░░ 3/6 cases 5s  copy: checked launch`.
    pub(super) fn text(&self) -> String {
        let Self { done, unit, message, .. } = self;
        let seconds = self.began.map_or(0, |began| began.elapsed().as_secs());
        let elapsed = humantime::format_duration(Duration::from_secs(seconds));
        let Some(total) = self.total else { return format!("{done} {unit} {elapsed}  {message}") };
        let full = (BAR_COLUMNS * done / total.max(1)).min(BAR_COLUMNS);
        let (full, rest) = ("█".repeat(full), "░".repeat(BAR_COLUMNS - full));
        format!("{full}{rest} {done}/{total} {unit} {elapsed}  {message}")
    }
}
