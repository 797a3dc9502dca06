//! Peaks of this machine, whose cache keeps them: `--measure-peaks` measures them again.

use super::SuiteError;
use super::cli::Exit;
use super::measure::run_config;
use super::prepare::{Task, kinds_of};
use super::show::Printer;
use crate::devices::kinds;
use crate::peaks::{PeakSources, ceiling_cache};
use crate::runner::devices::facts_with_peaks;
use crate::runner::supervisor::Supervisor;
use crate::settings::Settings;
use gpubench_table as report;

/// Returns the device of this program whose peaks the cache keeps, if the user `wanted` no other.
pub(super) fn of_this_machine(wanted: Option<&str>) -> Option<&'static str> {
    kinds_of(&Task::Measure.entries())
        .into_iter()
        .find(|kind| kinds::keeps_peaks(kind) && wanted.is_none_or(|wanted| wanted == *kind))
}

/// Measures the peaks of `device` and stores them in the place of earlier ones.
pub(super) fn measure_again(
    device: &str,
    options: &Settings,
    printer: &Printer<'_>,
) -> Result<Exit, SuiteError> {
    let ceilings = ceiling_cache(options.cache_dir.as_deref()).ok_or(SuiteError::NoCeilingsFolder)?;
    let sources = PeakSources { ceilings: Some(ceilings.clone()), ..PeakSources::default() };
    let config = run_config(options, sources, None, None);
    let mut supervisor = Supervisor::new(config.in_process, config.libraries.clone(), &|| false);
    let mut info = || facts_with_peaks(&mut supervisor, &config, device);
    // The device tells which file is its own.
    ceilings.forget(&info()?.0)?;
    let measured = info()?.0;
    supervisor.dismiss();
    printer.print(&report::peaks_of(&measured))?;
    Ok(Exit::Done)
}
