//! Measured peaks: `--measure-peaks` measures and stores them, and any other run reads them.

use super::prepare::{Purpose, kinds_of};
use super::{Error, output::Printer};
use crate::runner::{RunConfig, RunEvent, RunEvents, single_cases::info_with_peaks};
use crate::{peaks::PeakSources, settings::Settings};
use gpubench_records::{Exit, Run};
use gpubench_runtime::devices::kinds;
use gpubench_runtime::measured_peaks::{self, PeakCache};
use gpubench_table as report;

/// Returns the store of measured peaks, or an error if there is no folder for it.
pub(super) fn peak_cache(options: &Settings) -> Result<PeakCache, Error> {
    measured_peaks::peak_cache(options.cache_dir.as_deref()).ok_or_else(|| {
        Error::failed("there is no folder to store measured peaks in: set GPUBENCH_CACHE_DIR to one")
    })
}

/// Stores the peaks that a run has measured, and adds them to the devices of `run`, even if they could not be
/// stored. Returns the problems.
pub(super) fn store(run: &mut Run, options: &Settings, events: &mut dyn RunEvents) -> Vec<Error> {
    let mut problems = Vec::new();
    let reached: Vec<_> = run.devices.iter().map(|info| kinds::peaks::reached(run, &info.device)).collect();
    for (info, reached) in run.devices.iter_mut().zip(reached) {
        match peak_cache(options).and_then(|cache| cache.keep(info, &reached).map_err(Error::failed)) {
            Ok(Some(file)) => {
                events.event(&RunEvent::Remark(&format!("kept for later runs in {}", file.display())));
            }
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
        info.add(reached.into_iter().map(|measured| measured.peak).collect());
    }
    problems
}

/// Returns `host`, the CPU: that device measures and stores its peaks itself. `None` if no benchmark of this
/// program runs on it, or if the user `wanted` another device.
pub(super) fn device_with_kept_peaks(wanted: Option<&str>) -> Option<&'static str> {
    kinds_of(&Purpose::Measure.entries())
        .into_iter()
        .find(|kind| *kind == kinds::KIND_WITH_CACHED_PEAKS && wanted.is_none_or(|wanted| wanted == *kind))
}

/// Measures the peaks of `device`, prints them, and replaces the stored ones. If the new ones are too uncertain to be stored, the earlier
/// ones stay.
pub(super) fn measure_again(device: &str, options: &Settings, printer: &Printer<'_>) -> Result<Exit, Error> {
    let cache = peak_cache(options)?;
    let peak_sources = PeakSources { stored: Some(cache.clone()), ..PeakSources::default() };
    let config = RunConfig { settings: options.clone(), peak_sources, ..RunConfig::default() };
    let mut supervisor = config.supervisor(&|| false, Box::new(drop));
    let mut info = || info_with_peaks(&mut supervisor, &config, device);
    // The device knows which file is its own.
    let before = info()?.0;
    let stored = cache.read(&before).unwrap_or_default();
    cache.forget(&before).map_err(Error::failed)?;
    let measured = info()?.0;
    supervisor.dismiss();
    printer.print(&report::peaks_of(&measured))?;
    if !stored.is_empty() && cache.read(&measured).is_ok_and(|new| new.is_empty()) {
        cache.keep(&measured, &stored).map_err(Error::failed)?;
        printer.print("not stored, since the processors were busy: later runs use the peaks of before\n")?;
    }
    Ok(Exit::Done)
}
