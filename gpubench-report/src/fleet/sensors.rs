//! The differences of a GPU from what is usual in its group: sensor readings and properties.

use std::collections::BTreeMap;

use gpubench_records::device_info::{DeviceInfo, Quantity, UUID};
use gpubench_stats::format::{clock, percent, power};
use gpubench_stats::median_of;
use gpubench_stats::units::{Hertz, Watts};

use super::groups::{Entry, Group};
use super::roof::FleetRoof;
use super::runs::Reading;

/// The least difference of clocks that is reported, of power, and of temperatures in degrees.
const CLOCK: f64 = 0.01;
const POWER: f64 = 0.05;
const TEMPERATURE: f64 = 8.0;
/// The least difference in the share of rows that a cause slowed.
const SLOWED: f64 = 0.2;

type Sensor = fn(&Reading) -> Option<f64>;
/// A sensor with its name, the least difference that is reported, and the text of a reading.
type NamedSensor = (&'static str, Sensor, f64, fn(f64) -> String);

/// Returns the differences of each GPU, a sentence each.
pub(super) fn differences(group: &Group) -> Vec<Vec<String>> {
    let mut by_gpu: Vec<Vec<&Entry>> = vec![Vec::new(); group.gpus.len()];
    group.entries.iter().for_each(|entry| by_gpu[entry.gpu].push(entry));
    let relative: [NamedSensor; 2] = [
        ("clock", |reading| reading.clock, CLOCK, |value| clock(Hertz(value as u64))),
        ("power", |reading| reading.power, POWER, |value| power(Watts(value))),
    ];
    let mut found: Vec<Vec<String>> = vec![Vec::new(); by_gpu.len()];
    for (what, sensor, least, shown) in relative {
        let usual = usual(group, sensor);
        for (found, entries) in found.iter_mut().zip(&by_gpu) {
            for (roof, ratio, at) in unlike(entries, sensor, &usual, least) {
                let on = roof.map(|roof| format!(" on {roof}")).unwrap_or_default();
                let (by, word) = (percent((ratio - 1.0).abs()), if ratio > 1.0 { "higher" } else { "lower" });
                found.push(format!("{what} {by} {word} than usual{on} ({})", shown(at)));
            }
        }
    }
    let temperature: Sensor = |reading| reading.temperature;
    let usual_temperature = usual(group, temperature);
    let slowed: Vec<BTreeMap<&str, f64>> = by_gpu.iter().map(|entries| slowed(entries)).collect();
    let usual_properties = usual_properties(group);
    for (number, (found, entries)) in found.iter_mut().zip(&by_gpu).enumerate() {
        let readings = || entries.iter().filter_map(|entry| Some((entry, temperature(&entry.reading)?)));
        let warmer = median(readings().filter_map(|(entry, at)| Some(at - usual_temperature[entry.case]?)));
        if let (Some(warmer), Some(at)) = (warmer, median(readings().map(|(_, at)| at)))
            && warmer.abs() >= TEMPERATURE
        {
            let word = if warmer > 0.0 { "warmer" } else { "cooler" };
            found.push(format!("{:.0} °C {word} than usual ({at:.0} °C)", warmer.abs()));
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
    }
    found
}

/// Returns the usual reading of each case: the median over GPUs of the median of each.
fn usual(group: &Group, sensor: Sensor) -> Vec<Option<f64>> {
    let mut cases: Vec<BTreeMap<usize, Vec<f64>>> = vec![BTreeMap::new(); group.cases.len()];
    for entry in &group.entries {
        cases[entry.case].entry(entry.gpu).or_default().extend(sensor(&entry.reading));
    }
    let of_case =
        |gpus: BTreeMap<usize, Vec<f64>>| median(gpus.into_values().filter_map(|of| median(of.into_iter())));
    cases.into_iter().map(of_case).collect()
}

/// Returns the roofs on which a GPU's readings differ by at least `least` from the usual ones, each with the ratio to these and the
/// reading; one without a roof, if they differ in the same direction on all.
fn unlike(
    entries: &[&Entry],
    sensor: Sensor,
    usual: &[Option<f64>],
    least: f64,
) -> Vec<(Option<FleetRoof>, f64, f64)> {
    let on = |roof: Option<FleetRoof>| {
        let own = || entries.iter().filter(move |entry| roof.is_none_or(|roof| entry.reading.roof == roof));
        let ratio = median(own().filter_map(|entry| Some(sensor(&entry.reading)? / usual[entry.case]?)))?;
        Some((roof, ratio, median(own().filter_map(|entry| sensor(&entry.reading)))?))
    };
    let mut roofs: Vec<FleetRoof> = entries.iter().map(|entry| entry.reading.roof).collect();
    roofs.sort_unstable();
    roofs.dedup();
    let mut known: Vec<_> = roofs.into_iter().filter_map(|roof| on(Some(roof))).collect();
    let all =
        |differs: &dyn Fn(f64) -> bool| known.len() > 1 && known.iter().all(|(_, ratio, _)| differs(*ratio));
    if all(&|ratio| ratio <= 1.0 - least) || all(&|ratio| ratio >= 1.0 + least) {
        return on(None).into_iter().collect();
    }
    known.retain(|(_, ratio, _)| (ratio - 1.0).abs() >= least);
    known
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
    counts
        .into_iter()
        .filter(|(_, count)| 2 * count > group.gpus.len())
        .map(|(property, _)| property)
        .collect()
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
