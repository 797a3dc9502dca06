//! Contents as a terminal may show them. In: what an exporter writes; out: the same, control characters by their codes. A file or a
//! pipe gets them as they are, so that names are read back.

use std::io::{self, Write};

use crate::text::plain_lines;

/// Writes `contents` to `out`, a terminal: no name of a benchmark moves its cursor or colours it.
///
/// # Errors
/// If the contents cannot be made, or `out` takes no more.
pub fn write_visibly(
    out: &mut dyn Write,
    contents: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    contents(&mut bytes)?;
    out.write_all(plain_lines(&String::from_utf8_lossy(&bytes)).as_bytes())
}
