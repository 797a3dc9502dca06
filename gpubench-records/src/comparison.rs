//! The stored results of comparisons, and the answer to whether one launch is faster than another: it follows from the [`Ratio`] of their times,
//! its interval, and the equivalence margin.

use std::str::FromStr;

use gpubench_stats::{Nanoseconds, Ratio};

use crate::Cache;

/// The default equivalence margin, as a fraction: differences of times up to it count as the same.
pub const DEFAULT_EQUIVALENCE_MARGIN: f64 = 0.005;

gpubench_stats::stored! {
    /// The answer to whether a launch is faster than another.
    #[derive(Copy, Eq)]
    pub enum Answer {
        /// It takes less time, by more than the equivalence margin.
        Faster,
        /// It takes more time, by more than the equivalence margin.
        Slower,
        /// The difference is within the equivalence margin.
        Same,
        /// The interval contains an end of the equivalence margin, so that the measurement does not decide.
        Undecided,
    }

    /// The difference from which on a slower launch is a regression.
    #[derive(Copy)]
    pub enum Threshold {
        /// This fraction, if the launch is certainly slower.
        Fraction(f64),
        /// The spread between processes, which must be known.
        Noise,
    }

    /// The result of timing two interleaved launches.
    pub struct Comparison {
        /// The time of this launch divided by that of the other; `None` if there were too few rounds for an interval.
        pub ratio: Option<Ratio>,
        /// The equivalence margin, as a fraction.
        pub equivalence_margin: f64,
        /// The answer that follows.
        pub answer: Answer,
        /// The rounds, in the order in which they were taken.
        pub rounds: Vec<Round>,
        /// The seed of the random addresses of the rounds' inputs; `None` in old runs.
        pub seed: Option<u64>,
    }

    /// A round: both launches get new inputs, and their samples alternate. In the second of each two rounds, the launches swap the addresses of
    /// their inputs.
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
        /// The number of cases whose answers share the error probability.
        pub tested_together: usize,
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
        pub finding: BaselineFinding,
    }

    /// The difference between two processes of one program that a comparison assumes.
    #[derive(Copy)]
    pub enum AssumedSpread {
        /// Up to this fraction.
        UpTo(f64),
        /// Any difference: one of the times is suspect because it was not steady or not the launch's alone.
        Any,
    }

    /// The result of comparing a case with the baseline.
    pub enum BaselineFinding {
        /// It was compared.
        Compared {
            /// The time in the run divided by the time in the baseline.
            ratio: Ratio,
            /// The time in the run: the median, or the geometric mean of the medians of several processes.
            time: Nanoseconds,
            /// The time in the baseline, computed in the same way.
            baseline_time: Nanoseconds,
            /// The number of processes that measured it in the run and in the baseline.
            processes: [usize; 2],
            /// True if the interval contains the spread between processes on this device, which takes three processes or more in
            /// all.
            noise_known: bool,
            /// The assumed difference between processes; `None` if enough processes measured the case to know it, and in old runs.
            assumed_spread: Option<AssumedSpread>,
            /// The answer that follows.
            answer: Answer,
            /// True for a regression.
            regressed: bool,
            /// The number of further processes that measured it because it seemed to be a regression.
            #[serde(default)]
            remeasured: usize,
        },
        /// It cannot be compared, for these reasons.
        NotComparable(Vec<String>),
        /// The baseline has no such case.
        New,
        /// There is no usable time in the run or in the baseline, for this reason.
        NoTime(String),
    }
}

impl Answer {
    /// Returns the answer that follows from the interval of `ratio`: faster, slower or the same if the interval is below, above or within the
    /// equivalence margin, from 1/(1 + `margin`) to 1 + `margin`; undecided otherwise. A decision is wrong only if the interval misses the
    /// true ratio.
    pub fn from_ratio(ratio: &Ratio, margin: f64) -> Self {
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        if ratio.high < least {
            Self::Faster
        } else if ratio.low > most {
            Self::Slower
        } else if least <= ratio.low && ratio.high <= most {
            Self::Same
        } else {
            Self::Undecided
        }
    }
}

/// Reads `5%`, `5`, or `noise`.
impl FromStr for Threshold {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "noise" {
            return Ok(Self::Noise);
        }
        Self::part(text).map(Self::Fraction).ok_or("give a percentage above 0, such as 5%, or `noise`")
    }
}

/// Reads `0.5%` or `0.5` as 0.5. `None` for text that is no percentage above 0.
pub fn percentage(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim_end();
    number.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent > 0.0)
}

/// Returns the equivalence margin `given` by the user. Without one it is `usual`, or the regression threshold
/// if that is a smaller percentage.
pub fn equivalence_margin(given: Option<f64>, regression: Option<Threshold>, usual: f64) -> f64 {
    match (given, regression) {
        (Some(given), _) => given,
        (None, Some(Threshold::Fraction(part))) => part.min(usual),
        (None, _) => usual,
    }
}

impl Threshold {
    /// Reads `0.5%` or `0.5` as the fraction 0.005. `None` for text that is no percentage above 0.
    pub fn part(text: &str) -> Option<f64> {
        percentage(text).map(|percent| percent / 100.0)
    }

