//! The output of test mode, much like that of `cargo test`: a line for each benchmark, then the failures with
//! their reasons, then a line that counts them.

use std::fmt::Write;

use crate::runner::trial::{Outcome, Trial};
use gpubench_records::verdict::State;
use gpubench_report::style::{BOLD, of_state};

/// Formats the results of test mode. `ignored` is the number of further benchmarks that were left out.
#[must_use]
pub(super) fn trials(trials: &[Trial], ignored: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for Trial { name, outcome } in trials {
        let style = of_state(state(outcome));
        _ = writeln!(text, "test {name} ... {style}{outcome}{style:#}");
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
        _ = writeln!(text, "  {name}: {failure}");
    }
    let failed = failures().count();
    let skipped = trials.iter().filter(|trial| matches!(trial.outcome, Outcome::Skipped(_))).count();
    let without_device = trials.iter().filter(|trial| matches!(trial.outcome, Outcome::Ignored(_))).count();
    let passed = trials.len() - failed - skipped - without_device;
    let ignored = ignored + without_device;
    let (word, style) =
        if failed == 0 { ("ok", of_state(State::Valid)) } else { ("FAILED", of_state(State::Invalid)) };
    _ = writeln!(
        text,
        "\ntest result: {style}{word}{style:#}. {passed} passed; {failed} failed; {skipped} skipped; {ignored} ignored; \
         nothing timed"
    );
    text
}

fn state(outcome: &Outcome) -> State {
    match outcome {
        Outcome::Passed | Outcome::Launched | Outcome::Skipped(_) => State::Valid,
        // It is unknown if it works.
        Outcome::Ignored(_) => State::Suspect,
        Outcome::Failed(_) => State::Invalid,
    }
}
