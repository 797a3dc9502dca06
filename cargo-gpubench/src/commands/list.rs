//! `list`: the stored runs and the baselines. In: the folder that they are in; out: a line for each.

use std::path::PathBuf;

use gpubench_records::exit::Exit;
use gpubench_records::files::{StoredRuns, load};
use gpubench_report::{ListedRun, listing, paragraph};

use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn list(stored: &StoredRuns, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let line = |(name, path): (String, PathBuf)| match load(&path) {
        Ok(loaded) => ListedRun::of(&name, &path, &loaded.run),
        Err(error) => ListedRun::unreadable(&name, &error.to_string()),
    };
    let page = print_options.page();
    let runs: Vec<ListedRun> = stored.runs().into_iter().map(line).collect();
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
