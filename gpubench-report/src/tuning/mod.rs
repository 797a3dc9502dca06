//! The answer of races as people and programs read it. In: a [`Tuning`]; out: text for a terminal, or a page.

mod energy;
mod figures;
mod html;
mod space;
mod text;
mod words;

use std::io::{self, Write};

use gpubench_records::tuning::Tuning;

pub use self::text::tuning;

/// Writes a tuning as a page of one file.
///
/// # Errors
/// If `out` takes no more.
pub fn write_tuning_page(tuning: &Tuning, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(html::page(tuning).as_bytes())
}
