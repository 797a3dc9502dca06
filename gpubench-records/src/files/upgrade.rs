//! The upgrade of files of version 1 to version 2. In: the JSON of a run, or of a line of one; out: the same with the names
//! and units of today, before any type reads it. Fields that are not as in version 1 stay, and the reader refuses them.
//!
//! | version 1 | version 2 |
//! |---|---|
//! | times of the run, of its sampling and of its lines in seconds | all times in nanoseconds |
//! | `in_a_row`, `samples`, `others` | `back_to_back`, `events`, `other_processes` |
//! | the last note says that the run was resumed | `resumed` |
//! | `band` and `seen` may be missing | both are there |
//! | nothing says that launches took turns | `in_turns` |

use serde_json::{Map, Value, json};

use crate::comparison::USUAL_BAND;
use crate::resumed::Resumed;

/// The version that documents are upgraded to.
pub(super) const SCHEMA: &str = "gpubench/2";

type Object = Map<String, Value>;

/// Upgrades a run of version 1, or a line of one.
pub(super) fn run_of_version_1(document: &mut Value) {
    let Value::Object(fields) = document else { return };
    if let Some(Value::Object(run)) = fields.get_mut("run") {
        upgrade_run(run);
    } else if let Some(Value::Object(line)) = fields.get_mut("record") {
        in_nanoseconds(line, &["at"]);
        if let Some(Value::Object(record)) = line.get_mut("record") {
            upgrade_record(record);
        }
    } else if let Some(Value::Object(line)) = fields.get_mut("end") {
        in_nanoseconds(line, &["wall"]);
    } else {
        upgrade_run(fields);
    }
}

fn upgrade_run(run: &mut Object) {
    run.insert("schema".to_owned(), SCHEMA.into());
    in_nanoseconds(run, &["wall", "timeout"]);
    if let Some(Value::Object(sampling)) = run.get_mut("sampling") {
        in_nanoseconds(sampling, &["warm_up", "min_time", "max_time"]);
        sampling.entry("band").or_insert_with(|| USUAL_BAND.into());
    }
    if !run.contains_key("resumed") {
        let resumed = run.get_mut("notes").and_then(Value::as_array_mut).and_then(take_resumed);
        run.extend(resumed.map(|resumed| ("resumed".to_owned(), resumed)));
    }
    for record in run.get_mut("records").and_then(Value::as_array_mut).into_iter().flatten() {
        record.as_object_mut().map(upgrade_record);
    }
}

/// Takes the note about the earlier run out of the notes.
fn take_resumed(notes: &mut Vec<Value>) -> Option<Value> {
    let found = notes.iter().enumerate().rev();
    let (place, resumed) =
        found.into_iter().find_map(|(place, note)| Some((place, Resumed::of_note(note.as_str()?)?)))?;
    notes.remove(place);
    serde_json::to_value(resumed).ok()
}

fn upgrade_record(record: &mut Object) {
    renamed(record, "others", "other_processes");
    let other_processes = record.get_mut("other_processes").and_then(Value::as_array_mut);
    for measurement in other_processes.into_iter().flatten() {
        measurement.as_object_mut().map(upgrade_measurement);
    }
    let mut in_turns = false;
    if let Some(Value::Object(compared)) = record.get_mut("compared") {
        in_turns = true;
        upgraded(compared, in_turns);
    }
    upgraded(record, in_turns);
}

/// Upgrades the measurement of `holder`.
fn upgraded(holder: &mut Object, in_turns: bool) {
    let Some(Value::Object(measurement)) = holder.get_mut("measurement") else { return };
    upgrade_measurement(measurement);
    if in_turns {
        measurement.insert("in_turns".to_owned(), true.into());
    }
}

fn upgrade_measurement(measurement: &mut Object) {
    renamed(measurement, "in_a_row", "back_to_back");
    renamed(measurement, "samples", "events");
    let seen = || json!({ "kernels": [], "kernel_count": 0, "multiprocessors": null, "written": null });
    measurement.entry("seen").or_insert_with(seen);
}

fn renamed(fields: &mut Object, old: &str, new: &str) {
    if let Some(value) = fields.remove(old) {
        fields.insert(new.to_owned(), value);
    }
}

