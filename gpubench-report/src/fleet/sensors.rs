//! The differences of a GPU from what is usual in its group: sensor readings and properties.

use std::collections::{BTreeMap, BTreeSet};

use gpubench_records::device_info::{DeviceInfo, Quantity, UUID};
use gpubench_stats::format::{clock, percent, power};
use gpubench_stats::median_of;
use gpubench_stats::units::{Hertz, Watts};

use super::groups::{Entry, Group};
use super::runs::Reading;

/// A sensor: its name, its reading, the least difference from a usual reading that is reported, and the text of a reading.
type Sensor = (&'static str, fn(&Reading) -> Option<f64>, fn(f64) -> f64, fn(f64) -> String);

const SENSORS: [Sensor; 4] = [
    ("clock", |reading| reading.clock, |usual| 0.01 * usual, |at| clock(Hertz(at as u64))),
    ("power", |reading| reading.power, |usual| 0.05 * usual, |at| power(Watts(at))),
    ("temperature", |reading| reading.temperature, |_| 8.0, |at| format!("{at:.0} °C")),
    (
        "other processes on the GPU",
        |reading| Some(reading.other_processes.into()),
        |_| 0.5,
        |at| format!("{at:.0}"),
    ),
];
/// The least difference in the share of rows that a cause slowed.
const SLOWED: f64 = 0.2;

/// Returns the differences of each GPU, a sentence each.
pub(super) fn differences(group: &Group) -> Vec<Vec<String>> {
    let mut by_gpu: Vec<Vec<&Entry>> = vec![Vec::new(); group.gpus.len()];
    group.entries.iter().for_each(|entry| by_gpu[entry.gpu].push(entry));
    let mut found = vec![Vec::new(); by_gpu.len()];
    let mut compare =
        |name: &str, values: Vec<Option<f64>>, least: fn(f64) -> f64, text: fn(f64) -> String| {
            let Some(usual) = median(values.iter().copied().flatten()) else { return };
            for (found, value) in found.iter_mut().zip(values) {
                if let Some(value) = value.filter(|value| (value - usual).abs() >= least(usual)) {
                    found.push(format!("{name} {} ({} is usual)", text(value), text(usual)));
                }
            }
        };
    for (name, read, least, text) in SENSORS {
        let of_gpu = |entries: &Vec<&Entry>| median(entries.iter().filter_map(|entry| read(&entry.reading)));
        compare(name, by_gpu.iter().map(of_gpu).collect(), least, text);
    }
    let causes: BTreeSet<&String> =
        group.entries.iter().flat_map(|entry| &entry.reading.throttle_reasons).collect();
    for cause in causes {
        let share = |entries: &Vec<&Entry>| {
            let slowed = entries.iter().filter(|entry| entry.reading.throttle_reasons.contains(cause));
            Some(slowed.count() as f64 / entries.len() as f64)
        };
        let name = format!("rows with clocks held down by {cause}");
        compare(&name, by_gpu.iter().map(share).collect(), |_| SLOWED, percent);
    }
    let usual = usual_properties(group);
    for (found, gpu) in found.iter_mut().zip(&group.gpus) {
        for (name, value) in properties(&gpu.info) {
            if let Some(usual) = usual.get(&name).filter(|usual| **usual != value) {
                found.push(format!("{name} {value} ({usual} is usual)"));
            }
        }
    }
    found
}

/// Returns the values that more than half of the GPUs have.
fn usual_properties(group: &Group) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for property in group.gpus.iter().flat_map(|gpu| properties(&gpu.info)) {
        *counts.entry(property).or_default() += 1;
    }
    counts.retain(|_, count| 2 * *count > group.gpus.len());
    counts.into_keys().collect()
}

/// Returns the names and the values of a GPU's properties and of its bus.
fn properties(info: &DeviceInfo) -> Vec<(String, String)> {
    let bus =
        info.peak(&Quantity::HostToDevice).map(|peak| ("bus to the host".to_owned(), peak.method.clone()));
    let own = info.properties.iter().filter(|property| property.name != UUID).map(|property| {
        let text = property.to_string().replacen(&property.name, "", 1);
        (property.name.clone(), text.trim().to_owned())
    });
    own.chain(bus).collect()
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    median_of(&mut values.collect::<Vec<_>>())
}
