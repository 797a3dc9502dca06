//! The energies of a problem's variants, as its text and its page show them. In: a race with energies; out: its rows, those on the front
//! first, and sentences.

use std::collections::BTreeMap;

use gpubench_records::tuning::{TunedEnergy, TunedProblem, TunedVariant};
use gpubench_stats::Ratio;
use gpubench_stats::format::{self, counted};
use gpubench_stats::race::FrontStanding;
use gpubench_stats::units::Joules;

use super::words::names;

/// A variant whose energy was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnergyRow<'a> {
    pub(super) variant: &'a TunedVariant,
    pub(super) per_launch: Joules,
    /// Its energy over the fastest one's.
    pub(super) ratio: Option<Ratio>,
    pub(super) standing: FrontStanding,
}

impl<'a> EnergyRow<'a> {
    pub(super) fn of(variant: &'a TunedVariant) -> Option<Self> {
        let TunedEnergy::Measured { per_launch, ratio, standing, .. } = *variant.energy.as_ref()? else {
            return None;
        };
        Some(Self { variant, per_launch, ratio, standing })
    }

    /// The place of its kind in a list, and its time over the best's.
    fn rank(&self) -> (usize, f64) {
        let kind = match self.standing {
            FrontStanding::Front => 0,
            FrontStanding::Undecided => 1,
            FrontStanding::Dominated => 2,
        };
        (kind, self.variant.ratio.map_or(f64::INFINITY, |ratio| ratio.value))
    }

    /// Its place in a word.
    pub(super) fn word(&self) -> &'static str {
        match self.standing {
            FrontStanding::Front => "front",
            FrontStanding::Undecided => "undecided",
            FrontStanding::Dominated => "dominated",
        }
    }
}

/// The variants whose energies were measured: the front, the undecided and the dominated, each from the fastest on.
pub(super) fn rows(problem: &TunedProblem) -> Vec<EnergyRow<'_>> {
    let mut rows: Vec<EnergyRow<'_>> = problem.variants.iter().filter_map(EnergyRow::of).collect();
    rows.sort_by(|a, b| {
        let ((a, faster), (b, slower)) = (a.rank(), b.rank());
        a.cmp(&b).then(faster.total_cmp(&slower))
    });
    rows
}

/// The number of rows with this place.
pub(super) fn count(rows: &[EnergyRow<'_>], standing: FrontStanding) -> usize {
    rows.iter().filter(|row| row.standing == standing).count()
}

/// The sentence above the rows.
pub(super) fn summary(rows: &[EnergyRow<'_>]) -> String {
    let [front, undecided] = [FrontStanding::Front, FrontStanding::Undecided].map(|one| count(rows, one));
    let undecided = if undecided > 0 { format!(", {undecided} undecided") } else { String::new() };
    let measured = counted(rows.len(), "variant");
    format!("energy of a launch, hot, of {measured}: {front} on the front of time and energy{undecided}")
}

/// The reasons that energies are not known, each once.
pub(super) fn refusals(problem: &TunedProblem) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&TunedVariant>> = BTreeMap::new();
    for variant in &problem.variants {
        if let Some(TunedEnergy::Refused(why)) = &variant.energy {
            reasons.entry(why).or_default().push(variant);
        }
    }
    let sentence = |(why, variants): (&str, Vec<&TunedVariant>)| {
        let others = match variants.len() {
            1 => String::new(),
            number => format!(" and {} more", number - 1),
        };
        format!("{}{others}: energy not known: {why}", names(&variants[0].args))
    };
    reasons.into_iter().map(sentence).collect()
}

/// The change of a time from the fastest one's.
pub(super) fn time(row: &EnergyRow<'_>) -> String {
    let change = change(row.variant.ratio);
    if change.is_empty() { "fastest".to_owned() } else { change }
}

/// A change from the fastest one's, which is none of its own.
pub(super) fn change(ratio: Option<Ratio>) -> String {
    ratio.filter(|ratio| ratio.low < ratio.high).map(|ratio| format::change(ratio.value)).unwrap_or_default()
}

/// The interval of a change, likewise.
pub(super) fn interval(ratio: Option<Ratio>) -> String {
    let ratio = ratio.filter(|ratio| ratio.low < ratio.high);
    ratio.map(|ratio| format::changes(ratio.low, ratio.high)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::tuning::tuning;
    use gpubench_records::tuning::{Objective, Tuning};
    use gpubench_stats::units::Watts;

    /// Recorded races, with energies of the first problem's variants.
    fn with_energies() -> Tuning {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../gpubench-records/tests/tuning.json");
        let json = std::fs::read(file).expect("it is there");
        let mut tuning = Tuning::parse(&json).expect("a tuning");
        tuning.method.objective = Objective::Energy;
        let variants = &mut tuning.benchmarks[0].problems[0].variants;
        let energies =
            [(1.0, FrontStanding::Undecided), (1.02, FrontStanding::Dominated), (0.8, FrontStanding::Front)];
        for (variant, (value, standing)) in variants.iter_mut().zip(energies) {
            let half = if value == 1.0 { 0.0 } else { 0.01 };
            let ratio = Ratio { value, low: value - half, high: value + half, confidence: 0.99 };
            let (per_launch, power) = (Joules(0.05 * value), Watts(400.0));
            let ratio = Some(ratio);
            variant.energy =
                Some(TunedEnergy::Measured { per_launch, power, ratio, standing, measurements: 8 });
        }
        let problem = &mut tuning.benchmarks[0].problems[1];
        problem.variants[0].energy =
            Some(TunedEnergy::Refused("the device <b>does</b> not count".to_owned()));
        tuning
    }

    #[test]
    fn the_front_is_told_first_and_what_is_not_known_says_why() {
        let text = anstream::adapter::strip_str(&tuning(&with_energies(), Page::default())).to_string();
        let from = text.find("  energy of a launch").expect("it is told");
        let lines: Vec<&str> = text[from..].lines().take(4).collect();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            lines.iter().map(|line| words(line)).collect::<Vec<_>>(),
            [
                "energy of a launch, hot, of 3 variants: 1 on the front of time and energy, 1 undecided",
                "BLOCK=256, unroll=1 +3.96 % 40.0 mJ -20.00 % (-21.00 to -19.00 %) front",
                "BLOCK=128, unroll=1 fastest 50.0 mJ undecided",
                "BLOCK=128, unroll=2 +0.22 % 51.0 mJ +2.00 % (+1.00 to +3.00 %) dominated",
            ]
        );
        assert!(
            text.contains("BLOCK=256, unroll=2: energy not known: the device <b>does</b> not count"),
            "{text}"
        );
        assert!(text.contains("In as many the intervals of energies do."), "{text}");
        let mut without = with_energies();
        without.method.objective = Objective::Time;
        without.benchmarks[0].problems.truncate(0);
        assert!(!tuning(&without, Page::default()).contains("energ"));
    }
}
