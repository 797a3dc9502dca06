//! The place where text is shown. In: an open file, and the environment; out: how many columns a line may have there, and
//! whether it shows block characters.

use std::env;
use std::io::IsTerminal;
#[cfg(unix)]
use std::os::fd::AsFd as AsTerminal;
#[cfg(windows)]
use std::os::windows::io::AsHandle as AsTerminal;

use terminal_size::{Width, terminal_size_of};

/// The width of lines, and the characters that they may have. The default is a page without an end to its lines, as for a
/// file or a pipe: nothing is left out or shortened there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The number of columns of a line; nothing if lines have no end.
    width: Option<usize>,
    /// True if block characters would not be seen.
    ascii: bool,
}

impl Page {
    /// The least number of columns: below it, a row has no room for a name and a time.
    pub const LEAST_WIDTH: usize = 40;

    /// Returns the page of `out`: as wide as `width`, else as the variable `COLUMNS`, else as the terminal, else without an end to its lines.
    #[must_use]
    pub fn of(out: &(impl AsTerminal + IsTerminal), width: Option<usize>) -> Self {
        let terminal = || terminal_size_of(out).map(|(Width(columns), _)| usize::from(columns));
        let page = Self { width: None, ascii: out.is_terminal() && !shows_blocks() };
        match width.or_else(stated_width).or_else(terminal) {
            Some(columns) => page.with_width(columns),
            None => page,
        }
    }

    /// The same page with lines of `columns`, or of [`LEAST_WIDTH`](Self::LEAST_WIDTH) if that is more.
    #[must_use]
    pub fn with_width(self, columns: usize) -> Self {
        Self { width: Some(columns.max(Self::LEAST_WIDTH)), ..self }
    }

    /// The same page in ASCII, but for units: without block characters.
    #[must_use]
    pub fn in_ascii(self) -> Self {
        Self { ascii: true, ..self }
    }

    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }

    pub(super) fn ascii(&self) -> bool {
        self.ascii
    }
}

/// Returns the width that `COLUMNS` states.
fn stated_width() -> Option<usize> {
    let columns = env::var("COLUMNS").ok()?.parse().ok()?;
    Some(columns).filter(|columns| *columns >= Page::LEAST_WIDTH)
}

/// Returns true unless the terminal is said to be dumb, or the locale to be other than UTF-8.
fn shows_blocks() -> bool {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let utf8 = locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    utf8 && set("TERM").is_none_or(|term| term != "dumb")
}
