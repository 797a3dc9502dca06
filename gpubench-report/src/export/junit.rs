//! JUnit XML, which CI systems show: a test for each case, with the reasons against it. In: a run; out: a `testsuite` that is
//! valid against the schema of Jenkins' xUnit plugin (`junit-10.xsd`), and has the attributes that Ant's requires.
//!
//! A regression, a failed check of the outputs and an impossible speed are a `failure`; every other case without a number,
//! and a case that a gate could not judge or that the run lacks, is an `error`. A suspect case passes, and its reasons are
//! its `system-out`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use gpubench_records::failure::Stage;
use gpubench_records::files::time_of_day;
use gpubench_records::gate::{Gate, GateOutcome, GatedCase};
use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run, Skipped};
use gpubench_records::verdict::{Reason, State};
use gpubench_stats::units::Nanoseconds;
use gpubench_table::export::Names;
use gpubench_table::text::split_path;
use gpubench_table::{gate, remarks};

type Xml<'a> = Writer<&'a mut dyn Write>;

/// Writes `run` in this format.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites").write_inner_content(|xml| suite(xml, run))?;
    xml.get_mut().write_all(b"\n")
}

fn suite(xml: &mut Xml<'_>, run: &Run) -> io::Result<()> {
    let gate = run.gate();
    let missing = gate.as_ref().map(missing).unwrap_or_default();
    let gated = Gated::of(gate.as_ref());
    let outcomes: Vec<CaseOutcome> = run.records.iter().map(|record| gated.outcome(record)).collect();
    let count = |element: JunitElement| outcomes.iter().filter(|outcome| outcome.element == element).count();
    let (failures, errors) = (count(JunitElement::Failure), count(JunitElement::Error) + missing.len());
    let name = if run.program.suite.is_empty() { "gpubench" } else { &run.program.suite };
    let began = time_of_day(run.started);
    let attributes = [
        ("id", "0".to_owned()),
        ("name", name.to_owned()),
        ("package", name.to_owned()),
        // In UTC, because the schema has no time zone.
        ("timestamp", began.trim_end_matches('Z').to_owned()),
        ("hostname", run.environment.host.clone().unwrap_or_else(|| "localhost".to_owned())),
        ("tests", (run.records.len() + run.skipped.len() + missing.len()).to_string()),
        ("failures", failures.to_string()),
        ("errors", errors.to_string()),
        ("skipped", run.skipped.len().to_string()),
        ("time", seconds(run.wall_time)),
    ];
    let mut suite = xml.create_element("testsuite");
    for (name, value) in &attributes {
        suite = suite.with_attribute((*name, shown(value)));
    }
    let names = Names::of(run);
    suite.write_inner_content(|xml| {
        properties(xml, run)?;
        run.records
            .iter()
            .zip(&outcomes)
            .try_for_each(|(record, outcome)| case(xml, record, outcome, &names))?;
        run.skipped.iter().try_for_each(|skipped| left_out(xml, skipped))?;
        missing.iter().try_for_each(|(name, why)| not_measured(xml, name, why))?;
        text(xml, "system-out", &remarks::summary(run))?;
        text(xml, "system-err", "")
    })?;
    Ok(())
}

fn properties(xml: &mut Xml<'_>, run: &Run) -> io::Result<()> {
    let property = |xml: &mut Xml<'_>, name: &str, value: &str| {
        let element = xml.create_element("property");
        element
            .with_attribute(("name", shown(name)))
            .with_attribute(("value", shown(value)))
            .write_empty()?;
        io::Result::Ok(())
    };
    xml.create_element("properties").write_inner_content(|xml| {
        property(xml, "gpubench", &run.program.version)?;
        run.devices.iter().try_for_each(|info| property(xml, &info.device, &info.name))
    })?;
    Ok(())
}

/// The element that a case has beside its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum JunitElement {
    /// None: there is no reason against it.
    Nothing,
    /// Its reasons, of a test that passes.
    SystemOut,
    /// It ran, and its result is wrong.
    Failure,
    /// It failed before it had a result.
    Error,
}

impl JunitElement {
    fn of(record: &Record) -> Self {
        let reasons = &record.verdict.reasons;
        match record.verdict.state {
            State::Valid if reasons.is_empty() => Self::Nothing,
            State::Valid | State::Suspect => Self::SystemOut,
            State::Invalid if reasons.iter().any(is_error) => Self::Error,
            State::Invalid => Self::Failure,
        }
    }
}

/// The outcome of a case: its element, with a message and a text.
struct CaseOutcome {
    element: JunitElement,
    kind: &'static str,
    text: String,
}

/// The cases at the gate, by their name, device and cache state.
struct Gated<'a>(HashMap<(&'a str, &'a str, Cache), Vec<&'a GatedCase>>);

impl<'a> Gated<'a> {
    fn of(gate: Option<&'a Gate>) -> Self {
        let mut cases: HashMap<_, Vec<_>> = HashMap::new();
        for case in gate.iter().flat_map(|gate| &gate.cases) {
            cases.entry((&*case.name, &*case.device, case.cache)).or_default().push(case);
        }
        Self(cases)
    }

    fn outcome(&self, record: &Record) -> CaseOutcome {
        let (case, outcome) = (&record.case, CaseOutcome::of(record));
        let name = case.name();
        // No gate judges invalid numbers.
        let found = self.0.get(&(&*name, &*record.device, case.cache));
        let found = found.filter(|_| record.verdict.state != State::Invalid);
        found.into_iter().flatten().fold(outcome, |outcome, gated| outcome.and(gated))
    }
}

