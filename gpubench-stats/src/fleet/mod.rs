//! A fleet: GPUs of one model that did the same work. In: the logarithm of a median time for each case, GPU and process, with
//! the roof that binds each case; out: for each GPU and roof an effect with its interval, and a [`FleetVerdict`].
//!
//! The model: a logarithm is the centre of its case, plus effects of the host, the GPU and the process, each for the roof
//! that binds the case, plus the case's own deviation on that GPU. GPUs of a model differ by nature, so that the question is
//! not if an effect is zero. It is if this GPU belongs to the others. The steps:
//!
//! 1. `pooled`: one number for each process and roof, from all cases that the roof binds;
//! 2. `spread`: the median of a GPU's processes, and robust spreads between processes, GPUs and hosts;
//! 3. `belongs`: each GPU against the others, by Student's t;
//! 4. `discoveries`: the GPUs that are slow, at a false discovery rate.
//!
//! `docs/fleet.md` has the reasons and the tests of the assumptions.

mod belongs;
mod crowd;
mod discoveries;
mod pooled;
mod spread;

use self::belongs::Column;
use self::pooled::Pooled;
pub use self::spread::Spread;

/// The logarithm of a case's median time, on a GPU, by a process. Cases, GPUs and processes are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The case.
    pub case: usize,
    /// The GPU.
    pub gpu: usize,
    /// The process, among all of the fleet: no two GPUs share one.
    pub process: usize,
    /// The natural logarithm of the median time.
    pub log_time: f64,
}

/// The observations of a fleet with its layout.
#[derive(Clone, Copy, Debug)]
pub struct Fleet<'a> {
    /// The observations, in any order.
    pub observations: &'a [Observation],
    /// The roof that binds each case, numbered from 0.
    pub roofs: &'a [usize],
    /// The host of each GPU, numbered from 0.
    pub hosts: &'a [usize],
}

/// The limits of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetRules {
    /// The least effect that counts as slow, as a fraction: 0.01 is 1 %.
    pub least: f64,
    /// The share of GPUs called slow that may belong to the others, on average.
    pub false_discoveries: f64,
}

impl Default for FleetRules {
    fn default() -> Self {
        Self { least: 0.01, false_discoveries: 0.01 }
    }
}

/// The result for a roof.
#[derive(Clone, Debug, PartialEq)]
pub struct RoofResult {
    /// The spreads of this roof.
    pub spread: Spread,
    /// The standing of each GPU; nothing where it has no case that this roof binds.
    pub gpus: Vec<Option<Standing>>,
}

/// The result for a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetResult {
    /// The result for each roof.
    pub roofs: Vec<RoofResult>,
    /// The number of GPUs that are as far out on the fast side as slow ones are on theirs, by the same tests. Several say that
    /// the spread between GPUs has heavier tails than a normal distribution, so that slow ones may belong to the others.
    pub fast: usize,
}

/// The standing of a GPU among the others, on a roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The time over that of the others, less one: 0.045 is 4.5 % slower.
    pub effect: f64,
    /// The lower end of the 95 % interval of the effect.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability that a GPU which belongs to the others is this slow or slower; nothing if that was not tested.
    pub p: Option<f64>,
    /// The number of processes.
    pub processes: usize,
    /// The range of its processes, highest over lowest, less one.
    pub between_processes: f64,
    /// The number of cases.
    pub cases: usize,
    /// The verdict.
    pub verdict: FleetVerdict,
}

/// The verdict on a GPU and a roof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FleetVerdict {
    /// It does not belong to the others, and is slower by at least what counts.
    Slow,
    /// Nothing says that it does not belong to the others.
    Normal,
    /// Nothing can be said.
    NotEnoughData(Lack),
}

/// The data that a verdict lacks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lack {
    /// There are fewer than [`FEWEST_GPUS`].
    Gpus {
        /// The number that there are.
        gpus: usize,
    },
    /// No GPU was measured by two processes, and there are fewer than [`MANY_GPUS`]: a disturbed process looks like a slow
    /// GPU.
    Processes,
    /// Its processes or cases differ so much that a slow GPU might be missed: its effect is known to no better than ten times
    /// the least that counts.
    Precision {
        /// The half-width, as a fraction.
        half_width: f64,
    },
}

/// The least number of GPUs for a verdict: each is held against three others.
pub const FEWEST_GPUS: usize = 4;
/// The number of GPUs from which on a process each is enough: their spread then contains that of processes.
pub const MANY_GPUS: usize = 8;

/// Judges each GPU of `fleet` on each roof.
///
/// # Panics
/// If an observation's case has no roof, or its GPU no host.
#[must_use]
pub fn judge(fleet: Fleet<'_>, rules: FleetRules) -> FleetResult {
    let pooled = Pooled::of(&fleet);
    let columns: Vec<Column> =
        (0..pooled.roofs()).map(|roof| Column::new(pooled.gpus(roof), fleet.hosts)).collect();
    let found = slow(&columns, rules);
    let mirrored: Vec<Column> = columns.iter().map(Column::mirrored).collect();
    let fast = slow(&mirrored, rules);
    let fast = (0..fleet.hosts.len()).filter(|gpu| fast.iter().any(|found| found[*gpu])).count();
    let roofs = columns.iter().zip(&found).map(|(column, found)| column.result(found, rules.least)).collect();
    FleetResult { roofs, fast }
}

/// Finds the slow GPUs of each column. GPUs that are found leave the others, whose spread then shows the next: each round finds
/// more, or ends.
fn slow(columns: &[Column<'_>], rules: FleetRules) -> Vec<Vec<bool>> {
    let mut found: Vec<Vec<bool>> = columns.iter().map(|column| vec![false; column.len()]).collect();
    loop {
        let tests: Vec<Vec<Option<f64>>> =
            columns.iter().zip(&found).map(|(column, found)| column.tests(found, rules.least)).collect();
        let mut all = discoveries::discoveries(&tests, rules.false_discoveries);
        for (all, found) in all.iter_mut().flatten().zip(found.iter().flatten()) {
            *all |= found;
        }
        if all == found {
            return found;
        }
        found = all;
    }
}
