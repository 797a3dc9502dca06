//! The place where text is shown: the width of its lines.

use std::{env, os::fd::AsFd};

use terminal_size::{Width, terminal_size_of};

/// The width of lines. By default lines have no end, as in a file or a pipe: nothing is left out or shortened there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The number of columns of a line; nothing if lines have no end.
    width: Option<usize>,
}

impl Page {
    /// The least number of columns: below it, a row has no room for a name and a time.
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
