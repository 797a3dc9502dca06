//! Any name and any number in every format, read back by another program's parser.

use gpubench_records::id::Arg;
use gpubench_records::record::Run;
use gpubench_report::export::{BMF, GITHUB_BENCHMARK, JUNIT};
use gpubench_stats::units::Nanoseconds;
use gpubench_table::export::Format;
use gpubench_table::text::plain;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use quick_xml::events::Event as XmlEvent;
use serde_json::Value;

use super::{CsvRows, ODD_NAMES, exported, small};

/// Characters of all kinds, more often those that formats give a meaning to.
fn name() -> impl Strategy<Value = String> {
    let special = proptest::sample::select(ODD_NAMES.concat().chars().collect::<Vec<_>>());
    proptest::collection::vec(prop_oneof![any::<char>(), special, prop::char::range('!', '~')], 0..12)
        .prop_map(String::from_iter)
}

/// Times above zero, from the smallest to the largest that there are.
fn time() -> impl Strategy<Value = f64> {
    prop::num::f64::POSITIVE | prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL
}

/// Cases by the names of their benchmark and argument, with their median.
fn cases() -> impl Strategy<Value = Vec<(String, String, f64)>> {
    proptest::collection::vec((name(), name(), time().prop_map(f64::abs)), 1..4)
}

/// A run of these cases. Numbers before their names make them differ.
fn run(cases: &[(String, String, f64)]) -> Run {
    let mut run = small("clockwork.jsonl");
    let record = run.records.remove(0);
    let made = cases.iter().enumerate().map(|(number, (benchmark, arg, median))| {
        let mut record = record.clone();
        record.case.benchmark = format!("odd::{number}{benchmark}");
        record.case.args = vec![Arg { name: format!("n{number}"), value: arg.clone() }];
        let measured = record.measurement.as_mut().expect("it was measured");
        measured.samples.time.median = Nanoseconds(*median);
        measured.samples.event_times[0] = Nanoseconds(*median);
        record
    });
    run.records = made.collect();
    run
}

fn json(format: Format, run: &Run) -> Value {
    serde_json::from_str(&exported(format, run)).expect("JSON")
}

fn bits(value: &Value) -> Option<u64> {
    value.as_f64().map(f64::to_bits)
}

/// The text of a number as XML and Markdown show it: what they cannot hold is shown by its code.
fn coded(text: &str, is_coded: impl Fn(char) -> bool) -> String {
    text.chars().map(|c| if is_coded(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_survives_in_json(cases in cases()) {
        let run = run(&cases);
        prop_assert_eq!(&Run::parse(exported(Format::JSON, &run).as_bytes()).expect("a run"), &run);
    }

    #[test]
    fn names_and_numbers_survive_in_csv(cases in cases()) {
        let run = run(&cases);
        let rows = CsvRows::of(Format::CSV, &run);
        for (row, record) in run.records.iter().enumerate() {
            let measured = record.measurement.as_ref().expect("it was measured");
            let Arg { name, value } = &record.case.args[0];
            prop_assert_eq!(rows.cell(row, "name"), record.case.name());
            prop_assert_eq!(rows.cell(row, &format!("arg.{name}")), value);
            let median = measured.samples.time.median.0;
            prop_assert_eq!(rows.number(row, "time_ns").map(f64::to_bits), Some(median.to_bits()));
        }
    }

    #[test]
    fn names_and_numbers_survive_in_formats_of_trackers(cases in cases()) {
        let run = run(&cases);
        let (bencher, github) = (json(BMF, &run), json(GITHUB_BENCHMARK, &run));
        prop_assert_eq!(bencher.as_object().map(serde_json::Map::len), Some(run.records.len()));
        for (record, point) in run.records.iter().zip(github.as_array().expect("an array")) {
            let (name, median) = (record.case.to_string(), record.measurement.as_ref().expect("a number").samples.time.median.0);
            prop_assert_eq!(bits(&bencher[&name]["latency"]["value"]), Some(median.to_bits()));
            prop_assert_eq!((point["name"].as_str(), bits(&point["value"])), (Some(&*name), Some(median.to_bits())));
        }
    }

    #[test]
    fn names_survive_in_junit(cases in cases()) {
        let run = run(&cases);
        let text = exported(JUNIT, &run);
        let mut xml = quick_xml::Reader::from_str(&text);
        let mut names = Vec::new();
        loop {
            match xml.read_event().expect("XML") {
                XmlEvent::Eof => break,
                XmlEvent::Start(element) | XmlEvent::Empty(element) if element.name().as_ref() == "testcase" => {
                    let value = |name: &str| {
                        let found = element.attributes().flatten().find(|it| it.key.as_ref() == name).expect(name);
                        let value = quick_xml::escape::unescape(&found.value).expect("escaped").into_owned();
                        assert!(!found.value.contains(['\n', '\r', '\t']), "a parser would make it a space");
                        value
                    };
                    names.push(value("name"));
                }
                _ => {}
            }
        }
        let forbidden = |c: char| (c < ' ' && !"\t\n\r".contains(c)) || "\u{fffe}\u{ffff}".contains(c);
        prop_assert!(!text.contains(forbidden));
        // A name is one line, in which no character turns the direction of text.
        let expected: Vec<String> = run.records.iter().map(|record| {
            let name = plain(&record.case.to_string());
            prop_assert!(!name.contains(char::is_control));
            Ok(coded(&name, forbidden))
        }).collect::<Result<_, _>>()?;
        prop_assert_eq!(names, expected);
    }

    #[test]
    fn names_survive_in_markdown(cases in cases()) {
        let run = run(&cases);
        let text = exported(Format::MARKDOWN, &run);
        let (mut cells, mut head) = (vec![String::new()], false);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::TableHead) => head = true,
                Event::End(TagEnd::TableHead) => head = false,
                Event::Start(Tag::TableRow | Tag::TableCell) => cells.push(String::new()),
                Event::Text(text) if !head => cells.last_mut().expect("there is one").push_str(&text),
                _ => {}
            }
        }
        // Leading and trailing spaces of a cell, and the number of spaces, are not kept.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for record in &run.records {
            let name = record.case.name().replace(['\n', '\r', '\t'], " ");
            let name = words(&coded(&name, char::is_control));
            prop_assert!(cells.iter().any(|cell| words(cell) == name), "{name:?} in {text}");
        }
    }
}
