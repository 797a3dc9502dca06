//! Peaks that are measured because the device does not report them, and the cache of the user that stores
//! them for later runs.

use std::path::Path;

use crate::device::{Device, DeviceError};
use crate::system::host_name;
use gpubench_records::{DeviceInfo, MeasuredPeak, Peak};

pub use gpubench_records::files::peaks::PeakCache;

/// Returns the cache of measured peaks in `folder`, or in the user's cache folder if `folder` is `None`. The
/// entries of a CPU are valid only for this machine and this build's optimisation level. Returns `None` if
/// the user has no cache folder.
pub fn peak_cache(folder: Option<&Path>) -> Option<PeakCache> {
    // A program that is not optimised computes at a part of the rate.
    let build = match (cfg!(debug_assertions), env!("GPUBENCH_OPT_LEVEL")) {
        (true, _) => ", debug build",
        (false, "3") => "",
        (false, _) => ", less optimised build",
    };
    PeakCache::in_folder(folder, &format!("{}{build}", host_name().unwrap_or_default()))
}

/// Returns the properties of `device`. If `cache` has no peaks of the device, measures them. Stores the
/// measured peaks in `cache` if all are certain; if they are not, or cannot be stored, adds them to the
/// returned properties. Peaks that are stored in `cache` are never part of the returned properties: the
/// supervisor adds them.
pub(crate) fn info_with_peaks(
    device: &mut dyn Device,
    cache: Option<&PeakCache>,
) -> Result<DeviceInfo, DeviceError> {
    let mut info = device.info()?;
    let stored = cache.and_then(|cache| cache.read(&info).ok()).unwrap_or_default();
    if !stored.is_empty() {
        return Ok(info);
    }
    let peaks = device.measure_peaks();
    let is_kept = peaks.iter().all(|peak| !peak.uncertain)
        && cache.is_some_and(|cache| {
            let named =
                |peak: &Peak| MeasuredPeak { name: peak.quantity.name().to_owned(), peak: peak.clone() };
            let measured: Vec<MeasuredPeak> = peaks.iter().map(named).collect();
            // Without a folder that can be written each run measures them.
            cache.keep(&info, &measured).is_ok_and(|file| file.is_some())
        });
    if !is_kept {
        info.add(peaks);
    }
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::device::{SampleOptions, Sampler, Work};
    use gpubench_records::device_info::{PeakSource, Quantity, THREADS, Value};
    use gpubench_records::failure::Failure;
    use gpubench_stats::units::Rate;

    /// A CPU whose memory is faster in each measurement, and that counts these.
    struct Cpu {
        measured: usize,
        uncertain: bool,
    }

    impl Device for Cpu {
        fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
            let mut info = DeviceInfo::new("host", "a CPU").with_property(THREADS, Value::Count(2));
            info.runs_program_code = true;
            Ok(info)
        }

        fn measure_peaks(&mut self) -> Vec<Peak> {
            self.measured += 1;
            let rate = Rate(1e9 * self.measured as f64);
            let peak = Peak::new(Quantity::MemoryBandwidth, rate, PeakSource::Measured, "copy");
            vec![if self.uncertain { peak.uncertain() } else { peak }]
        }

        fn sampler<'a>(
            &'a mut self,
            _: &'a mut dyn Work,
            _: &SampleOptions,
        ) -> Result<Box<dyn Sampler + 'a>, Failure> {
            unreachable!("nothing is sampled")
        }
    }

    /// Returns the peaks in GB/s that a run with this cache has.
    fn peaks(cpu: &mut Cpu, cache: Option<PeakCache>) -> Vec<f64> {
        let mut info = info_with_peaks(cpu, cache.as_ref()).expect("nothing fails");
        let stored = cache.map_or(Ok(Vec::new()), |cache| cache.read(&info)).expect("it can be used");
        info.add(stored.into_iter().map(|measured| measured.peak).collect());
        info.peaks.iter().map(|peak| peak.value.0 / 1e9).collect()
    }

    #[test]
    fn peaks_of_a_cpu_are_measured_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut cpu = Cpu { measured: 0, uncertain: false };
        let cache = || peak_cache(Some(folder.path()));
        assert_eq!([peaks(&mut cpu, cache()), peaks(&mut cpu, cache())], [[1.0], [1.0]]);

        let file = fs::read_dir(folder.path().join("ceilings")).expect("it is there").next();
        let file = file.expect("there is one").expect("it can be read").path();
        fs::write(&file, "no JSON").expect("it can be written");
        assert_eq!([peaks(&mut cpu, cache()), peaks(&mut cpu, cache())], [[2.0], [2.0]], "a damaged file");

        cache().expect("a folder was given").forget(&cpu.info().expect("nothing fails")).expect("it can be");
        assert_eq!(peaks(&mut cpu, cache()), [3.0], "asked for again");
    }

    #[test]
    fn peaks_that_cannot_be_kept_are_measured_in_each_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a file");
        fs::write(&file, "").expect("it can be written");
        let mut cpu = Cpu { measured: 0, uncertain: false };
        let cache = || peak_cache(Some(&file));
        assert_eq!([peaks(&mut cpu, cache()), peaks(&mut cpu, cache())], [[1.0], [2.0]]);
        assert_eq!(peaks(&mut cpu, None), [3.0]);
    }

    #[test]
    fn uncertain_peaks_are_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut cpu = Cpu { measured: 0, uncertain: true };
        let cache = || peak_cache(Some(folder.path()));
        assert_eq!([peaks(&mut cpu, cache()), peaks(&mut cpu, cache())], [[1.0], [2.0]]);
    }
}
