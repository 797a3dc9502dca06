//! The answer of races as people and programs read it. In: a [`Tuning`]; out: text for a terminal, a page, or a module in Rust.

mod energy;
mod figures;
mod html;
mod rust;
mod space;
mod text;
mod words;

use std::io::{self, Write};

use gpubench_records::tuning::{TunedTable, Tuning};

pub use self::text::tuning;

/// Writes a tuning as a page of one file.
///
/// # Errors
/// If `out` takes no more.
pub fn write_tuning_page(tuning: &Tuning, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(html::page(tuning).as_bytes())
}

/// Writes the best variants as a module in Rust, which needs no crate.
///
/// # Errors
/// If `out` takes no more.
pub fn write_tuned_module(tables: &[TunedTable], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(rust::module(tables).as_bytes())
}
