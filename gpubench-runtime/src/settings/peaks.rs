//! Peaks that the user states for a device: `memory = "4800GB/s"`, `"bf16 tensor" = "800TFLOP/s"`.

use std::collections::BTreeMap;

use gpubench_records::device_info::{DeviceInfo, Peak, PeakSource, Quantity, UUID};
use gpubench_stats::units::Rate;

/// Returns the user's peaks of this device: those of its UUID, then those of its name or of its word on the command line.
pub(crate) fn peaks_of(peaks: &BTreeMap<String, BTreeMap<String, String>>, device: &DeviceInfo) -> Vec<Peak> {
    let names = [device.text(UUID), Some(&device.name), Some(&device.device)];
    let stated = names.into_iter().flatten().filter_map(|name| peaks.get(name)).flatten();
    let peak = |(quantity, value): (&String, &String)| {
        let (quantity, value) = read_peak(quantity, value).ok()?;
        Some(Peak::new(quantity, Rate(value), PeakSource::User, "gpubench.toml"))
    };
    stated.filter_map(peak).collect()
}

const BYTES: [(&str, f64); 3] = [("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)];
const OPERATIONS: [(&str, f64); 3] = [("GFLOP/s", 1e9), ("TFLOP/s", 1e12), ("PFLOP/s", 1e15)];

/// Returns the quantity called `name` and its peak `value`, in bytes or operations per second.
///
/// # Errors
/// Returns what to give instead.
pub(super) fn read_peak(name: &str, value: &str) -> Result<(Quantity, f64), &'static str> {
    if name.trim().is_empty() {
        return Err("name memory, l2, h2d, d2h, p2p or a data type, such as f32");
    }
    let quantity = Quantity::named(name);
    let (units, otherwise) = match quantity {
        Quantity::Compute(_) => (
            &OPERATIONS,
            "give a throughput above 0 in GFLOP/s, TFLOP/s or PFLOP/s; bandwidths are memory, l2, h2d, d2h and p2p",
        ),
        _ => (&BYTES, "give a bandwidth above 0 in MB/s, GB/s or TB/s"),
    };
    Ok((quantity, with_unit(value, units).ok_or(otherwise)?))
}

/// Returns the number before one of these units, in units of 1.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?, factor)))?;
    let value = number.trim_end().parse::<f64>().ok()? * factor;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::device_info::Value;

    fn peaks(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
        toml::from_str(text).expect("TOML")
    }

    #[test]
    fn peaks_are_those_of_the_device_its_uuid_first() {
        let peaks = peaks(
            r#"
            "NVIDIA H200" = { memory = "4800GB/s", "bf16 tensor" = "0.8 PFLOP/s" }
            GPU-1 = { memory = "4.7TB/s" }
            host = { f64 = "2TFLOP/s" }
            "#,
        );
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
            assert!(read_peak(name, value).is_err(), "{name} = {value}");
        }
    }
}
