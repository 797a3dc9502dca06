//! `tuned`: the best variants to ship. In: files of tunings; out: a module in Rust.

use std::fs;
use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::tuning::{TunedTable, Tuning};
use gpubench_report as report;
use gpubench_report::export::ExportTo;

use crate::error::CommandError;
use crate::output;

pub(super) fn tuned(files: &[String], to: &Path) -> Result<Exit, CommandError> {
    let to = ExportTo::of(to.to_owned());
    let sources: Vec<ExportTo> = files.iter().map(|file| ExportTo::File(file.into())).collect();
    output::check_destination(&to, &sources)?;
    let read = |file: &String| {
        let json = fs::read(file).map_err(|error| CommandError::NotOpened { path: file.into(), error })?;
        Tuning::parse(&json)
            .map_err(|error| CommandError::NoTuning { file: file.clone(), error: Box::new(error) })
    };
    let tunings = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let tables = TunedTable::of(&tunings)?;
    output::write_to(&to, &|out| report::write_tuned_module(&tables, out))?;
    Ok(Exit::Done)
}
