//! The log of everything that was done. Each event is a line of words, at the end of a file that the
//! processes of a run share:
//!
//! ```text
//! process begin duration stream what …
//! 4711 1000.0 9980.1 s1010 memset write=0xde000000000000+62914560
//! 4711 1000.0 0.0 - call cuStreamSynchronize 0
//! ```
//!
//! Lines are written when a call waits for the device, and when many have come together: a process that is killed takes
//! along what it did since.

use std::fmt::{Arguments, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process;

use crate::config::refuse;

/// So much is kept before it is written.
const MANY: usize = 1 << 16;

/// A log, if one is asked for.
#[derive(Debug)]
pub(crate) struct Log {
    file: Option<File>,
    lines: String,
}

impl Log {
    pub(crate) fn open(path: Option<&Path>) -> Self {
        let file = path.map(|path| {
            let file = File::options().append(true).create(true).open(path);
            file.unwrap_or_else(|error| refuse(format!("GPUBENCH_FAKE_LOG={}: {error}", path.display())))
        });
        Self { file, lines: String::new() }
    }

    /// Adds a line. `stream` is nothing for what is on no stream.
    pub(crate) fn add(&mut self, begin: f64, duration: f64, stream: Option<usize>, what: Arguments<'_>) {
        if self.file.is_none() {
            return;
        }
        let process = process::id();
        // Writing to a string cannot fail.
        _ = match stream {
            Some(stream) => writeln!(self.lines, "{process} {begin:.1} {duration:.1} s{stream:x} {what}"),
            None => writeln!(self.lines, "{process} {begin:.1} {duration:.1} - {what}"),
        };
        if self.lines.len() > MANY {
            self.write();
        }
    }

    /// Writes what has come together, in one piece.
    pub(crate) fn write(&mut self) {
        let Some(file) = &mut self.file else { return };
        file.write_all(self.lines.as_bytes())
            .unwrap_or_else(|error| panic!("the fake libcuda's log: {error}"));
        self.lines.clear();
    }
}
