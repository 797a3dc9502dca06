//! The sensors' word on a GPU. In: its measurements and its properties, and those of the other GPUs; out: the differences
//! from what is usual in the fleet, in words.

use std::collections::BTreeMap;

use super::group::{Entry, Member, of_gpu};
use super::roof::FleetRoof;
use crate::facts::{Facts, Quantity, UUID};
use gpubench_stats::format;
use gpubench_stats::quantile;
use gpubench_stats::units::{Hertz, Watts};

/// Clocks differ by at least this to be told.
const CLOCK: f64 = 0.01;
/// So does power.
const POWER: f64 = 0.05;
/// So do temperatures, in degrees.
const TEMPERATURE: f64 = 8.0;
/// A cause that held clocks down is told if it did in so much more of a GPU's rows than it usually does.
const SLOWED: f64 = 0.2;

/// The usual readings of each case, over all GPUs.
#[derive(Debug)]
pub(super) struct Usual {
    clock: Vec<Option<f64>>,
    power: Vec<Option<f64>>,
    temperature: Vec<Option<f64>>,
    /// The usual share of rows in which each cause held clocks down.
    slowed_by: BTreeMap<String, f64>,
    /// The most frequent value of each property, with the share of GPUs that have it.
    properties: BTreeMap<String, String>,
}

/// Values by GPU, of one case.
type ByGpu = BTreeMap<usize, Vec<f64>>;

impl Usual {
    pub(super) fn of(entries: &[Entry], members: &[Member], cases: usize) -> Self {
        let of_case = |value: fn(&Entry) -> Option<f64>| -> Vec<Option<f64>> {
            let mut by_case: Vec<ByGpu> = vec![ByGpu::new(); cases];
            for entry in entries {
                if let Some(value) = value(entry) {
                    by_case[entry.case].entry(entry.gpu).or_default().push(value);
                }
            }
            let usual = |by_gpu: ByGpu| median(by_gpu.into_values().filter_map(median).collect());
            by_case.into_iter().map(usual).collect()
        };
        let shares: Vec<BTreeMap<String, f64>> =
            (0..members.len()).map(|gpu| slowed(of_gpu(entries, gpu))).collect();
        let causes = shares.iter().flat_map(BTreeMap::keys);
        let usual_share = |cause: &String| {
            let shares = shares.iter().map(|shares| shares.get(cause).copied().unwrap_or_default());
            (cause.clone(), median(shares.collect()).unwrap_or_default())
        };
        Self {
            clock: of_case(clock),
            power: of_case(power),
            temperature: of_case(temperature),
            slowed_by: causes.map(usual_share).collect(),
            properties: usual_properties(members),
        }
    }

    /// The differences of a GPU with these `entries` from what is usual, a sentence each.
    pub(super) fn differences(&self, entries: &[Entry], facts: &Facts) -> Vec<String> {
        let own = || entries.iter();
        let mut found = Vec::new();
        let clocks = by_roof(entries, clock, &self.clock, CLOCK);
        let shown_clock = |clock: f64| format::clock(Hertz(clock as u64));
        found.extend(clocks.into_iter().map(|differs| differs.sentence("clock", shown_clock)));
        let powers = by_roof(entries, power, &self.power, POWER);
        found.extend(
            powers.into_iter().map(|differs| differs.sentence("power", |power| format::power(Watts(power)))),
        );
        let warmer = own().filter_map(|entry| Some(temperature(entry)? - self.temperature[entry.case]?));
        if let Some(warmer) = median(warmer.collect()).filter(|it| it.abs() >= TEMPERATURE) {
            let word = if warmer > 0.0 { "warmer" } else { "cooler" };
            let at = median(own().filter_map(temperature).collect()).unwrap_or_default();
            found.push(format!("{:.0} °C {word} than usual ({at:.0} °C)", warmer.abs()));
        }
        for (cause, share) in slowed(entries) {
            let usual = self.slowed_by.get(&cause).copied().unwrap_or_default();
            if share >= usual + SLOWED {
                let [share, usual] = [share, usual].map(format::percent);
                found.push(format!("clocks held down by {cause} in {share} of its rows ({usual} is usual)"));
            }
        }
        let others = own().map(|entry| entry.measured.other_processes).max().unwrap_or_default();
        if others > 0 {
            let processes = if others == 1 { "process" } else { "processes" };
            found.push(format!("{others} other {processes} on the GPU"));
        }
        found.extend(self.other_properties(facts));
        found
    }

