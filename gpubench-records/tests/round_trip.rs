//! Stored numbers are read back to the last bit, and a damaged file is refused with the place of its fault.

use std::fs::File;
use std::path::Path;

use gpubench_records::files;
use gpubench_records::record::Run;
use gpubench_stats::units::Nanoseconds;
use proptest::prelude::*;

fn run() -> Run {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpubench-runner/tests/parsing/corpus/runs");
    files::read(File::open(corpus.join("clockwork.jsonl")).expect("it is there")).expect("a run").run
}

fn written(run: &Run) -> Vec<u8> {
    let mut json = Vec::new();
    run.write(&mut json).expect("a vector takes everything");
    json
}

fn any_finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("JSON has no other", |number| number.is_finite())
}

proptest! {
    #[test]
    fn numbers_are_read_back_to_the_last_bit(
        events in prop::collection::vec(any_finite().prop_map(f64::abs), 1..100),
        signed in any_finite(),
    ) {
        let mut run = run();
        let measurement = run.records[0].measurement.as_mut().expect("it was measured");
        measurement.samples.event_times = events.iter().copied().map(Nanoseconds).collect();
        measurement.metrics.arithmetic_intensity = Some(signed);
        let read = Run::parse(&written(&run)).expect("a run");
        let measurement = read.records[0].measurement.as_ref().expect("it was measured");
        let bits = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(f64::to_bits).collect::<Vec<_>>();
        prop_assert_eq!(
            bits(&mut measurement.samples.event_times.iter().map(|event| event.0)),
            bits(&mut events.iter().copied())
        );
        prop_assert_eq!(measurement.metrics.arithmetic_intensity.map(f64::to_bits), Some(signed.to_bits()));
    }
}

#[test]
fn a_damaged_file_is_refused_with_the_place_of_its_fault() {
    let whole = String::from_utf8(written(&run())).expect("UTF-8");
    let told = |text: &str| Run::parse(text.as_bytes()).expect_err("it is refused").to_string();
    for part in [whole.len() / 3, whole.len() / 2, whole.len() - 3] {
        let told = told(&whole[..part]);
        assert_eq!(told, format!("not a stored run: line 1, column {part}: it is cut off there"));
    }
    let other = told(&whole.replacen("\"planned_cases\":8", "\"planned_cases\":\"eight\"", 1));
    let column =
        whole.find("\"planned_cases\":8").expect("it is there") + "\"planned_cases\":\"eight\"".len();
    let invalid = "invalid type: string \"eight\", expected usize";
    assert_eq!(other, format!("not a stored run: line 1, column {column}: {invalid}"));
    assert_eq!(
        told("{\"name\": \"something else\"}"),
        "not a stored run: it has no `schema`, which each file of gpubench has"
    );
}
