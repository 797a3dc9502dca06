//! A message between supervisor and worker: a line of JSON.

use std::io::{self, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes one message.
pub(super) fn send(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one message.
pub(super) fn decode<T: DeserializeOwned>(line: &str) -> io::Result<T> {
    Ok(serde_json::from_str(line)?)
}
