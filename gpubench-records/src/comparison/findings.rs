//! The stored results of comparisons: of two cases that took turns, and of a run that was compared with a baseline. Plain data,
//! which records hold and reports show.

use super::{Answer, Threshold};
use crate::method::Cache;
use gpubench_stats::Ratio;
use gpubench_stats::units::Nanoseconds;

gpubench_stats::stored! {
    /// The result of timing two launches in turn.
    pub struct Comparison {
        /// The time of this launch over that of the other. Nothing if there were too few rounds for an interval.
        pub ratio: Option<Ratio>,
        /// The band within which a difference does not matter, as a fraction.
        pub equivalence_margin: f64,
        /// The answer that follows.
        pub answer: Answer,
        /// The rounds, in the order in which they were taken.
        pub rounds: Vec<Round>,
        /// The random number that the places of the rounds' inputs were drawn with. Nothing in runs whose places took turns.
        pub seed: Option<u64>,
    }
}

impl Comparison {
    /// Returns true if this launch is slower than allowed. The rounds show the spread between processes.
    pub fn regressed(&self, threshold: Threshold) -> bool {
        self.ratio.is_some_and(|ratio| threshold.is_passed(&ratio, self.answer, true))
    }
}

gpubench_stats::stored! {
    /// A round: new inputs for both launches, and samples that alternate. Each two share the places of their inputs, which the
    /// launches swap between them.
    #[derive(Copy)]
    pub struct Round {
        /// The number of samples of each.
        pub pairs: usize,
        /// The logarithm of this launch's time over the other's: the interquartile mean of the pairs', their median in old runs.
        pub log_ratio: f64,
    }

    /// The result of comparing a run with a baseline.
    pub struct BaselineComparison {
        /// The baseline's name.
        pub baseline: String,
        /// The difference that does not matter, as a fraction.
        pub equivalence_margin: f64,
        /// The number of rows that the answers were decided for together. Nothing in old runs, whose rows were each decided alone.
        pub tested_together: Option<usize>,
        /// The differences of the environment, each once.
        pub remarks: Vec<String>,
        /// A line for each case of the run, in its order.
        pub findings: Vec<CaseFinding>,
        /// The cases of the baseline that the run should have and lacks.
        pub missing: Vec<String>,
    }

    /// The finding about a case.
    pub struct CaseFinding {
        /// The case's name.
        pub name: String,
        /// Its device.
        pub device: String,
        /// Its cache state.
        pub cache: Cache,
        /// The finding.
        pub finding: Finding,
    }

    /// The difference between two processes of one program that a comparison assumes.
    #[derive(Copy)]
    #[serde(rename_all = "kebab-case")]
    pub enum AssumedSpread {
        /// Up to this fraction.
        UpTo(f64),
        /// Any difference: one of the times is suspect because it was not steady or not the launch's alone.
        Any,
    }

    /// The standing of a case against the baseline.
    #[serde(rename_all = "kebab-case")]
    pub enum Finding {
        /// It was compared.
        Compared {
            /// The time now over the time then.
            ratio: Ratio,
            /// The time now: the median, or the geometric mean of the medians of several processes.
            time: Nanoseconds,
            /// The time then, likewise.
            baseline_time: Nanoseconds,
            /// The number of processes that measured it, now and then.
            processes: [usize; 2],
            /// True if the interval contains the spread between processes on this device, which takes three processes or more in
            /// all.
            noise_known: bool,
            /// The difference between processes that the answer allows for because one process on each side does not show it.
            /// Nothing where more processes measured the case, and in old runs.
            assumed_spread: Option<AssumedSpread>,
            /// The answer that follows.
            answer: Answer,
            /// True for a regression.
            regressed: bool,
            /// The number of further processes that measured it because it seemed to be one.
            #[serde(default)]
            remeasured: usize,
        },
        /// It cannot be compared, for these reasons.
        NotComparable(Vec<String>),
        /// The baseline has no such case.
        New,
        /// There is no number, now or then.
        NoTime(String),
    }
}