    /// Properties that differ from those of most GPUs.
    fn other_properties(&self, facts: &Facts) -> Vec<String> {
        let own = properties(facts);
        let differs = |(name, usual): (&String, &String)| {
            let value = own.get(name)?;
            (value != usual).then(|| format!("{name} {value} ({usual} is usual)"))
        };
        self.properties.iter().filter_map(differs).collect()
    }
}

/// A reading that differs from what is usual.
struct Differs {
    /// The roof; nothing if it differs on all.
    roof: Option<FleetRoof>,
    /// The part of what is usual.
    ratio: f64,
    /// The reading.
    at: f64,
}

impl Differs {
    fn sentence(&self, what: &str, shown: impl Fn(f64) -> String) -> String {
        let by = format::percent((self.ratio - 1.0).abs());
        let word = if self.ratio > 1.0 { "higher" } else { "lower" };
        let on = self.roof.map(|roof| format!(" on {roof}")).unwrap_or_default();
        format!("{what} {by} {word} than usual{on} ({})", shown(self.at))
    }
}

/// The roofs on which a reading of a GPU differs by at least `least` from the `usual` one of each case; one for all, if it
/// does on each in the same direction.
fn by_roof(
    entries: &[Entry],
    value: fn(&Entry) -> Option<f64>,
    usual: &[Option<f64>],
    least: f64,
) -> Vec<Differs> {
    let on = |takes: &dyn Fn(&&Entry) -> bool, roof| {
        let own = || entries.iter().filter(takes);
        let ratio = median(own().filter_map(|entry| Some(value(entry)? / usual[entry.case]?)).collect())?;
        Some(Differs { roof, ratio, at: median(own().filter_map(value).collect())? })
    };
    let roofs = FleetRoof::ALL.into_iter();
    let known: Vec<Differs> = roofs.filter_map(|roof| on(&|entry| entry.roof == roof, Some(roof))).collect();
    let all_lower = known.iter().all(|it| it.ratio <= 1.0 - least);
    let all_higher = known.iter().all(|it| it.ratio >= 1.0 + least);
    if known.len() > 1 && (all_lower || all_higher) {
        return on(&|_| true, None).into_iter().collect();
    }
    known.into_iter().filter(|it| (it.ratio - 1.0).abs() >= least).collect()
}

fn clock(entry: &Entry) -> Option<f64> {
    entry.measured.clock.map(|Hertz(clock)| clock as f64)
}

fn power(entry: &Entry) -> Option<f64> {
    entry.measured.power.map(Watts::as_f64)
}

fn temperature(entry: &Entry) -> Option<f64> {
    entry.measured.temperature.map(f64::from)
}

/// The share of a GPU's rows in which each cause held its clocks down.
fn slowed(entries: &[Entry]) -> BTreeMap<String, f64> {
    let count = entries.len().max(1) as f64;
    let mut shares = BTreeMap::new();
    for cause in entries.iter().flat_map(|entry| &entry.measured.slowed_by) {
        *shares.entry(cause.clone()).or_insert(0.0) += 1.0 / count;
    }
    shares
}

fn usual_properties(members: &[Member]) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for member in members {
        for (name, value) in properties(&member.facts) {
            *counts.entry(name).or_default().entry(value).or_default() += 1;
        }
    }
    // With a tie, nothing is usual.
    let most = |(name, values): (String, BTreeMap<String, usize>)| {
        let (value, count) = values.iter().max_by_key(|(_, count)| **count)?;
        (2 * count > members.len()).then(|| (name, value.clone()))
    };
    counts.into_iter().filter_map(most).collect()
}

/// The properties of a GPU and its bus in words, but for those that each GPU has for itself.
fn properties(facts: &Facts) -> BTreeMap<String, String> {
    let own = facts.properties.iter().filter(|property| property.name != UUID);
    let shown = own.map(|property| {
        let text = property.to_string();
        let name = &property.name;
        let bare = text.strip_prefix(name.as_str()).or_else(|| text.strip_suffix(name.as_str()));
        (name.clone(), bare.unwrap_or(&text).trim().to_owned())
    });
    let bus =
        facts.peak(&Quantity::HostToDevice).map(|peak| ("bus to the host".to_owned(), peak.method.clone()));
    shown.chain(bus).collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, 0.5))
}
