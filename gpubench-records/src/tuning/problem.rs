//! The race of one problem. In: its variants with their placings, or their failures; out: a [`TunedProblem`], the best first.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::id::Arg;
use crate::work::Counts;
use gpubench_stats::Ratio;
use gpubench_stats::race::{Placing, Standing};
use gpubench_stats::units::Nanoseconds;

/// The race of a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedProblem {
    /// The arguments that are the problem.
    pub args: Vec<Arg>,
    /// The reason that it ended.
    pub ended: RaceEnd,
    /// The variants: the best, its ties, the undecided, the slower, those left behind, those not measured and those that failed; of a
    /// kind the faster first.
    pub variants: Vec<TunedVariant>,
    /// The beginning of the race and each look: what they left.
    #[serde(default)]
    pub looks: Vec<TunedLook>,
    /// The number of variants that the benchmark skips.
    pub skipped: usize,
    /// The time that it took.
    pub wall: Nanoseconds,
}

/// The reason that a race ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RaceEnd {
    /// Every variant is decided.
    Decided,
    /// The last look left some undecided.
    LastLook,
    /// The budget was spent.
    Budget,
    /// The user stopped it, or nothing more could be measured.
    Stopped,
}

/// What is left behind a look, or at the beginning. A look decides about variants; there is one behind each round of steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedLook {
    /// The steps until then, of all variants together. A step is some rounds of two variants in turn.
    pub steps: usize,
    /// The time since the race of this problem began.
    pub at: Nanoseconds,
    /// The variants that are not out: the leader, its ties and the undecided.
    pub left: usize,
    /// Those of them that are undecided.
    pub undecided: usize,
    /// The leader from then on.
    pub leader: Vec<Arg>,
}

/// A variant of a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedVariant {
    /// The arguments that are the variant.
    pub args: Vec<Arg>,
    /// Its standing.
    pub standing: Standing,
    /// Its time over the best's, with an interval. All intervals of a race hold together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// The pairs of rounds that it was compared in.
    pub pairs: usize,
    /// The look of the race, from 1, that decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<usize>,
    /// Its time when it was measured alone, briefly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarse: Option<Nanoseconds>,
    /// The work of one launch, as the benchmark claims.
    #[serde(default)]
    pub counts: Counts,
    /// True if its outputs were checked, and were right.
    pub checked: bool,
    /// The reason that it is out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

impl TunedVariant {
    /// A variant of this standing, of which nothing else is known yet.
    #[must_use]
    pub fn failed_or(args: Vec<Arg>, standing: Standing) -> Self {
        Self {
            args,
            standing,
            ratio: None,
            pairs: 0,
            decided_at: None,
            coarse: None,
            counts: Counts::default(),
            checked: false,
            failure: None,
        }
    }

    /// Takes what the race has found.
    pub fn place(&mut self, placing: &Placing) {
        let Placing { standing, ratio, pairs, decided_at } = *placing;
        (self.standing, self.ratio, self.pairs, self.decided_at) = (standing, ratio, pairs, decided_at);
    }

    /// Returns the place of its kind in a list, and its time over the best's, or alone.
    fn rank(&self) -> (usize, f64) {
        let kind = match self.standing {
            Standing::Best => 0,
            Standing::Tie => 1,
            Standing::Undecided => 2,
            Standing::Slower => 3,
            Standing::LeftBehind => 4,
            Standing::NotMeasured => 5,
            Standing::Failed => 6,
        };
        let coarse = self.coarse.map_or(f64::INFINITY, Nanoseconds::as_f64);
        (kind, self.ratio.map_or(coarse, |ratio| ratio.value))
    }
}

impl TunedProblem {
    /// Returns the winner, if every variant was measured and one of them works.
    #[must_use]
    pub fn best(&self) -> Option<&TunedVariant> {
        self.variants.iter().find(|variant| variant.standing == Standing::Best)
    }

    /// Returns the variants of this standing.
    pub fn of(&self, standing: Standing) -> impl Iterator<Item = &TunedVariant> {
        self.variants.iter().filter(move |variant| variant.standing == standing)
    }

    /// Puts the best first.
    pub fn sort(&mut self) {
        self.variants.sort_by(|a, b| {
            let ((a, faster), (b, slower)) = (a.rank(), b.rank());
            a.cmp(&b).then(faster.total_cmp(&slower))
        });
    }
}
