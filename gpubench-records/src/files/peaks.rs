//! Stored peaks, which gpubench measured earlier, in the user's cache folder. There is a file for each GPU,
//! driver and version of gpubench, since any of these may change the peaks, and a file for each CPU, machine
//! and number of threads. Stored files are named `ceilings`, as are their format and its errors.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{folders::cache_folder, format::MEASURED_PEAKS, replace::replace};
use crate::device_info::{DRIVER, DRIVER_FOR_CUDA, THREADS, UUID};
use crate::{DeviceInfo, Peak, PeakSource};
use gpubench_stats::Rate;

/// The folder of the files with measured peaks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeakCache {
    folder: PathBuf,
    /// The name of this machine and of the program's build, a part of the names of files for CPUs.
    machine: String,
}

/// A measured peak of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPeak {
    /// The benchmark that measured it.
    pub name: String,
    /// The peak that the benchmark reached.
    pub peak: Peak,
}

impl MeasuredPeak {
    /// Sorts peaks by quantity. The highest one of each quantity comes first, since results are compared
    /// with it.
    pub fn sort(peaks: &mut [Self]) {
        gpubench_stats::sort_by(peaks, |Self { peak: a, .. }, Self { peak: b, .. }| {
            a.quantity.cmp(&b.quantity).then(b.value.total_cmp(&a.value))
        });
    }
}

/// The JSON document of a file with measured peaks.
#[derive(Serialize, Deserialize)]
struct PeakFile {
    schema: String,
    #[serde(rename = "ceilings")]
    peaks: Vec<MeasuredPeak>,
}

impl PeakCache {
    /// Returns the cache in `folder`, or in the user's cache folder if `folder` is `None`. Returns `None` if
    /// the user has no such folder either. `machine` names this machine and the program's build: peaks of
    /// a CPU are valid for these alone.
    pub fn in_folder(folder: Option<&Path>, machine: &str) -> Option<Self> {
        let machine = machine.to_owned();
        folder.map(Path::to_owned).or_else(cache_folder).map(|folder| Self { folder, machine })
    }

    /// Returns the path of the file for a device's peaks. Its name contains the device, the driver and the
    /// version of gpubench for which the peaks are valid. `None` for a GPU without a UUID or the driver's
    /// version of CUDA, and for a CPU without a number of threads.
    fn path(&self, info: &DeviceInfo) -> Option<PathBuf> {
        let device = if info.runs_program_code {
            format!("{} with {} threads of {}", info.name, info.count(THREADS)?, self.machine)
        } else {
            let release = info.text(DRIVER).map(|release| format!("{release} ")).unwrap_or_default();
            format!("{}_driver-{release}CUDA {}", info.text(UUID)?, info.text(DRIVER_FOR_CUDA)?)
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '-' };
        let name: String = device.chars().map(plain).collect();
        let version = env!("CARGO_PKG_VERSION");
        Some(self.folder.join("ceilings").join(format!("{name}_gpubench-{version}.json")))
    }

    /// Reads the peaks of this device; empty if there is no file, or if the device has no identity.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    pub fn read(&self, info: &DeviceInfo) -> Result<Vec<MeasuredPeak>, String> {
        let Some(place) = self.path(info) else { return Ok(Vec::new()) };
        read_file(&place).map_err(|why| {
            format!("{}: {why}; it is not used, and --measure-peaks writes it anew", place.display())
        })
    }

    /// Deletes the file with the peaks of this device, if there is one.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn forget(&self, info: &DeviceInfo) -> Result<(), String> {
        let Some(place) = self.path(info) else { return Ok(()) };
        match fs::remove_file(&place) {
            Err(error) if place.exists() => Err(storing_error(&place, &error)),
            _ => Ok(()),
        }
    }

    /// Adds `peaks` to the file of this device. They replace earlier ones of the same name, and a damaged
    /// file. Returns the path of the file; `None` if `peaks` is empty, or if the device has no identity
    /// that a later run could recognise.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep(&self, info: &DeviceInfo, peaks: &[MeasuredPeak]) -> Result<Option<PathBuf>, String> {
        let Some(place) = self.path(info).filter(|_| !peaks.is_empty()) else {
            return Ok(None);
        };
        // A damaged file is replaced.
        let mut merged = self.read(info).unwrap_or_default();
        merged.retain(|old| peaks.iter().all(|new| new.name != old.name));
        merged.extend_from_slice(peaks);
        MeasuredPeak::sort(&mut merged);
        let contents = PeakFile { schema: MEASURED_PEAKS.schema.to_owned(), peaks: merged };
        let folder = place.parent().map_or(Ok(()), fs::create_dir_all);
        let written =
            folder.and_then(|()| replace(&place, &|out| out.write_all(&serde_json::to_vec(&contents)?)));
        written.map_err(|error| storing_error(&place, &error))?;
        Ok(Some(place))
    }
}