impl CaseOutcome {
    fn of(record: &Record) -> Self {
        let element = JunitElement::of(record);
        let kind = if element == JunitElement::Failure { "invalid" } else { "failed" };
        let text = record.verdict.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        Self { element, kind, text }
    }

    /// The same with the outcome of the gate.
    fn and(self, gated: &GatedCase) -> Self {
        let Some(sentence) = gate::sentence(gated) else { return self };
        let (element, kind) = match gated.outcome {
            GateOutcome::Regressed(_) => (JunitElement::Failure, "regression"),
            GateOutcome::Passed | GateOutcome::Unjudged(_) => (JunitElement::Error, "not judged"),
        };
        // The reason that fails the test comes first, because the message is the first line.
        let text = if self.text.is_empty() { sentence } else { format!("{sentence}\n{}", self.text) };
        if element > self.element { Self { element, kind, text } } else { Self { text, ..self } }
    }
}

/// The failures of the gate that have no record: cases of the baseline that were not measured, or an empty run.
fn missing(gate: &Gate) -> Vec<(&str, &str)> {
    if gate.cases.is_empty() && gate.missing.is_empty() {
        return vec![("--fail-on-regression", "not judged: nothing was compared")];
    }
    let why = "not judged: the baseline has it, and it was not measured";
    gate.missing.iter().map(|name| (&**name, why)).collect()
}

fn is_error(reason: &Reason) -> bool {
    matches!(reason, Reason::Failed(failure) if failure.stage != Stage::Check)
}

fn case(xml: &mut Xml<'_>, record: &Record, outcome: &CaseOutcome, names: &Names) -> io::Result<()> {
    // The time of all of its processes.
    let measured = record.measurement.iter().chain(&record.other_processes);
    let took =
        measured.map(|measured| measured.samples.wall_time).fold(Nanoseconds::ZERO, |took, wall| took + wall);
    let whole = names.case(record);
    let (module, name) = split(&record.case.benchmark, &whole);
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", shown(module)))
        .with_attribute(("name", shown(name)))
        .with_attribute(("time", &*seconds(took)));
    match outcome.element {
        JunitElement::Nothing => element.write_empty()?,
        JunitElement::SystemOut => element.write_inner_content(|xml| {
            text(xml, "system-out", &format!("{}: {}", record.verdict.state, outcome.text))
        })?,
        JunitElement::Failure => {
            element.write_inner_content(|xml| problem(xml, "failure", outcome.kind, &outcome.text))?
        }
        JunitElement::Error => {
            element.write_inner_content(|xml| problem(xml, "error", outcome.kind, &outcome.text))?
        }
    };
    Ok(())
}

/// Writes a failure of the gate that has no record, as a test that did not run.
fn not_measured(xml: &mut Xml<'_>, name: &str, why: &str) -> io::Result<()> {
    let benchmark = name.split_once('[').map_or(name, |(benchmark, _)| benchmark);
    let (module, short) = split(benchmark, name);
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", shown(module)))
        .with_attribute(("name", shown(short)))
        .with_attribute(("time", "0"));
    element.write_inner_content(|xml| problem(xml, "error", "not judged", why))?;
    Ok(())
}

/// Writes a benchmark that was left out, as a skipped test.
fn left_out(xml: &mut Xml<'_>, skipped: &Skipped) -> io::Result<()> {
    let whole = skipped.name();
    let (module, name) = split(&skipped.benchmark, &whole);
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", shown(module)))
        .with_attribute(("name", shown(name)))
        .with_attribute(("time", "0"));
    element.write_inner_content(|xml| {
        xml.create_element("skipped").with_attribute(("message", shown(&skipped.reason))).write_empty()?;
        Ok(())
    })?;
    Ok(())
}

fn problem(xml: &mut Xml<'_>, element: &str, kind: &str, reasons: &str) -> io::Result<()> {
    let first = reasons.lines().next().unwrap_or_default();
    xml.create_element(element)
        .with_attribute(("type", kind))
        .with_attribute(("message", shown(first)))
        .write_text_content(BytesText::new(&shown(reasons)))?;
    Ok(())
}

fn text(xml: &mut Xml<'_>, element: &str, text: &str) -> io::Result<()> {
    xml.create_element(element).write_text_content(BytesText::new(&shown(text)))?;
    Ok(())
}

/// Seconds as the schema has them: with three digits behind the point. They are the wall time of tests, not a measurement.
fn seconds(time: Nanoseconds) -> String {
    format!("{:.3}", time.as_seconds())
}

/// Splits the `whole` name of a case, which begins with its benchmark, into the module and the rest. A benchmark without a module
/// stands for its own.
fn split<'a>(benchmark: &'a str, whole: &'a str) -> (&'a str, &'a str) {
    match split_path(benchmark) {
        Some((module, _)) => (module, whole.get(module.len() + 2..).unwrap_or(whole)),
        None => (benchmark, whole),
    }
}

/// Text as XML can hold it: control characters, such as those that colour a terminal, are shown by their codes, since XML has
/// no way to write them.
fn shown(text: &str) -> Cow<'_, str> {
    let forbidden = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    if !text.contains(forbidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if forbidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}
