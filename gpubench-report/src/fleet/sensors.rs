//! The differences of a GPU from what is usual in its group: sensor readings and properties.

use std::collections::BTreeMap;

use gpubench_records::device_info::{DeviceInfo, Quantity, UUID};
use gpubench_stats::format::{clock, percent, power};
use gpubench_stats::median_of;
use gpubench_stats::units::{Hertz, Watts};

use super::groups::{Entry, Group};
use super::runs::Reading;

/// The least difference in the share of rows that a cause slowed.
const SLOWED: f64 = 0.2;

/// A sensor.
struct Sensor {
    read: fn(&Reading) -> Option<f64>,
    /// The difference of a reading from the usual one, and the least that is reported.
    difference: fn(f64, f64) -> f64,
    least: f64,
    /// The sentence about a difference and the reading.
    sentence: fn(f64, f64) -> String,
}

fn relative(reading: f64, usual: f64) -> f64 {
    reading / usual - 1.0
}

fn higher(difference: f64) -> String {
    format!("{} {}", percent(difference.abs()), if difference > 0.0 { "higher" } else { "lower" })
}

const SENSORS: [Sensor; 3] = [
    Sensor {
        read: |reading| reading.clock,
        difference: relative,
        least: 0.01,
        sentence: |by, at| format!("clock {} than usual ({})", higher(by), clock(Hertz(at as u64))),
    },
    Sensor {
        read: |reading| reading.power,
        difference: relative,
        least: 0.05,
        sentence: |by, at| format!("power {} than usual ({})", higher(by), power(Watts(at))),
    },
    Sensor {
        read: |reading| reading.temperature,
        difference: |reading, usual| reading - usual,
        least: 8.0,
        sentence: |by, at| {
            let word = if by > 0.0 { "warmer" } else { "cooler" };
            format!("{:.0} °C {word} than usual ({at:.0} °C)", by.abs())
        },
    },
];

/// Returns the differences of each GPU, a sentence each.
pub(super) fn differences(group: &Group) -> Vec<Vec<String>> {
    let mut by_gpu: Vec<Vec<&Entry>> = vec![Vec::new(); group.gpus.len()];
    group.entries.iter().for_each(|entry| by_gpu[entry.gpu].push(entry));
    let usual_readings = SENSORS.each_ref().map(|sensor| usual(group, sensor));
    let slowed: Vec<BTreeMap<&str, f64>> = by_gpu.iter().map(|entries| slowed(entries)).collect();
    let usual_properties = usual_properties(group);
    let of_gpu = |(number, entries): (usize, &Vec<&Entry>)| {
        let mut found = Vec::new();
        for (sensor, usual) in SENSORS.iter().zip(&usual_readings) {
            let readings =
                || entries.iter().filter_map(|entry| Some((entry.case, (sensor.read)(&entry.reading)?)));
            let difference = |(case, at): (usize, f64)| Some((sensor.difference)(at, usual[case]?));
            let difference = median(readings().filter_map(difference));
            if let (Some(by), Some(at)) = (difference, median(readings().map(|(_, at)| at)))
                && by.abs() >= sensor.least
            {
                found.push((sensor.sentence)(by, at));
            }
        }
        for (cause, share) in &slowed[number] {
            let usual = median(slowed.iter().map(|of| of.get(cause).copied().unwrap_or(0.0))).unwrap_or(0.0);
            if *share >= usual + SLOWED {
                let [share, usual] = [*share, usual].map(percent);
                found.push(format!("clocks held down by {cause} in {share} of its rows ({usual} is usual)"));
            }
        }
        match entries.iter().map(|entry| entry.reading.other_processes).max() {
            None | Some(0) => {}
            Some(1) => found.push("1 other process on the GPU".to_owned()),
            Some(others) => found.push(format!("{others} other processes on the GPU")),
        }
        for (name, value) in properties(&group.gpus[number].info) {
            if let Some(usual) = usual_properties.get(&name).filter(|usual| **usual != value) {
                found.push(format!("{name} {value} ({usual} is usual)"));
            }
        }
        found
    };
    by_gpu.iter().enumerate().map(of_gpu).collect()
}

/// Returns the usual reading of each case: the median over GPUs of the median of each.
fn usual(group: &Group, sensor: &Sensor) -> Vec<Option<f64>> {
    let mut cases: Vec<BTreeMap<usize, Vec<f64>>> = vec![BTreeMap::new(); group.cases.len()];
    for entry in &group.entries {
        cases[entry.case].entry(entry.gpu).or_default().extend((sensor.read)(&entry.reading));
    }
    let of_case =
        |gpus: BTreeMap<usize, Vec<f64>>| median(gpus.into_values().filter_map(|of| median(of.into_iter())));
    cases.into_iter().map(of_case).collect()
}

/// Returns the share of a GPU's rows that each cause slowed.
fn slowed<'a>(entries: &[&'a Entry]) -> BTreeMap<&'a str, f64> {
    let mut shares = BTreeMap::new();
    for cause in entries.iter().flat_map(|entry| &entry.reading.throttle_reasons) {
        *shares.entry(&**cause).or_default() += 1.0 / entries.len() as f64;
    }
    shares
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
