//! JUnit XML, which CI systems show: a test for each case. It is valid against the schema of Jenkins' xUnit
//! plugin (`junit-10.xsd`), and has the attributes that Ant's schema requires.
//!
//! A regression, a failed check of outputs and an impossible speed are a `failure`. Another case without a
//! number, and a case that the gate could not judge or that the run lacks, is an `error`. A suspect case passes,
//! with its reasons in `system-out`. There are the percentiles of each measured case too, since the schema has
//! properties only for the whole suite.

use std::io::{self, Write};

use gpubench_records::{GateOutcome, GatedCase, Reason, Record, Run, Stage, State, files::time_of_day};
use gpubench_stats::{Nanoseconds, format::joined};
use gpubench_table::{case_name, comparisons, has_several_devices, quantiles, remarks, text::plain};
use maud::{PreEscaped, html};

use crate::xml_text;

/// Writes `run` as JUnit XML.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let tests = tests(run);
    let count = |outcome: TestOutcome| tests.iter().filter(|test| test.outcome == outcome).count();
    let name = if run.program.suite.is_empty() { "gpubench" } else { &run.program.suite };
    let xml = html! {
        (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
        testsuites {
            // The timestamp is in UTC, because the schema has no time zone.
            testsuite id="0" name=(xml_text(name)) package=(xml_text(name))
                timestamp=(time_of_day(run.started).trim_end_matches('Z'))
                hostname=(xml_text(run.environment.host.as_deref().unwrap_or("localhost")))
                tests=(tests.len()) failures=(count(TestOutcome::Failure)) errors=(count(TestOutcome::Error))
                skipped=(count(TestOutcome::Skipped)) time=(wall_seconds(run.wall_time))
            {
                properties {
                    property name="gpubench" value=(xml_text(&run.program.version)) {}
                    @for info in &run.devices { property name=(plain(&info.device)) value=(plain(&info.name)) {} }
                }
                @for JunitTest { class, name, took, outcome, text, times } in &tests {
                    @let message = text.lines().next().map(plain);
                    (PreEscaped("\n"))
                    testcase classname=(xml_text(&plain(class))) name=(xml_text(&plain(name))) time=(wall_seconds(*took)) {
                        @match outcome {
                            TestOutcome::Passed => {}
                            TestOutcome::Skipped => { skipped message=(xml_text(text)) {} }
                            TestOutcome::Failure => { failure type="failure" message=[message] { (xml_text(text)) } }
                            TestOutcome::Error => { error type="error" message=[message] { (xml_text(text)) } }
                        }
                        @let remark = (*outcome == TestOutcome::Passed).then_some(&**text).filter(|text| !text.is_empty());
                        @let out: Vec<&str> = remark.into_iter().chain(times.as_deref()).collect();
                        @if !out.is_empty() { system-out { (xml_text(&out.join("\n"))) } }
                    }
                }
                system-out { (xml_text(&remarks::summary(run))) }
                system-err {}
            }
        }
    };
    out.write_all(xml.into_string().as_bytes())?;
    out.write_all(b"\n")
}

/// A test: a case, a skipped benchmark, a case of the baseline that was not measured, or a gate that compared
/// nothing.
struct JunitTest {
    /// The path of the benchmark, which is the class name of the test.
    class: String,
    name: String,
    /// The wall time of all processes that measured the case; 0 if it was not measured.
    took: Nanoseconds,
    outcome: TestOutcome,
    /// The reasons for the outcome or for a suspect verdict, the deciding one first; may be empty.
    text: String,
    /// The percentiles of the samples, if the case was measured.
    times: Option<String>,
}

/// The outcome of a test, from the best to the worst.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TestOutcome {
    Passed,
    Skipped,
    /// It ran, and its result is wrong or a regression.
    Failure,
    /// It has no result, or the gate could not judge it.
    Error,
}

