//! JSON: the run as it is stored and read again.

use std::io::{self, Write};

use super::exporter::Exporter;
use gpubench_records::record::Run;

/// See [`Run::write`].
pub(super) struct Json;

impl Exporter for Json {
    fn export(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        run.write(out)
    }
}
