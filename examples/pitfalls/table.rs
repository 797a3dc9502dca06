//! A table that is printed as text and stored as cells.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::common;

/// Rows of cells. The first row is the head, and the first cell of a row its name.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// Creates a table with these column names.
    pub(crate) fn new<T: Display>(head: impl IntoIterator<Item = T>) -> Self {
        Self::default().row("", head)
    }

    /// Adds a row with this name and these cells, unless all cells are empty.
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
