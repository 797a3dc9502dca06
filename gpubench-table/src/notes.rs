//! The reasons against rows, each in full under the first row that it is against and by its number beside all others. In:
//! records, one after the other; out: numbered notes.

use std::collections::HashMap;

use gpubench_records::id::CaseId;
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::{Reason, State, WIDEST, more_samples};
use gpubench_stats::format;

use crate::rows::{Row, grouped};
use crate::text::{plain, plain_lines};

/// The reasons so far.
#[derive(Debug)]
pub(super) struct Notes {
    sampling: Sampling,
    numbers: HashMap<String, usize>,
    /// The cases of each, once for each row.
    rows: Vec<Vec<CaseId>>,
}

/// A reason against a row.
#[derive(Debug)]
pub(super) struct Note {
    /// Its number, from 1.
    pub(super) number: usize,
    /// The verdict that it allows at best.
    pub(super) state: State,
    /// The verdict and the words, where no row before had it.
    pub(super) text: Option<String>,
}

impl Notes {
    pub(super) fn new(sampling: Sampling) -> Self {
        Self { sampling, numbers: HashMap::new(), rows: Vec::new() }
    }

    /// The reasons against `row`. Those that only some of its devices have name them.
    pub(super) fn of(&mut self, row: &Row<'_>) -> Vec<Note> {
        let reasons = row.records.iter().flat_map(|record| {
            let words = |reason: &Reason| (reason.state(), plain_lines(&self.words(reason)));
            record.verdict.reasons.iter().map(move |reason| (words(reason), &*record.device))
        });
        let reasons = grouped(reasons);
        let note = |((state, words), devices): ((State, String), Vec<&str>)| {
            let all = devices.len() == row.records.len();
            let on = if all { String::new() } else { format!(" on {}", plain(&devices.join(", "))) };
            self.note(&row.shown.case, state, format!("{state}{on}: {words}"))
        };
        reasons.into_iter().map(note).collect()
    }

    fn note(&mut self, case: &CaseId, state: State, text: String) -> Note {
        if let Some(number) = self.numbers.get(&text).copied() {
            self.rows[number - 1].push(case.clone());
            return Note { number, state, text: None };
        }
        self.rows.push(vec![case.clone()]);
        let number = self.rows.len();
        self.numbers.insert(text.clone(), number);
        Note { number, state, text: Some(text) }
    }

    /// Takes the rows of a case back: other rows replace them.
    pub(super) fn forget(&mut self, case: &CaseId) {
        self.rows.iter_mut().for_each(|cases| cases.retain(|other| other != case));
    }

    /// The words of a reason. Rows with no interval or a wide one show their figures themselves, so that the reason is the
    /// same for all of them.
    fn words(&self, reason: &Reason) -> String {
        let precision = self.sampling.precision;
        match reason {
            Reason::NotConverged { .. } => format!(
                "not converged: the time was spent before {} was reached (--max-time gives more)",
                format::precision(precision)
            ),
            Reason::TooFewSamples { needed, budget, .. } => format!(
                "too few samples: a 95 % interval of the median needs {needed}{}",
                more_samples(*needed, *budget)
            ),
            Reason::Interrupted { .. } => {
                "interrupted: other programs used the processors during samples, too many to leave them out (measure while they rest, or raise --max-time)"
                    .to_owned()
            }
            Reason::WideInterval { .. } => format!(
                "wide interval: the median is known to no better than {}",
                format::precision(precision.max(WIDEST))
            ),
            other => other.to_string(),
        }
    }

    /// The number of rows of each reason that several rows have.
    pub(super) fn shared(&self) -> String {
        let counts = self.rows.iter().map(Vec::len).enumerate().filter(|(_, rows)| *rows > 1);
        let counts: Vec<String> =
            counts.map(|(note, rows)| format!("[{}] {}", note + 1, format::counted(rows, "case"))).collect();
        if counts.is_empty() {
            String::new()
        } else {
            format!("reasons of several cases: {}\n", counts.join(", "))
        }
    }
}