/// Turns seconds into nanoseconds.
fn in_nanoseconds(fields: &mut Object, names: &[&str]) {
    for name in names {
        if let Some(value) = fields.get_mut(*name)
            && let Some(seconds) = value.as_f64()
        {
            *value = (seconds * 1e9).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Run;
    use gpubench_stats::units::Nanoseconds;

    /// A run as version 1 had it.
    const OLD: &str = r#"{"schema":"gpubench/1","program":{"version":"0.1.0","commit":null,"dirty":null,"opt_level":"3","target":"t"},
        "started":0,"wall":1.5,"notes":["first","resumed: 6 of 14 cases were measured by the run of then"],
        "sampling":{"precision":0.005,"samples":null,"warm_up":0.2,"min_time":0.0,"max_time":3.0,"own_max_time":true,
        "flush":null,"path":null},"timeout":60.0,"planned":14,"devices":[],"records":[]}"#;

    #[test]
    fn times_are_in_nanoseconds_and_notes_in_their_field() {
        let run = Run::parse(OLD.as_bytes()).expect("a run");
        let resumed = Resumed { run: "then".to_owned(), kept: 6, planned: 14 };
        assert_eq!((&run.notes[..], &run.resumed), (&["first".to_owned()][..], &Some(resumed)));
        let sampling = run.sampling;
        assert_eq!(
            (run.wall, run.timeout, sampling.warm_up, sampling.max_time),
            (Nanoseconds(1.5e9), Some(Nanoseconds(60e9)), Nanoseconds(2e8), Nanoseconds(3e9))
        );
        assert_eq!(run.schema, "gpubench/2");
        let mut json = Vec::new();
        run.write(&mut json).expect("a vector takes everything");
        assert_eq!(Run::parse(&json).expect("a run"), run);
    }

    #[test]
    fn a_newer_run_is_reported_as_such_and_a_damaged_one_with_its_fault() {
        let told = |json: &str| Run::parse(json.as_bytes()).expect_err("it is refused").to_string();
        let newer = told(&OLD.replace("gpubench/1", "gpubench/3").replace("planned", "plan"));
        assert!(
            newer.starts_with(
                "its format is `gpubench/3`, not `gpubench/2` (line 1): a newer gpubench wrote it"
            ),
            "{newer}"
        );
        let damaged = told(&OLD.replace("planned", "plan"));
        assert!(damaged.starts_with("not a stored run: missing field `planned`"), "{damaged}");
    }

    /// A record of version 1 in a document and in a line: measured by two processes, in turns with another case.
    #[test]
    fn records_have_the_names_of_today() {
        let measurement = |first: u32| json!({ "samples": [first], "in_a_row": 3.0, "counts": {}, "measurement": "another of this name" });
        let record = json!({
            "measurement": measurement(1),
            "others": [measurement(2)],
            "compared": { "measurement": measurement(3) },
        });
        let seen = json!({ "kernels": [], "kernel_count": 0, "multiprocessors": null, "written": null });
        let upgraded = |first: u32| json!({ "events": [first], "back_to_back": 3.0, "counts": {}, "seen": seen, "measurement": "another of this name" });
        let in_turns = |first: u32| {
            let mut measurement = upgraded(first);
            measurement["in_turns"] = true.into();
            measurement
        };
        let expected = json!({
            "measurement": in_turns(1),
            "other_processes": [upgraded(2)],
            "compared": { "measurement": in_turns(3) },
        });
        let mut document = json!({ "records": [record] });
        run_of_version_1(&mut document);
        assert_eq!(document["records"][0], expected);
        let mut line = json!({ "record": { "at": 1.5, "record": record } });
        run_of_version_1(&mut line);
        assert_eq!(line, json!({ "record": { "at": 1.5e9, "record": expected } }));
        let mut end = json!({ "end": { "wall": 2.0 } });
        run_of_version_1(&mut end);
        assert_eq!(end, json!({ "end": { "wall": 2e9 } }));
        // What alone ran took no turns, and what was seen of a launch stays.
        let mut alone = json!({ "records": [{ "measurement": { "seen": 7 } }] });
        run_of_version_1(&mut alone);
        assert_eq!(alone["records"][0]["measurement"], json!({ "seen": 7 }));
    }
}
