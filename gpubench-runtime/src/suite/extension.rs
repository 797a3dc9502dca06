//! Actions that other crates add to benchmark binaries: `gpubench-tune` adds races of variants.

use clap::{ArgMatches, Command};

use super::SuiteError;
use super::cli::Exit;
use super::printer::Printer;
use super::progress::Progress;
use crate::plan::{Job, JobStatus};
use crate::registry::{BenchmarkOptions, Entry};
use crate::runner::RunError;
use crate::runner::single_cases::{Answer, SingleCases};
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::record::{Program, Record};
use gpubench_records::sampling::Sampling;
use gpubench_table::Page;

/// An action in place of measuring, with its flags.
#[derive(Clone, Copy, Debug)]
pub struct Extension {
    /// The id of the flag that requests the action.
    pub flag: &'static str,
    /// Adds its flags to the command line.
    pub add_flags: fn(Command) -> Command,
    /// Returns true for the benchmarks that the action is about.
    pub is_for: fn(&BenchmarkOptions) -> bool,
    /// Performs the action.
    pub run: fn(&ArgMatches, &mut Session<'_>) -> Result<Exit, SuiteError>,
}

/// The selected cases, on locked devices, and the ways to measure and to print.
pub struct Session<'a> {
    /// The jobs, each of one case, with their benchmarks.
    pub jobs: Vec<(&'static Entry, Job, JobStatus)>,
    /// The sampling options of the user.
    pub sampling: Sampling,
    /// This program.
    pub program: Program,
    /// Notes on the selection.
    pub notes: Vec<String>,
    pub(super) cases: SingleCases<'a>,
    pub(super) progress: &'a mut Progress<'static>,
    pub(super) printer: &'a Printer<'a>,
}

impl Session<'_> {
    /// Returns the facts of a device.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened.
    pub fn info(&mut self, device: &str) -> Result<DeviceInfo, RunError> {
        self.cases.info(device)
    }

    /// Returns the facts of the devices that were used so far, and notes on their peaks.
    #[must_use]
    pub fn used_devices(&self) -> (&[DeviceInfo], &[String]) {
        (&self.cases.devices, &self.cases.notes)
    }

    /// Measures a job of one case, interleaved with its partner if it has one. Checks neither outputs nor writes.
    ///
    /// # Errors
    /// Returns an error if nothing more can be measured. The inner error is the job's own failure, which a second worker has
    /// confirmed.
    pub fn measure(&mut self, job: &Job, sampling: Sampling) -> Answer<Record> {
        self.progress.try_job(job);
        self.cases.measure(job, sampling)
    }

    /// Launches a job once and checks its outputs. Returns false if it has no check.
    ///
    /// # Errors
    /// Returns the errors of [`measure`](Self::measure).
    pub fn test(&mut self, job: &Job) -> Answer<bool> {
        self.cases.test(job)
    }

    /// Returns the page that text is printed on.
    #[must_use]
    pub fn page(&self) -> Page {
        self.printer.page()
    }

    /// Prints text on standard output.
    ///
    /// # Errors
    /// Returns an error if standard output refuses it.
    pub fn print(&self, text: &str) -> Result<(), SuiteError> {
        self.progress.aside(|| self.printer.print(text))
    }
}
