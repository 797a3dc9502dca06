//! Markdown of several suites. In: a run of each; out: one text for a pull request, a section for each suite.

use std::io::{self, Write};

use super::markdown::{self, escaped};
use gpubench_records::record::Run;

/// Writes the runs of suites, each under its suite's name, and behind them `others`, sentences about suites that have none. The run of the
/// only suite has no heading, as if it were exported alone.
///
/// # Errors
/// If `out` takes no more.
pub fn write_markdown(runs: &[(String, Run)], others: &[String], out: &mut dyn Write) -> io::Result<()> {
    for (number, (name, run)) in runs.iter().enumerate() {
        if number > 0 {
            out.write_all(b"\n")?;
        }
        if runs.len() > 1 {
            write!(out, "## {}\n\n", escaped(name))?;
        }
        markdown::write(run, out)?;
    }
    if !others.is_empty() && !runs.is_empty() {
        out.write_all(b"\n")?;
    }
    others.iter().try_for_each(|other| writeln!(out, "- {}", escaped(other)))
}
