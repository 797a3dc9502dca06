//! A message between supervisor and worker: a line of JSON.

use std::io::{self, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A request, or a reply with the number of its request: the reply of a forked copy of a worker is never taken for the reply to a
/// later request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Numbered<T> {
    pub(super) number: u64,
    pub(super) message: T,
}

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