/// Returns the message that the peaks in the file `place` cannot be stored or removed.
fn storing_error(place: &Path, error: &io::Error) -> String {
    format!("the measured peaks cannot be stored in {}: {error}", place.display())
}

/// Reads the peaks in the file `place`; empty if there is no file. Fails if the file cannot be read, is
/// damaged, or contains a peak that was not measured or is not above zero.
fn read_file(place: &Path) -> Result<Vec<MeasuredPeak>, String> {
    let json = match fs::read(place) {
        // Without a cache folder there is no file either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        json => json.map_err(|error| error.to_string())?,
    };
    let contents: PeakFile = MEASURED_PEAKS.read(&json).map_err(|error| error.to_string())?;
    let sound = |MeasuredPeak { peak, .. }: &MeasuredPeak| {
        peak.source == PeakSource::Measured && peak.value.is_finite() && peak.value > Rate::ZERO
    };
    match contents.peaks.iter().find(|measured| !sound(measured)) {
        Some(measured) => Err(format!("`{}` is not a peak that can have been measured", measured.name)),
        None => Ok(contents.peaks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_info::Quantity;
    use crate::device_info::Value;

    fn info(uuid: &str, driver: &str) -> DeviceInfo {
        let text = |text: &str| Value::Text(text.to_owned());
        let gpu = DeviceInfo::new("cuda:0", "NVIDIA H200");
        gpu.with_property(UUID, text(uuid)).with_property(DRIVER_FOR_CUDA, text(driver))
    }

    fn measured(name: &str, value: f64) -> MeasuredPeak {
        let peak = Peak::new(Quantity::MemoryBandwidth, Rate(value), PeakSource::Measured, "reads");
        MeasuredPeak { name: name.to_owned(), peak }
    }

    fn read(kept: &PeakCache, info: &DeviceInfo) -> Result<Vec<MeasuredPeak>, String> {
        kept.read(info).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_kept_is_found_by_the_same_gpu_and_driver_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = PeakCache::in_folder(Some(folder.path()), "here").expect("a folder was given");
        let gpu = info("GPU-1", "13.0");
        assert_eq!(read(&kept, &gpu), Ok(Vec::new()));
        let place = kept
            .keep(&gpu, &[measured("read", 4.4e12), measured("write", 4.1e12)])
            .expect("it can be written");
        assert!(place.is_some_and(|place| place.is_file()));
        // Some of them measured again.
        _ = kept.keep(&gpu, &[measured("read", 4.5e12)]).expect("it can be written");
        assert_eq!(read(&kept, &gpu), Ok(vec![measured("read", 4.5e12), measured("write", 4.1e12)]));
        // The highest is the first.
        _ = kept.keep(&gpu, &[measured("write", 4.7e12)]).expect("it can be written");
        assert_eq!(read(&kept, &gpu), Ok(vec![measured("write", 4.7e12), measured("read", 4.5e12)]));
        for other in [info("GPU-2", "13.0"), info("GPU-1", "13.1")] {
            assert_eq!(read(&kept, &other), Ok(Vec::new()));
        }
        // A device without such properties is never mistaken for another.
        let host = DeviceInfo::new(gpu.device, gpu.name);
        assert_eq!(kept.keep(&host, &[measured("read", 1.0)]).expect("nothing is written"), None);
        assert_eq!(read(&kept, &host), Ok(Vec::new()));
        // Nothing else is left lying about.
        assert_eq!(fs::read_dir(folder.path().join("ceilings")).expect("it is there").count(), 1);
    }

    #[test]
    fn peaks_of_a_cpu_hold_for_its_machine_and_number_of_threads() {
        let folder = tempfile::tempdir().expect("a folder");
        let on = |machine| PeakCache::in_folder(Some(folder.path()), machine).expect("a folder was given");
        let cpu = |name: &str, threads| {
            let mut info = DeviceInfo::new("host", name).with_property(THREADS, Value::Count(threads));
            info.runs_program_code = true;
            info
        };
        let own = cpu("a CPU", 2);
        assert!(on("node 1").keep(&own, &[measured("memory", 27e9)]).expect("it can be written").is_some());
        assert_eq!(read(&on("node 1"), &own), Ok(vec![measured("memory", 27e9)]));
        for other in [cpu("a CPU", 4), cpu("another CPU", 2)] {
            assert_eq!(read(&on("node 1"), &other), Ok(Vec::new()), "{other:?}");
        }
        assert_eq!(read(&on("node 2"), &own), Ok(Vec::new()));
    }

    #[test]
    fn a_damaged_file_is_told_and_written_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = PeakCache::in_folder(Some(folder.path()), "here").expect("a folder was given");
        let gpu = info("GPU-1", "13.0");
        let place =
            kept.keep(&gpu, &[measured("read", 1e12)]).expect("it can be written").expect("it has one");
        let whole = fs::read_to_string(&place).expect("it is there");
        fs::write(&place, &whole[1..]).expect("it can be written");
        let told = read(&kept, &gpu).expect_err("it is of no use");
        let words = format!("{}: this is no file of measured peaks", place.display());
        assert!(told.starts_with(&words), "{told}");
        assert!(told.ends_with("it is not used, and --measure-peaks writes it anew"), "{told}");
        _ = kept.keep(&gpu, &[measured("write", 2e12)]).expect("it can be written");
        assert_eq!(read(&kept, &gpu), Ok(vec![measured("write", 2e12)]));
        // A newer version may have changed anything but the schema.
        fs::write(&place, r#"{"schema": "gpubench-ceilings/2", "of": "GPU-1"}"#).expect("it can be written");
        let newer = "its format is `gpubench-ceilings/2`, not `gpubench-ceilings/1`: read it with the gpubench that wrote it";
        assert!(read(&kept, &gpu).is_err_and(|told| told.contains(newer)));
        _ = kept.keep(&gpu, &[measured("read", -1.0)]).expect("it can be written");
        assert!(
            read(&kept, &gpu)
                .is_err_and(|told| told.contains("`read` is not a peak that can have been measured"))
        );
    }

    #[test]
    fn a_file_is_named_by_all_that_its_peaks_depend_on() {
        let gpu = info("GPU-1/x", "13.0").with_property(DRIVER, Value::Text("580.1".to_owned()));
        let cache = PeakCache::in_folder(Some(Path::new("cache")), "here").expect("a folder was given");
        let path = cache.path(&gpu).expect("it has a UUID and a driver");
        let version = env!("CARGO_PKG_VERSION");
        let name = format!("cache/ceilings/GPU-1-x_driver-580.1-CUDA-13.0_gpubench-{version}.json");
        assert_eq!(path, Path::new(&name));
    }

    #[test]
    fn peaks_are_in_the_order_of_their_quantities_and_the_highest_is_the_first() {
        let of = |quantity: Quantity, value| {
            let peak = Peak::new(quantity, Rate(value), PeakSource::Measured, "reads");
            MeasuredPeak { name: "read".to_owned(), peak }
        };
        let (memory, link) = (Quantity::MemoryBandwidth, Quantity::HostToDevice);
        let mut sorted = [(&link, 1.0), (&memory, 3.0), (&link, 2.0), (&memory, 4.0)]
            .map(|(of_what, value)| of(of_what.clone(), value));
        MeasuredPeak::sort(&mut sorted);
        let values = sorted.map(|measured| measured.peak.value.0);
        let by_quantity = if memory < link { [4.0, 3.0, 2.0, 1.0] } else { [2.0, 1.0, 4.0, 3.0] };
        assert_eq!(values, by_quantity);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a file");
        fs::write(&file, "").expect("it can be written");
        let kept = PeakCache::in_folder(Some(&file), "here").expect("a folder was given");
        let told = kept.keep(&info("GPU-1", "13.0"), &[measured("read", 1.0)]).expect_err("it is no folder");
        assert!(told.to_string().starts_with("the measured peaks cannot be stored in "), "{told}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = PeakCache::in_folder(Some(folder.path()), "here").expect("a folder was given");
        let gpu = info("GPU-1", "13.0");
        let place =
            kept.keep(&gpu, &[measured("read", 1e12)]).expect("it can be written").expect("it has one");
        fs::remove_file(&place).expect("it is there");
        fs::create_dir(&place).expect("nothing is there");
        assert!(read(&kept, &gpu).is_err_and(|told| told.contains("Is a directory")));
    }
}
