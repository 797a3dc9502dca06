//! Launches that deceive, launches that were mistaken once, and launches that are as they should be, each held against the
//! verdict that it must have. On a GPU, or on the stand-in for one.
//!
//! ```sh
//! gpu_caught                       # all of them, as a table of 80 columns; exit 1 if one has another verdict
//! gpu_caught side_stream lazy      # two of them
//! gpu_caught --markdown FILE       # all of them, and the tables of docs/what-is-caught.md in a file
//! ```

#![expect(unsafe_code, reason = "calls the driver")]
#![expect(clippy::print_stdout, reason = "prints its results")]

mod calls;
mod deceiving;
mod expected;
mod gpu;
mod once_mistaken;
mod right;
mod table;

use std::process::ExitCode;
use std::{env, fs};

use gpubench::options::RunsDir;
use gpubench::{Exit, MeasureOptions, Suite};

use crate::expected::{GROUPS, Line};
use crate::table::{Found, Watch};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    gpubench::program(|suite| {
        let mut names: Vec<String> = env::args().skip(1).collect();
        let page = match &names[..] {
            [flag, _, ..] if flag == "--markdown" => names.drain(..2).next_back(),
            _ => None,
        };
        let wanted = |line: &Line| names.is_empty() || names.iter().any(|name| name == line.name);
        if let Some(unknown) = names.iter().find(|name| lines().all(|line| line.name != **name)) {
            return Err(format!("there is no launch `{unknown}`").into());
        }
        let found = measured(suite, &lines().filter(|line| wanted(line)).collect::<Vec<_>>())?;
        print!("{}", table::text(&found));
        if let Some(page) = page {
            fs::write(page, table::markdown(&found))?;
        }
        if found.differing() == 0 { Ok(()) } else { Err(Exit::Failed.into()) }
    })
}

fn lines() -> impl Iterator<Item = &'static Line> {
    GROUPS.iter().flat_map(|group| group.lines)
}

/// Measures these lines in one run.
fn measured(suite: &Suite, lines: &[&'static Line]) -> Result<Found> {
    // A filter is a part of a name: others that have it are measured too, and not looked at.
    let options = MeasureOptions::from_env()?.all_cases().runs_dir(RunsDir::Nowhere).precision(0.02);
    let options = lines.iter().fold(options, |options, line| options.filter(format!("::{}", line.name)));
    let mut watch = Watch::default();
    let run = suite.measure_with(&options, &mut watch)?;
    Ok(Found::new(&run, lines, &watch))
}
