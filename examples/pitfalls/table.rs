//! A table row by row. In: a head and rows of cells; out: its cells for a file, and its text.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::common;

/// Rows of cells, the first the head; the first cell of a row names it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// One with these words over its columns.
    pub(crate) fn new<T: Display>(head: impl IntoIterator<Item = T>) -> Self {
        Self::default().row("", head)
    }

    /// With another row: what it is, and what stands in each column; one with nothing in it is left out.
    pub(crate) fn row<T: Display>(mut self, name: &str, cells: impl IntoIterator<Item = T>) -> Self {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            self.0.push([vec![name.to_owned()], cells].concat());
        }
        self
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&common::lines(&self.0))
    }
}
