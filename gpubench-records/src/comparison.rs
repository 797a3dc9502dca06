//! The answer to whether one launch is faster than another, from the [`Ratio`] of their times with its interval and a margin within
//! which a difference does not matter; and the stored results of comparisons.

use std::str::FromStr;

use gpubench_stats::{Nanoseconds, Ratio};

use crate::Cache;

/// Differences up to this do not matter unless the user says otherwise, as a fraction.
pub const DEFAULT_EQUIVALENCE_MARGIN: f64 = 0.005;

gpubench_stats::stored! {
    /// The answer to whether a launch is faster than another.
    #[derive(Copy, Eq)]
    pub enum Answer {
        /// It takes less time, by more than the band.
        Faster,
        /// It takes more time, by more than the band.
        Slower,
        /// The difference is within the band.
        Same,
        /// The interval reaches over an end of the band: the measurement does not decide.
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
        /// The number of rows that the answers were decided for together.
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

    /// The standing of a case against the baseline.
    pub enum BaselineFinding {
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

impl Answer {
    /// Returns the answer that an interval gives: one that lies on one side of the band decides, and so does one that lies
    /// within it.
    ///
    /// With a ratio r and the band b, the band is from 1/(1 + b) to 1 + b. Each of the three decisions is wrong only where
    /// the interval misses the true ratio.
    pub fn of(ratio: &Ratio, band: f64) -> Self {
        let (least, most) = (1.0 / (1.0 + band), 1.0 + band);
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

/// Reads `0.5%` or `0.5` as 0.5: a percentage above 0.
pub fn percentage(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim_end();
    number.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent > 0.0)
}

/// Returns the user's equivalence margin. Without one it is `usual`, but at most the regression threshold.
pub fn equivalence_margin(given: Option<f64>, regression: Option<Threshold>, usual: f64) -> f64 {
    match (given, regression) {
        (Some(given), _) => given,
        (None, Some(Threshold::Fraction(part))) => part.min(usual),
        (None, _) => usual,
    }
}

impl Threshold {
    /// Reads `0.5%` or `0.5` as 0.005: a percentage above 0, as a fraction.
    pub fn part(text: &str) -> Option<f64> {
        percentage(text).map(|percent| percent / 100.0)
    }

    /// Returns true if a launch of this `ratio` and `answer` is a regression. `noise_known` is true if the ratio's interval
    /// contains the spread between processes.
    pub fn is_passed(self, ratio: &Ratio, answer: Answer, noise_known: bool) -> bool {
        answer == Answer::Slower
            && match self {
                Self::Fraction(part) => ratio.value >= 1.0 + part,
                Self::Noise => noise_known,
            }
    }
}

impl Comparison {
    /// Returns true if this launch is slower than allowed. The rounds show the spread between processes.
    pub fn regressed(&self, threshold: Threshold) -> bool {
        self.ratio.is_some_and(|ratio| threshold.is_passed(&ratio, self.answer, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::units::Nanoseconds;

    #[track_caller]
    fn answers(low: f64, high: f64, answer: Answer) {
        let ratio = Ratio { value: f64::midpoint(low, high), low, high, confidence: 0.99 };
        assert_eq!(Answer::of(&ratio, 0.01), answer, "{low} to {high}");
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
            threshold.is_passed(&ratio, Answer::of(&ratio, 0.01), noise_known)
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