/// Returns a test for each case and each skipped benchmark, with the outcome of the gate. Adds one for each
/// case of the baseline that was not measured, and one if the gate compared nothing.
fn tests(run: &Run) -> Vec<JunitTest> {
    let (gate, several_devices) = (run.gate(), has_several_devices(run));
    let of_record = |record: &Record| {
        let mut test = JunitTest::from_record(record, &case_name(record, several_devices));
        let case = &record.case;
        let key = (&*case.name(), &*record.device, case.cache);
        let gated = gate.iter().flat_map(|gate| &gate.cases);
        let gated = gated.filter(|it| (&*it.name, &*it.device, it.cache) == key);
        // No gate judges invalid numbers.
        gated.filter(|_| record.verdict.state != State::Invalid).for_each(|gated| test.add_gate(gated));
        test
    };
    let mut tests: Vec<JunitTest> = run.records.iter().map(of_record).collect();
    for skipped in &run.skipped {
        let (benchmark, reason) = (&skipped.benchmark, skipped.reason.clone());
        tests.push(JunitTest::new(benchmark, &skipped.name(), TestOutcome::Skipped, reason));
    }
    if let Some(gate) = &gate {
        let mut missing = |name: &str, why: &str| {
            let benchmark = name.split_once('[').map_or(name, |(benchmark, _)| benchmark);
            tests.push(JunitTest::new(benchmark, name, TestOutcome::Error, format!("not judged: {why}")));
        };
        if gate.cases.is_empty() && gate.missing.is_empty() {
            missing("--fail-on-regression", "nothing was compared");
        }
        gate.missing.iter().for_each(|name| missing(name, "the baseline has it, and it was not measured"));
    }
    tests
}

impl JunitTest {
    /// Returns a test without a time and percentiles, for a case that was not measured.
    fn new(class: &str, name: &str, outcome: TestOutcome, text: String) -> Self {
        let (took, times) = (Nanoseconds::ZERO, None);
        Self { class: class.to_owned(), name: name.to_owned(), took, outcome, text, times }
    }

    /// Returns the test of a record with the outcome of its verdict alone: valid and suspect cases pass. The
    /// gate may make the outcome worse later.
    fn from_record(record: &Record, name: &str) -> Self {
        let (state, reasons) = (record.verdict.state, &record.verdict.reasons);
        let is_error =
            |reason: &Reason| matches!(reason, Reason::Failed(failure) if failure.stage != Stage::Check);
        let outcome = match state {
            State::Valid | State::Suspect => TestOutcome::Passed,
            State::Invalid if reasons.iter().any(is_error) => TestOutcome::Error,
            State::Invalid => TestOutcome::Failure,
        };
        let reasons = joined(reasons, "\n");
        let is_remark = outcome == TestOutcome::Passed && !reasons.is_empty();
        let text = if is_remark { format!("{state}: {reasons}") } else { reasons };
        // The time of all of its processes.
        let took = record.measurements().map(|measured| measured.samples.wall_time).sum();
        let times = record.measurement.as_ref().map(|measured| quantiles(&measured.samples.time));
        Self { took, times, ..Self::new(&record.case.benchmark, name, outcome, text) }
    }

    /// Adds the outcome of the gate to the test, which keeps the worse one of the two. The sentence of the
    /// gate comes first in the text, because the first line is the message. Does nothing if the case passed
    /// the gate.
    fn add_gate(&mut self, gated: &GatedCase) {
        let about = &gated.about;
        let (outcome, sentence) = match gated.outcome {
            GateOutcome::Passed => return,
            GateOutcome::Regressed(ratio) => {
                (TestOutcome::Failure, format!("regression: {} {about}", comparisons::change(&ratio)))
            }
            GateOutcome::Unjudged(why) => {
                (TestOutcome::Error, format!("not judged: {} ({about})", comparisons::unjudged_phrase(why)))
            }
        };
        self.outcome = self.outcome.max(outcome);
        let rest = if self.text.is_empty() { String::new() } else { format!("\n{}", self.text) };
        self.text = sentence + &rest;
    }
}

/// Returns a wall time in seconds with three decimal places, as the schema requires.
fn wall_seconds(time: Nanoseconds) -> String {
    format!("{:.3}", time.as_seconds())
}
