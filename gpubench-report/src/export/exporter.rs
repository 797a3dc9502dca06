//! The trait of an output format. In: a run, live or stored; out: bytes.

use std::io::{self, Write};

use gpubench_records::record::Run;

/// Writes runs in one format.
pub trait Exporter {
    /// Writes `run` to `out`.
    ///
    /// # Errors
    /// If `out` takes no more.
    fn export(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;
}
