//! Results on standard output and in files. In: text, or a run and its problems. Out: the printed table, the exported
//! files, and the end of the program. Only the edge calls this.

use std::env;
use std::path::{Path, PathBuf};

use super::SuiteError;
use super::cli::Exit;
use super::measure::MeasuredRun;
use super::messages::warn;
use super::output::{Output, StandardOutput};
use crate::settings::{Settings, SettingsError};
use gpubench_records::record::Run;
use gpubench_records::text::printable;
use gpubench_table::export::{Export, ExportTo, Format, exports};
use gpubench_table::{self as report, Page, TableWriter};

/// The part of a run that is printed already.
#[derive(Debug, Default)]
pub(super) struct LiveOutput {
    /// The table with all rows, if they are printed.
    pub(super) table: Option<TableWriter>,
    /// The file that the run is stored in.
    pub(super) file: Option<PathBuf>,
    /// The reason that something could not be printed.
    pub(super) problem: Option<SuiteError>,
}

/// Prints and writes results as the user wants them.
pub(super) struct Printer<'a> {
    results: StandardOutput,
    options: &'a Settings,
    exports: Vec<Export>,
}

impl<'a> Printer<'a> {
    /// Takes standard output away from all other code: output of the user's benchmarks is no result.
    pub(super) fn new(options: &'a Settings) -> Result<Self, SuiteError> {
        let files = [
            (Format::JSON, &options.json),
            (Format::CSV, &options.csv),
            (Format::MARKDOWN, &options.markdown),
        ];
        let given = files.into_iter().filter_map(|(format, file)| Some((format, file.clone()?)));
        let exports = exports(given).map_err(SettingsError::new)?;
        let results = StandardOutput::take_standard_output().map_err(SuiteError::NotPrinted)?;
        Ok(Self { results, options, exports })
    }

    /// Prints `text`, coloured as the user and the terminal want it.
    pub(super) fn print(&self, text: &str) -> Result<(), SuiteError> {
        self.results.print(text, self.options.color.unwrap_or_default()).map_err(SuiteError::NotPrinted)
    }

    /// Opens the destinations of results, before anything is measured.
    pub(super) fn open_outputs(&self) -> Result<Vec<Output>, SuiteError> {
        let open = |export: &Export| {
            let not_opened = |error| SuiteError::OutputNotOpened { export: export.clone(), error };
            Output::open(export, &self.results).map_err(not_opened)
        };
        self.exports.iter().map(open).collect()
    }

    /// The page that results are printed on.
    pub(super) fn page(&self) -> Page {
        self.results.page()
    }

    /// Returns true unless another format uses standard output.
    pub(super) fn prints_rows(&self) -> bool {
        self.exports.iter().all(|export| export.to != ExportTo::StandardOutput)
    }

    /// Returns true if rows are all that is shown of a run.
    pub(super) fn prints_rows_alone(&self) -> bool {
        self.exports.is_empty() && !self.options.explain
    }

    /// Prints and writes a run, live or stored, of which `shown` is printed already.
    ///
    /// # Errors
    /// Returns the problems of the run and those of its output.
    pub(super) fn show(
        &self,
        measured: MeasuredRun,
        mut shown: LiveOutput,
        outputs: &[Output],
    ) -> Result<Exit, SuiteError> {
        let MeasuredRun { run, mut problems, is_stored } = measured;
        // A device that failed before any measurement leaves nothing to print, and gives no reason to overwrite an earlier file.
        let has_begun = problems.is_empty() || !run.devices.is_empty();
        let printed = match shown.problem {
            Some(problem) => Err(problem),
            None if has_begun => self.print_run(&run, shown.table.as_mut()),
            None => Ok(()),
        };
        problems.extend(printed.err());
        if let Some(none) = report::no_records(&run).filter(|_| has_begun && !outputs.is_empty()) {
            warn(&none);
        }
        for output in outputs.iter().filter(|_| has_begun) {
            let not_written = |error| SuiteError::OutputNotWritten { export: output.export.clone(), error };
            problems.extend(output.write(&run).map_err(not_written).err());
        }
        problems.extend(self.print_files(shown.file.as_deref(), outputs).err());
        let run = MeasuredRun { run, problems, is_stored }.into_result()?;
        Ok(Exit::of(&run).min(if is_stored { Exit::Done } else { Exit::Failed }))
    }

    /// Prints where the files of a run are, for people alone: what is printed elsewhere is the run and nothing else.
    fn print_files(&self, stored: Option<&Path>, outputs: &[Output]) -> Result<(), SuiteError> {
        let exported = outputs.iter().filter_map(|output| match &output.export.to {
            ExportTo::File(path) => Some(&**path),
            ExportTo::StandardOutput => None,
        });
        let here = env::current_dir().unwrap_or_default();
        let shown = |path: &Path| printable(&path.strip_prefix(&here).unwrap_or(path).display().to_string());
        let files: Vec<String> = exported.chain(stored).map(shown).collect();
        if files.is_empty() || !self.prints_rows() || !self.results.is_terminal() {
            return Ok(());
        }
        self.print(&format!("files: {}\n", files.join(", ")))
    }

    /// Prints what is left to print below `table`, or all.
    fn print_run(&self, run: &Run, table: Option<&mut TableWriter>) -> Result<(), SuiteError> {
        if !self.prints_rows() {
            return Ok(());
        }
        let page = self.page();
        let mut text = match table {
            Some(table) => report::end(run, table, page),
            None => report::render(run, page),
        };
        if self.options.explain {
            text += &report::explain(run, page);
        }
        self.print(&text)
    }
}
