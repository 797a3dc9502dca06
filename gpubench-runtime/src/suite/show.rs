//! Results on standard output and in files. In: text, or a run and its problems. Out: the printed table, the exported
//! files, and the end of the program. Only the edge calls this.

use super::Error;
use super::cli::{Exit, OutputOptions};
use super::measure::Measured;
use super::output::{Output, Results};
use gpubench_records::record::Run;
use gpubench_report as report;
use gpubench_report::export::{Export, ExportTo};

/// Prints and writes results as the user wants them.
pub(super) struct Printer<'a> {
    results: Results,
    options: &'a OutputOptions,
}

impl<'a> Printer<'a> {
    /// Takes standard output away from all other code: output of the user's benchmarks is no result.
    pub(super) fn new(options: &'a OutputOptions) -> Result<Self, Error> {
        let results = Results::take_standard_output().map_err(Error::NotPrinted)?;
        Ok(Self { results, options })
    }

    /// Prints `text`, coloured as the user and the terminal want it.
    pub(super) fn print(&self, text: &str) -> Result<(), Error> {
        self.results.print(text, self.options.color).map_err(Error::NotPrinted)
    }

    /// Opens the destinations of results, before anything is measured.
    pub(super) fn open_outputs(&self) -> Result<Vec<Output>, Error> {
        let open = |export: &Export| {
            let not_opened = |error| Error::OutputNotOpened { export: export.clone(), error };
            Output::open(export, &self.results).map_err(not_opened)
        };
        self.options.exports.iter().map(open).collect()
    }

    /// Prints and writes a run, live or stored.
    ///
    /// # Errors
    /// Returns the problems of the run and those of its output.
    pub(super) fn show(&self, measured: Measured, outputs: &[Output]) -> Result<Exit, Error> {
        let Measured { run, mut problems, is_stored } = measured;
        problems.extend(self.print_run(&run).err());
        // A device that failed before any measurement gives no reason to overwrite an earlier file.
        for output in outputs.iter().filter(|_| !run.devices.is_empty()) {
            let not_written = |error| Error::OutputNotWritten { export: output.export.clone(), error };
            problems.extend(output.write(&run).map_err(not_written).err());
        }
        let run = Measured { run, problems, is_stored }.into_result()?;
        Ok(Exit::of(&run).min(if is_stored { Exit::Done } else { Exit::Failed }))
    }

    /// Prints the table, unless another format uses standard output.
    fn print_run(&self, run: &Run) -> Result<(), Error> {
        if self.options.exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
            return Ok(());
        }
        let mut text = report::render(run);
        if self.options.explain {
            text += &report::explain(run);
        }
        self.print(&text)
    }
}
