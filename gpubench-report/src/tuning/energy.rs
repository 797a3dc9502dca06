//! The energies of a problem's variants, as its text and its page show them. In: a race with energies; out: its rows, those on the front
//! first, and sentences.

use std::collections::BTreeMap;

use gpubench_records::tuning::{TunedEnergy, TunedProblem, TunedVariant};
use gpubench_stats::Ratio;
use gpubench_stats::format::{self, counted};
use gpubench_stats::race::FrontStanding;
use gpubench_stats::units::{Joules, Watts};

use super::words::names;

/// A variant whose energy was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnergyRow<'a> {
    pub(super) variant: &'a TunedVariant,
    pub(super) per_launch: Joules,
    pub(super) power: Watts,
    /// Its energy over the fastest one's.
    pub(super) ratio: Option<Ratio>,
    pub(super) standing: FrontStanding,
}

impl<'a> EnergyRow<'a> {
    pub(super) fn of(variant: &'a TunedVariant) -> Option<Self> {
        let TunedEnergy::Measured { per_launch, power, ratio, standing, .. } = *variant.energy.as_ref()?
        else {
            return None;
        };
        Some(Self { variant, per_launch, power, ratio, standing })
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

/// A change from the fastest one's, which is none of its own.
pub(super) fn change(ratio: Option<Ratio>) -> String {
    ratio.filter(|ratio| ratio.low < ratio.high).map(|ratio| format::change(ratio.value)).unwrap_or_default()
}

/// The interval of a change, likewise.
pub(super) fn interval(ratio: Option<Ratio>) -> String {
    let ratio = ratio.filter(|ratio| ratio.low < ratio.high);
    ratio.map(|ratio| format::changes(ratio.low, ratio.high)).unwrap_or_default()
}