    /// Returns true if a launch of this `ratio` and `answer` is a regression: the answer is slower, and the
    /// ratio reaches the percentage. With [`Self::Noise`] the second condition is `noise_known`: the ratio's
    /// interval contains the spread between processes.
    pub fn is_exceeded(self, ratio: &Ratio, answer: Answer, noise_known: bool) -> bool {
        answer == Answer::Slower
            && match self {
                Self::Fraction(part) => ratio.value >= 1.0 + part,
                Self::Noise => noise_known,
            }
    }
}

impl Comparison {
    /// Returns true if this launch is slower by `threshold` or more; false without a ratio. For
    /// [`Threshold::Noise`] the spread counts as known, since rounds take the place of processes.
    pub fn regressed(&self, threshold: Threshold) -> bool {
        self.ratio.is_some_and(|ratio| threshold.is_exceeded(&ratio, self.answer, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::units::Nanoseconds;

    #[track_caller]
    fn answers(low: f64, high: f64, answer: Answer) {
        let ratio = Ratio { value: f64::midpoint(low, high), low, high, confidence: 0.99 };
        assert_eq!(Answer::from_ratio(&ratio, 0.01), answer, "{low} to {high}");
    }

    /// An interval that ends where the band does decides nothing but that it lies within.
    #[test]
    fn an_end_of_the_band_is_within_it() {
        let (least, most) = (1.0 / 1.01, 1.01);
        answers(most, 1.03, Answer::Undecided);
        answers(0.97, least, Answer::Undecided);
        answers(least, most, Answer::Same);
    }

    #[test]
    fn a_comparison_regresses_where_it_is_slower_by_the_threshold() {
        let of = |value: f64, answer| {
            let ratio = Ratio { value, low: value - 0.01, high: value + 0.01, confidence: 0.99 };
            Comparison {
                ratio: Some(ratio),
                equivalence_margin: 0.005,
                answer,
                rounds: Vec::new(),
                seed: None,
            }
        };
        let slower = of(1.05, Answer::Slower);
        assert!(slower.regressed(Threshold::Fraction(0.05)) && slower.regressed(Threshold::Noise));
        assert!(!slower.regressed(Threshold::Fraction(0.06)));
        assert!(!of(1.05, Answer::Undecided).regressed(Threshold::Fraction(0.01)));
        assert!(!Comparison { ratio: None, ..slower }.regressed(Threshold::Noise));
    }

    #[test]
    fn answers_are_words() {
        let words = [Answer::Faster, Answer::Slower, Answer::Same, Answer::Undecided]
            .map(|answer| answer.to_string());
        assert_eq!(words, ["faster", "slower", "same", "undecided"]);
    }

    #[test]
    fn a_finding_is_read_as_it_was_written() {
        let ratio = Ratio { value: 1.1, low: 1.05, high: 1.15, confidence: 0.99 };
        for (again, assumed) in
            [(0, None), (8, None), (0, Some(AssumedSpread::UpTo(0.4))), (0, Some(AssumedSpread::Any))]
        {
            let finding = BaselineFinding::Compared {
                ratio,
                time: Nanoseconds(1.1),
                baseline_time: Nanoseconds(1.0),
                processes: [1, 5],
                noise_known: true,
                assumed_spread: assumed,
                answer: Answer::Slower,
                regressed: true,
                remeasured: again,
            };
            let written = serde_json::to_string(&finding).expect("JSON");
            assert_eq!(serde_json::from_str::<BaselineFinding>(&written).expect("a finding"), finding);
        }
    }

    /// Five percent and more, known well; the same known badly; less; and more in a process of which no more is known.
    #[test]
    fn a_regression_is_large_enough_and_beyond_doubt() {
        let regressed = |threshold: Threshold, value, half: f64, noise_known| {
            let ratio = Ratio { value, low: value - half, high: value + half, confidence: 0.99 };
            threshold.is_exceeded(&ratio, Answer::from_ratio(&ratio, 0.01), noise_known)
        };
        let part = Threshold::Fraction(0.05);
        assert!(regressed(part, 1.05, 0.01, false));
        assert!(!regressed(part, 1.05, 0.045, false));
        assert!(!regressed(part, 1.04, 0.01, true));
        assert!(!regressed(part, 0.9, 0.01, true));
        assert!(regressed(Threshold::Noise, 1.04, 0.01, true));
        assert!(!regressed(Threshold::Noise, 1.04, 0.01, false));
        assert!(!regressed(Threshold::Noise, 1.04, 0.035, true));
    }

    #[test]
    fn each_answer_has_its_intervals() {
        answers(0.97, 0.990, Answer::Faster);
        answers(0.97, 0.991, Answer::Undecided);
        answers(1.011, 1.03, Answer::Slower);
        answers(1.009, 1.03, Answer::Undecided);
        answers(0.991, 1.01, Answer::Same);
        answers(1.004, 1.009, Answer::Same);
        answers(0.98, 1.02, Answer::Undecided);
    }

    #[test]
    fn thresholds_are_read_as_documented() {
        let read = |text: &str| text.parse::<Threshold>().ok();
        assert_eq!(["noise", " noise "].map(read), [Some(Threshold::Noise); 2]);
        assert_eq!(["5%", "5", " 5 % "].map(read), [Some(Threshold::Fraction(0.05)); 3]);
        assert_eq!(read("0.5%"), Some(Threshold::Fraction(0.005)));
        assert_eq!(["0", "0%", "-1%", "nan", "inf%", "", "noisy"].map(read), [None; 7]);
    }
}
