//! Tables of launch functions and the verdict that each must get. A program names its groups of lines and calls [`run`].

#![expect(clippy::print_stdout, reason = "prints its results")]

mod line;
mod table;

use std::{env, fs};

use gpubench::settings::{Percent, RunsDir};
use gpubench::{Exit, Settings, Suite};

pub use self::line::{Expected, Group, Line, Needs, line};
use self::table::{Found, Watch};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measures the lines that the command line names, or all, and prints them. `--markdown FILE` writes the tables of a page to a file.
///
/// # Errors
/// If a line has another verdict than expected, or the run fails.
pub fn run(suite: &Suite, groups: &'static [Group]) -> Result<()> {
    let lines = || groups.iter().flat_map(|group| group.lines);
    let mut names: Vec<String> = env::args().skip(1).collect();
    let page = match &names[..] {
        [flag, _, ..] if flag == "--markdown" => names.drain(..2).next_back(),
        _ => None,
    };
    let wanted = |line: &&Line| names.is_empty() || names.iter().any(|name| name == line.name);
    if let Some(unknown) = names.iter().find(|name| lines().all(|line| line.name != **name)) {
        return Err(format!("there is no launch `{unknown}`").into());
    }
    let lines: Vec<&'static Line> = lines().filter(wanted).collect();
    // A filter is a part of a name: others that have it are measured too, and not looked at.
    let given = Settings::from_env()?;
    let settings = Settings {
        filter: lines.iter().map(|line| format!("::{}", line.name)).collect(),
        runs_dir: given.runs_dir.clone().or(Some(RunsDir::Nowhere)),
        precision: Some(Percent(2.0)),
        ..given
    };
    let mut watch = Watch::default();
    let run = suite.measure_with(&settings, &mut watch)?;
    let found = Found::new(&run, &lines, &watch);
    print!("{}", table::text(&found, groups));
    if let Some(page) = page {
        fs::write(page, table::markdown(&found, groups))?;
    }
    if found.differing() == 0 { Ok(()) } else { Err(Exit::Failed.into()) }
}

/// Returns the names of the launches that a table marks as different from what is expected.
#[must_use]
pub fn marked(text: &str) -> Vec<&str> {
    let marked = text.lines().filter_map(|line| line.strip_prefix("! "));
    marked.filter_map(|row| row.split_whitespace().next()).collect()
}
