//! Recorded runs under `docs/results` print the figures that they did: each `NAME.json` with a `NAME.txt`
//! beside it is read, rendered and compared with that text; and none of their times is one that a GPU cannot
//! have had.

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::limits::{longest_possible_time, violated_limit};
use gpubench_records::record::{Run, SCHEMA};
use gpubench_records::verdict::claims::contradicted;
use gpubench_stats::units::Nanoseconds;
use gpubench_table::{Page, render};

/// Each figure of a recorded row is in the row of the same case today, with the same digits, where necessary in a column that is
/// printed on request. The text under the table may change.
#[test]
fn recorded_runs_print_their_figures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let pairs = recorded(&root);
    assert!(!pairs.is_empty(), "there are recorded runs");
    for (json, text) in pairs {
        let name = json.display();
        let mut run = Run::parse(&fs::read(&json).expect("it is there"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(run.schema, SCHEMA, "{name}");
        let rendered = |run: &Run| anstream::adapter::strip_str(&render(run, Page::default())).to_string();
        let (recorded, usual) = (fs::read_to_string(&text).expect("it is there"), rendered(&run));
        run.columns = ["time", "back-to-back"].map(str::to_owned).to_vec();
        let on_request = rendered(&run);
        let [then, now, more] =
            [&recorded, &usual, &on_request].map(|text| text.lines().filter(is_row).collect::<Vec<_>>());
        assert_eq!([then.len(), now.len(), more.len()], [run.records.len(); 3], "{name}");
        for ((then, now), more) in then.iter().zip(&now).zip(&more) {
            let now_has: Vec<&str> = now.split_whitespace().chain(more.split_whitespace()).collect();
            let is_there = |cell: &&str| {
                let roof = PRECISIONS.iter().find(|(then, _)| then == cell).map(|(_, now)| now);
                now_has.contains(cell) || roof.is_some_and(|roof| now_has.contains(roof))
            };
            let then_has: Vec<&str> = then.split_whitespace().collect();
            // A row has the share of the peak that binds alone.
            let is_other_share = |place: usize| {
                let of = |first: usize| matches!(then_has.get(first..), Some([_, "%", roof, ..]) if !is_there(roof));
                of(place) || place >= 2 && of(place - 2)
            };
            let lacks = then_has
                .iter()
                .enumerate()
                // The numbers of reasons are those of the lines below, where alike ones have one number.
                .find(|(place, cell)| {
                    !is_there(cell)
                        && !MARKS.contains(cell)
                        && !cell.starts_with('[')
                        && !is_other_share(*place)
                });
            assert_eq!(lacks, None, "{name}: {now} (then {then})");
        }
        for record in &run.records {
            let Some(measured) = &record.measurement else { continue };
            assert_eq!(
                measured.samples.event_times.len(),
                measured.samples.time.samples,
                "{name}: {}",
                record.case.name()
            );
        }
    }
}

/// The marks of rows by their verdicts, which stand elsewhere today.
const MARKS: [&str; 5] = ["?", "invalid", "fake,", "±", "%"];

/// Returns true for a row of a table: a name and a cache state. Reasons are indented by four spaces.
fn is_row(line: &&str) -> bool {
    let is_indented =
        ["  ", "? ", "! "].iter().any(|mark| line.starts_with(mark)) && !line.starts_with("    ");
    is_indented && [" hot ", " cold "].iter().any(|cache| line.contains(cache))
}

/// The precisions of roofs, as an older program printed them and as one of today does.
const PRECISIONS: [(&str, &str); 5] =
    [("f64", "FP64"), ("f32", "FP32"), ("f16", "FP16"), ("bf16", "BF16"), ("tf32", "TF32")];

/// The speeds that a GPU was seen to reach are possible ones: hot rows far above the peak of its memory, and cold ones near it.
#[test]
fn what_was_measured_is_not_impossible() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let (mut judged, mut closest) = (0, 0.0_f64);
    for (json, _) in recorded(&root) {
        let run = Run::parse(&fs::read(&json).expect("it is there")).expect("a run");
        for record in &run.records {
            let (Some(measured), Some(info)) = (&record.measurement, run.devices.first()) else { continue };
            let claim = measured.declared_work(record.case.cache);
            let took = longest_possible_time(&measured.samples, claim.cold);
            let (name, file) = (record.case.name(), json.display());
            assert_eq!(violated_limit(&claim, took, info), None, "{file}: {name}");
            // At no time at all it would be, for all that must cross the memory.
            let limit = violated_limit(&claim, Nanoseconds(0.0), info);
            if let Some(limit) = limit.filter(|limit| !limit.measured) {
                judged += 1;
                closest = closest.max(limit.least_time / took);
            }
        }
    }
    assert!(judged >= 30 && closest > 0.85, "{judged} rows, up to {closest} of the limit");
}

/// Nothing that was seen of a launch speaks against a claim of the recorded runs, but for the fault that writes nothing.
#[test]
fn what_was_seen_contradicts_no_recorded_claim() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let mut seen = 0;
    for (json, _) in recorded(&root) {
        let run = Run::parse(&fs::read(&json).expect("it is there")).expect("a run");
        for record in &run.records {
            let (Some(measured), Some(info)) = (&record.measurement, run.devices.first()) else { continue };
            let (name, file) = (record.case.name(), json.display());
            let reason = contradicted(&measured.declared_work(record.case.cache), &measured.launch);
            let expected = name.contains("writes_nothing");
            assert_eq!(reason.is_some(), expected, "{file}: {name}: {reason:?}");
            assert_eq!(record.declared_work_in_doubt(info), None, "{file}: {name}: it would be tried again");
            seen += usize::from(measured.launch.written.is_some());
        }
    }
    assert!(seen >= 100, "{seen}");
}

/// Every JSON below `folder` that has a text of the same name beside it.
fn recorded(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(recorded(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let text = path.with_extension("txt");
            if text.exists() {
                found.push((path, text));
            }
        }
    }
    found
}
