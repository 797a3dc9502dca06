//! The answer of a comparison of the commits around a change. In: what a comparison found; out: a [`Confirmation`].

use serde::Serialize;

use crate::comparison::{Answer, Finding};
use gpubench_stats::Ratio;

/// The answer of a comparison of the two commits around a change: the last that certainly is before it, and the first that certainly is
/// behind it, built and measured in alternation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Confirmation {
    /// They differ as the change says, beyond doubt and by more than the band.
    Confirmed {
        /// The time of the later one over that of the other.
        ratio: Ratio,
        /// The number of processes of each, the later one's first.
        processes: [usize; 2],
    },
    /// They certainly do not.
    NotConfirmed {
        /// As above.
        ratio: Ratio,
        /// As above.
        processes: [usize; 2],
    },
    /// The processes do not decide it.
    Undecided {
        /// As above.
        ratio: Ratio,
        /// As above.
        processes: [usize; 2],
    },
    /// They could not be compared.
    NotMeasured {
        /// The reason.
        reason: String,
    },
}

impl Confirmation {
    /// The answer to a change by the factor `change`, of what was found about its case.
    #[must_use]
    pub fn of(change: f64, finding: &Finding) -> Self {
        let not_measured = |reason| Self::NotMeasured { reason };
        match finding {
            Finding::Compared { ratio, answer, processes, .. } => {
                let (ratio, processes) = (*ratio, *processes);
                match answer {
                    Answer::Undecided => Self::Undecided { ratio, processes },
                    Answer::Slower if change > 1.0 => Self::Confirmed { ratio, processes },
                    Answer::Faster if change < 1.0 => Self::Confirmed { ratio, processes },
                    Answer::Slower | Answer::Faster | Answer::Same => Self::NotConfirmed { ratio, processes },
                }
            }
            Finding::NotComparable(reasons) => {
                not_measured(format!("not comparable: {}", reasons.join(", ")))
            }
            Finding::New => not_measured("the earlier commit has no such case".to_owned()),
            Finding::NoNumber(reason) => not_measured(format!("no number: {reason}")),
        }
    }
}
