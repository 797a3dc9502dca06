//! `list`: the stored runs and the baselines. In: the folder that they are in; out: a line for each.

use std::path::PathBuf;

use gpubench_records::exit::Exit;
use gpubench_records::files::{StoredRuns, load};
use gpubench_records::join::NamedRun;
use gpubench_report::{ListedRun, listing, paragraph};

use super::load_all;
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn list(
    stored: &StoredRuns,
    files: &[String],
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    if !files.is_empty() {
        return list_files(stored, files, print_options);
    }
    let line = |(number, (name, path)): (usize, (String, PathBuf))| {
        let line = match load(&path) {
            Ok(loaded) => ListedRun::of(&name, &path, &loaded.run),
            Err(error) => ListedRun::unreadable(&name, &error.to_string()),
        };
        line.numbered(number)
    };
    let page = print_options.page();
    let runs: Vec<ListedRun> = (1..).zip(stored.runs()).map(line).collect();
    let runs = if runs.is_empty() {
        paragraph(&format!("no stored runs in {}", stored.home().join("runs").display()), page)
    } else {
        listing(&runs, page)
    };
    let baselines = stored.baselines();
    let baselines = if baselines.is_empty() {
        String::new()
    } else {
        format!("\n{}", paragraph(&format!("baselines: {}", baselines.join(", ")), page))
    };
    output::print(&format!("{runs}{baselines}"), print_options)?;
    Ok(Exit::Done)
}

/// Lists the runs of files, such as those of a program that measures several.
fn list_files(
    stored: &StoredRuns,
    files: &[String],
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    let mut lines = Vec::new();
    for file in files {
        let path = stored.file(file)?.unwrap_or_else(|| file.into());
        let runs = load_all(stored, file)?;
        lines.extend(runs.iter().map(|NamedRun { name, run }| ListedRun::of(name, &path, run)));
    }
    output::print(&listing(&lines, print_options.page()), print_options)?;
    Ok(Exit::Done)
}
