//! The results of a comparison of revisions. In: the run of each suite that both have, and the sentences about other suites; out: their
//! tables, and the files that the user asks for.

use gpubench_records::record::Run;
use gpubench_table as report;
use gpubench_table::export::{Export, ExportTo, Format, write_markdown};

use crate::error::CommandError;
use crate::output::{self, PrintOptions};

/// The suites that were compared so far.
pub(super) struct Results<'a> {
    exports: &'a [Export],
    print_options: PrintOptions,
    /// The run of each suite with the suite's name.
    runs: Vec<(String, Run)>,
    /// A sentence for each suite that one of the revisions lacks.
    others: Vec<String>,
}

impl<'a> Results<'a> {
    pub(super) fn new(exports: &'a [Export], others: Vec<String>, print_options: PrintOptions) -> Self {
        others.iter().for_each(|other| output::warn(other));
        Self { exports, print_options, runs: Vec::new(), others }
    }

    /// Takes the run of a suite, and prints its table.
    pub(super) fn add(&mut self, name: String, run: Run) -> Result<(), CommandError> {
        self.print(&report::render(&run, self.print_options.page()))?;
        self.runs.push((name, run));
        Ok(())
    }

    /// Tells the suites that were not compared, and writes the files.
    pub(super) fn end(self) -> Result<(), CommandError> {
        if !self.others.is_empty() {
            let lines: String = self.others.iter().map(|other| format!("{other}\n")).collect();
            self.print(&format!("\n{}", report::paragraph(&lines, self.print_options.page())))?;
        }
        for export in self.exports {
            let is_empty = self.runs.is_empty() && self.others.is_empty();
            match &self.runs[..] {
                runs if export.format == Format::MARKDOWN && !is_empty => {
                    output::write_to(&export.to, &|out| write_markdown(runs, &self.others, out))?;
                }
                [(_, run)] => output::write(std::slice::from_ref(export), run)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Prints text, unless standard output carries a file.
    fn print(&self, text: &str) -> Result<(), CommandError> {
        if self.exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
            return Ok(());
        }
        output::print(text, self.print_options)
    }
}
