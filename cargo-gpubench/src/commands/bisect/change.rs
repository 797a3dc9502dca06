//! A change between two commits. In: the finding about a row; out: its size, and the words for it.

use std::fmt::{self, Display};

use gpubench_records::comparison::{Answer, CaseFinding, Finding};
use gpubench_records::method::Cache;
use gpubench_stats::Ratio;

/// A row that changed between the commits that the user named.
pub(super) struct Change {
    pub(super) row: Row,
    pub(super) ratio: Ratio,
    /// Slower or faster.
    pub(super) answer: Answer,
    /// The package and the bench target that have the case.
    pub(super) suite: [String; 2],
}

/// A row of a table.
#[derive(PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    device: String,
    cache: Cache,
}

impl Change {
    /// Returns the least change that its interval holds, as the logarithm of a ratio.
    pub(super) fn least(&self) -> f64 {
        if self.answer == Answer::Slower { self.ratio.low.ln() } else { -self.ratio.high.ln() }
    }

    /// Returns the fraction by which half of the change, on the scale of logarithms, makes the longer time longer.
    pub(super) fn half(&self) -> f64 {
        (self.ratio.value.ln().abs() / 2.0).exp_m1()
    }

    pub(super) fn words(&self) -> String {
        let direction = if self.answer == Answer::Slower { "longer" } else { "less time" };
        format!("{direction}, {},", percent(&self.ratio))
    }

    /// Returns the heading of the commits that were found.
    pub(super) fn conclusion(&self, commits: usize) -> String {
        let Self { row, ratio, answer, .. } = self;
        let verb = if *answer == Answer::Slower { "slower" } else { "faster" };
        let since = match commits {
            1 => "since this commit".to_owned(),
            several => format!("since one of these {several} commits, of which some gave no answer"),
        };
        format!("{row} is {verb} {since}: {}", percent(ratio))
    }
}

impl Row {
    pub(super) fn of(line: &CaseFinding) -> Self {
        Self { name: line.name.clone(), device: line.device.clone(), cache: line.cache }
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} on {}", self.name, self.cache, self.device)
    }
}

/// Returns the reason why a finding decides nothing, or that there is no change.
pub(super) fn told(finding: &Finding) -> String {
    match finding {
        Finding::Compared { ratio, answer: Answer::Undecided, .. } => {
            format!("undecided, {}: more --pairs may decide", percent(ratio))
        }
        Finding::Compared { ratio, .. } => format!("no change, {}", percent(ratio)),
        Finding::NotComparable(reasons) => format!("not comparable: {}", reasons.join(", ")),
        Finding::New => "it is not in the commit before the change".to_owned(),
        Finding::NoNumber(reason) => format!("no number: {reason}"),
    }
}

/// Returns the change of a time with its interval, such as `+3.05 % (+2.90 to +3.20 %)`.
pub(super) fn percent(ratio: &Ratio) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|ratio| 100.0 * (ratio - 1.0));
    format!("{value:+.2} % ({low:+.2} to {high:+.2} %)")
}
