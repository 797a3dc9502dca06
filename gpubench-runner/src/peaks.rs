//! Peaks that a device does not report: those that the user states in `gpubench.toml`, and those that `--measure-peaks` measured and stored.

use gpubench_records::{DeviceInfo, Peak, PeakSource, Quantity, device_info::UUID};
use gpubench_runtime::{devices::kinds, measured_peaks::PeakCache};
use gpubench_stats::{Rate, Set};

/// A peak that the user states in `gpubench.toml`, as it is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedPeak {
    /// The device: its model such as `NVIDIA H200`, its UUID, or its name on the command line such as
    /// `cuda:0`.
    pub device: String,
    /// The quantity: a bandwidth such as `memory`, or a data type such as `f32`.
    pub quantity: String,
    /// The value with its unit, such as `4800GB/s`.
    pub value: String,
}

/// The peaks that devices do not report: stated by the user, or measured and stored earlier.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeakSources {
    /// The peaks that the user states, by device and quantity.
    pub stated: Vec<StatedPeak>,
    /// The store of measured peaks; `None` if stored peaks are not used.
    pub stored: Option<PeakCache>,
}

impl StatedPeak {
    /// Returns the quantity and its peak, in bytes or operations per second. Any name that is no bandwidth is a data type.
    ///
    /// # Errors
    /// Returns the peak and what to give instead if the name is empty, or if the value is not above 0 or lacks a unit of the quantity.
    pub(crate) fn read(&self) -> Result<(Quantity, f64), String> {
        let Self { device, quantity: name, value } = self;
        let quantity = Quantity::named(name);
        let (units, needs) = match quantity {
            Quantity::Compute(_) => (&COMPUTE_UNITS, "a number above 0 in GFLOP/s, TFLOP/s or PFLOP/s"),
            _ => (&BANDWIDTH_UNITS, "a bandwidth above 0 in MB/s, GB/s or TB/s"),
        };
        let peak = parse_with_unit(value, units).filter(|_| !name.trim().is_empty());
        let refused = || {
            let why = match (&quantity, parse_with_unit(value, &BANDWIDTH_UNITS)) {
                (Quantity::Compute(_), Some(_)) => {
                    format!("no bandwidth is called `{name}`: write memory, l2, h2d, d2h or p2p")
                }
                _ => format!("`{name}` needs {needs}"),
            };
            format!("peaks.\"{device}\".\"{name}\" = \"{value}\": {why}")
        };
        let peak = peak.ok_or_else(refused)?;
        Ok((quantity, peak))
    }
}

impl PeakSources {
    /// Returns a remark for each data type of the stated peaks that is neither known for GPUs nor `used` by a
    /// benchmark. Such a data type may be meant for another program, or be misspelt.
    pub(crate) fn unknown_data_type_remarks(&self, used: impl Iterator<Item = &'static str>) -> Set<String> {
        let known: Vec<&str> = used.chain(kinds::data_types()).collect();
        let unknown = self.stated.iter().filter_map(|peak| match Quantity::named(&peak.quantity) {
            Quantity::Compute(data_type) if !known.contains(&&*data_type) => {
                Some(format!("peaks: no benchmark of this program has the data type `{data_type}`"))
            }
            _ => None,
        });
        unknown.collect()
    }

    /// Adds the stated and the stored peaks of a device to its properties. If the stored peaks cannot be
    /// used, adds only the stated ones and returns a note for the reader of the results; otherwise returns
    /// `None`.
    pub(crate) fn add_to(&self, info: &mut DeviceInfo) -> Option<String> {
        let mut peaks = peaks_of(&self.stated, info);
        let stored = self.stored.as_ref().map_or(Ok(Vec::new()), |stored| stored.read(info));
        peaks.extend(stored.iter().flatten().map(|measured| measured.peak.clone()));
        info.add(peaks);
        stored.err()
    }
}

/// Returns the user's peaks of this device: those stated for its UUID, then those for its model, then those
/// for its name on the command line. Leaves out peaks that cannot be read, which
/// [`Settings::validate`](crate::Settings) refuses.
fn peaks_of(peaks: &[StatedPeak], device: &DeviceInfo) -> Vec<Peak> {
    let names = [device.text(UUID), Some(&device.name), Some(&device.device)];
    let of_name = |name| peaks.iter().filter(move |peak| peak.device == name);
    let stated = names.into_iter().flatten().flat_map(of_name);
    let peak = |stated: &StatedPeak| {
        let (quantity, value) = stated.read().ok()?;
        Some(Peak::new(quantity, Rate(value), PeakSource::User, "gpubench.toml"))
    };
    stated.filter_map(peak).collect()
}

/// The units of a bandwidth, each with its size in bytes per second.
const BANDWIDTH_UNITS: [(&str, f64); 3] = [("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)];
/// The units of arithmetic, each with its size in operations per second.
const COMPUTE_UNITS: [(&str, f64); 3] = [("GFLOP/s", 1e9), ("TFLOP/s", 1e12), ("PFLOP/s", 1e15)];

/// Returns the number before one of these units, multiplied by the size of the unit. `None` if `text` is not
/// a number with one of the units, or if the result is not finite and above 0.
fn parse_with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?, factor)))?;
    let value = number.trim_end().parse::<f64>().ok()? * factor;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use gpubench_records::device_info::Value;

    #[test]
    fn peaks_are_those_of_the_device_its_uuid_first() {
        let text = r#"
            [peaks]
            "NVIDIA H200" = { memory = "4800GB/s", "bf16 tensor" = "0.8 PFLOP/s" }
            GPU-1 = { memory = "4.7TB/s" }
            host = { f64 = "2TFLOP/s" }
        "#;
        let peaks = Settings::from_toml(text).expect("it is right").peaks;
        let of = |name, uuid: &str, device| {
            let mut info = DeviceInfo::new(device, name).with_property(UUID, Value::Text(uuid.to_owned()));
            info.add(peaks_of(&peaks, &info));
            let values = info.peaks.into_iter().map(|peak| (peak.quantity.name().to_owned(), peak.value.0));
            values.collect::<Vec<_>>()
        };
        let [memory, tensor] =
            [("memory", 4.8e12), ("bf16 tensor", 800e12)].map(|(name, value)| (name.to_owned(), value));
        let h200 = of("NVIDIA H200", "GPU-2", "cuda:0");
        assert!(h200.len() == 2 && h200.contains(&memory) && h200.contains(&tensor), "{h200:?}");
        assert_eq!(of("NVIDIA H200", "GPU-1", "cuda:0")[0], ("memory".to_owned(), 4.7e12));
        assert_eq!(of("a CPU", "", "host"), [("f64".to_owned(), 2e12)]);
        assert_eq!(of("NVIDIA H100", "GPU-3", "cuda:1"), []);
    }

    #[test]
    fn a_peak_has_a_unit_of_its_quantity() {
        for (name, value) in [
            ("memory", "4800"),
            ("memory", "60TFLOP/s"),
            ("p2p", "60TFLOP/s"),
            ("memory", "0GB/s"),
            ("memory", "infGB/s"),
            ("f32", "4800GB/s"),
            ("f32", "-1TFLOP/s"),
            ("mem", "4800GB/s"),
            ("", "1GB/s"),
        ] {
            let [device, quantity, value] = ["x", name, value].map(str::to_owned);
            let stated = StatedPeak { device, quantity, value };
            assert!(stated.read().is_err(), "{stated:?}");
        }
    }
}
