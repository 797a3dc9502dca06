//! The results of test mode as text. In: the outcome of each benchmark. Out: much the same as from `cargo test`, in the formats of
//! libtest: a line or a letter for each benchmark, then the failures with their reasons, then a line that counts them; or an object
//! of JSON a line.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use super::cli::TextFormat;
use crate::runner::trial::{Outcome, Trial};
use gpubench_records::text::{printable, printable_lines};
use gpubench_records::verdict::State;
use gpubench_table::style::{BOLD, of_state};

/// What the outcomes do not tell.
pub(super) struct Uncounted {
    /// The number of further benchmarks that are marked `ignore`.
    pub(super) ignored: usize,
    /// The number that has no outcome, since an earlier one failed or a signal came.
    pub(super) left: usize,
    /// The time that all of it took.
    pub(super) elapsed: Duration,
}

/// Formats the results of test mode.
pub(super) fn text(trials: &[Trial], others: &Uncounted, format: TextFormat) -> String {
    let counts = Counts::of(trials, others);
    match format {
        TextFormat::Pretty | TextFormat::Junit => lines(
            trials,
            |text, trial| {
                let style = of_state(state(&trial.outcome));
                let (name, outcome) = (printable(&trial.name), printable(&trial.outcome.to_string()));
                // Writing to a string cannot fail.
                _ = writeln!(text, "test {name} ... {style}{outcome}{style:#}");
            },
            &counts,
        ),
        TextFormat::Terse => lines(
            trials,
            |text, trial| {
                let style = of_state(state(&trial.outcome));
                _ = write!(text, "{style}{}{style:#}", letter(&trial.outcome));
            },
            &counts,
        ),
        TextFormat::Json => json(trials, &counts, others.elapsed),
    }
}

/// The numbers of outcomes.
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    ignored: usize,
    left: usize,
}

impl Counts {
    fn of(trials: &[Trial], others: &Uncounted) -> Self {
        let number = |of: fn(&Outcome) -> bool| trials.iter().filter(|trial| of(&trial.outcome)).count();
        Self {
            passed: number(|outcome| matches!(outcome, Outcome::Passed | Outcome::Launched)),
            failed: number(|outcome| matches!(outcome, Outcome::Failed(_))),
            skipped: number(|outcome| matches!(outcome, Outcome::Skipped(_))),
            ignored: number(|outcome| matches!(outcome, Outcome::Ignored(_))) + others.ignored,
            left: others.left,
        }
    }
}

fn lines(trials: &[Trial], write_one: impl Fn(&mut String, &Trial), counts: &Counts) -> String {
    let mut text = String::new();
    trials.iter().for_each(|trial| write_one(&mut text, trial));
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let failures = || {
        trials.iter().filter_map(|trial| match &trial.outcome {
            Outcome::Failed(failure) => Some((&trial.name, failure)),
            _ => None,
        })
    };
    if failures().next().is_some() {
        _ = writeln!(text, "\n{BOLD}failures{BOLD:#}:");
    }
    for (name, failure) in failures() {
        _ = writeln!(text, "  {}: {}", printable(name), printable_lines(&failure.to_string()));
    }
    let Counts { passed, failed, skipped, ignored, left } = counts;
    let (word, state) = match (failed, left) {
        (0, 0) => ("ok", State::Valid),
        (0, _) => ("incomplete", State::Suspect),
        _ => ("FAILED", State::Invalid),
    };
    let style = of_state(state);
    let left = if *left == 0 { String::new() } else { format!("{left} not tested; ") };
    _ = writeln!(
        text,
        "\ntest result: {style}{word}{style:#}. {passed} passed; {failed} failed; {skipped} skipped; {ignored} ignored; \
         {left}nothing timed"
    );
    text
}

fn letter(outcome: &Outcome) -> char {
    match outcome {
        Outcome::Passed | Outcome::Launched => '.',
        Outcome::Skipped(_) | Outcome::Ignored(_) => 'i',
        Outcome::Failed(_) => 'F',
    }
}

fn state(outcome: &Outcome) -> State {
    match outcome {
        Outcome::Passed | Outcome::Launched | Outcome::Skipped(_) => State::Valid,
        // It is unknown if it works.
        Outcome::Ignored(_) => State::Suspect,
        Outcome::Failed(_) => State::Invalid,
    }
}

/// An event of libtest's JSON, which editors read.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Event<'a> {
    Suite {
        event: &'a str,
        #[serde(flatten)]
        counts: SuiteCounts,
    },
    Test {
        event: &'a str,
        name: &'a str,
        /// The reason of a failure, which editors show as output of the test.
        #[serde(skip_serializing_if = "Option::is_none")]
        stdout: Option<String>,
        /// The reason that one is ignored.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum SuiteCounts {
    Started {
        test_count: usize,
    },
    Ended {
        passed: usize,
        failed: usize,
        ignored: usize,
        measured: usize,
        filtered_out: usize,
        exec_time: f64,
    },
}

fn json(trials: &[Trial], counts: &Counts, elapsed: Duration) -> String {
    let test = |event, name, stdout, message| Event::Test { event, name, stdout, message };
    let mut events =
        vec![Event::Suite { event: "started", counts: SuiteCounts::Started { test_count: trials.len() } }];
    for Trial { name, outcome } in trials {
        events.push(test("started", name, None, None));
        events.push(match outcome {
            Outcome::Passed | Outcome::Launched => test("ok", name, None, None),
            Outcome::Skipped(why) | Outcome::Ignored(why) => test("ignored", name, None, Some(why)),
            Outcome::Failed(failure) => test("failed", name, Some(format!("{failure}\n")), None),
        });
    }
    let Counts { passed, failed, skipped, ignored, left } = *counts;
    events.push(Event::Suite {
        event: if failed + left == 0 { "ok" } else { "failed" },
        counts: SuiteCounts::Ended {
            passed,
            failed,
            ignored: ignored + skipped,
            measured: 0,
            filtered_out: left,
            exec_time: elapsed.as_secs_f64(),
        },
    });
    let mut text = String::new();
    for event in &events {
        _ = writeln!(text, "{}", serde_json::to_string(event).unwrap_or_default());
    }
    text
}
