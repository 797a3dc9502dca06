//! Recorded runs under `docs/results` print the figures that they did: each `NAME.json` with a `NAME.txt` beside it is read,
//! rendered and held against that text; and none of their times is one that a GPU cannot have had. In: the files as they are committed;
//! out: a difference, if there is one.

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::limits::{broken, longest};
use gpubench_records::record::{Run, SCHEMA};
use gpubench_records::verdict::claims::contradicted;
use gpubench_stats::units::Nanoseconds;
use gpubench_table::{Page, render};

/// An older program printed other tables. Each figure of its rows is in the row of the same case, with the same digits, and
/// every line beside the rows is there, the reasons against rows without the row's name.
#[test]
fn recorded_runs_print_their_figures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let pairs = recorded(&root);
    assert!(!pairs.is_empty(), "there are recorded runs");
    for (json, text) in pairs {
        let name = json.display();
        let run = Run::parse(&fs::read(&json).expect("it is there"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(run.schema, SCHEMA, "{name}");
        let rendered = anstream::adapter::strip_str(&render(&run, Page::default())).to_string();
        let recorded = fs::read_to_string(&text).expect("it is there");
        let [then, now] = [&recorded, &rendered].map(|text| text.lines().filter(is_row).collect::<Vec<_>>());
        assert_eq!((then.len(), now.len()), (run.records.len(), run.records.len()), "{name}");
        for (then, now) in then.iter().zip(&now) {
            let now_has: Vec<&str> = now.split_whitespace().collect();
            let is_there = |cell: &&str| {
                let roof = PRECISIONS.iter().find(|(then, _)| then == cell).map(|(_, now)| now);
                now_has.contains(cell) || roof.is_some_and(|roof| now_has.contains(roof))
            };
            let lacks = then.split_whitespace().find(|cell| !is_there(cell) && !MARKS.contains(cell));
            assert_eq!(lacks, None, "{name}: {now} (then {then})");
        }
        // Columns may stand further apart.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let rendered: Vec<String> = rendered.lines().map(words).collect();
        for line in recorded.lines().filter(|line| !is_row(line)) {
            let kept = renamed(words(kept(line)));
            let says = |now: &String| now.contains(&kept) || is_path_of(now, &kept);
            assert!(rendered.iter().any(says), "{name}: {kept} (then {line})");
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
const MARKS: [&str; 3] = ["?", "invalid", "fake,"];

/// Returns true for a row of a table: behind its name stands its cache state.
fn is_row(line: &&str) -> bool {
    let is_indented = ["  ", "? ", "! "].iter().any(|mark| line.starts_with(mark));
    is_indented && [" hot  ", " cold  "].iter().any(|cache| line.contains(cache))
}

/// The part of a recorded line, beside its rows, that a run of today prints.
fn kept(line: &str) -> &str {
    let line = line.trim_start();
    let is_reason = ["suspect ", "invalid "].iter().any(|state| line.starts_with(state));
    match line.split_once(": ") {
        // Counted reasons stand at each of their rows.
        _ if is_reason && line.contains(" (?): ") => {
            line.split_once(" (?): ").map_or(line, |(_, words)| words)
        }
        Some((_, words)) if is_reason => words,
        // The heads of columns stand beside the names of modules, and the UUID behind the other properties.
        _ if line.starts_with("time ") => "time",
        _ if line.starts_with("UUID ") => line.split_once(" · ").map_or(line, |(_, others)| others),
        _ => line.split(" invalid").next().unwrap_or(line),
    }
}

/// Returns true if `now` tells of the path of several cases what `then` tells of one of them.
fn is_path_of(now: &str, then: &str) -> bool {
    let of_case = || {
        let rest = then.strip_prefix("stream path: ")?;
        let (case, reason) = rest.split_once(" hot: ").or_else(|| rest.split_once(" cold: "))?;
        // Two cases of a reason are named, and more are counted.
        let names_it = now.contains(case) || now.contains(" others: ");
        Some(now.starts_with("stream path: ") && names_it && now.ends_with(&format!(": {reason}")))
    };
    of_case().unwrap_or_default()
}

/// The precisions of roofs, as an older program printed them and as one of today does.
const PRECISIONS: [(&str, &str); 5] =
    [("f64", "FP64"), ("f32", "FP32"), ("f16", "FP16"), ("bf16", "BF16"), ("tf32", "TF32")];

/// The names of other peaks, then and today.
const PEAKS: [(&str, &str); 3] = [
    ("memory bandwidth", "DRAM bandwidth"),
    ("h2d", "PCIe bandwidth to the device"),
    ("d2h", "PCIe bandwidth to the host"),
];

/// The line with the peak's name of today.
fn renamed(line: String) -> String {
    let line = line
        .replace(" by events around each launch,", ", and")
        .replace("by rows of launches without:", "according to a second clock:");
    let Some(peak) = line.strip_prefix("peak ") else { return line };
    let renamed =
        PEAKS.iter().chain(&PRECISIONS).find_map(|(then, now)| Some((now, peak.strip_prefix(then)?)));
    renamed.map_or(line.clone(), |(now, limit)| format!("peak {now}{limit}"))
}

/// The speeds that a GPU was seen to reach are possible ones: hot rows far above the peak of its memory, and cold ones near it.
#[test]
fn what_was_measured_is_not_impossible() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let (mut judged, mut closest) = (0, 0.0_f64);
    for (json, _) in recorded(&root) {
        let run = Run::parse(&fs::read(&json).expect("it is there")).expect("a run");
        for record in &run.records {
            let (Some(measured), Some(info)) = (&record.measurement, run.devices.first()) else { continue };
            let claim = measured.claim(record.case.cache);
            let took = longest(&measured.samples, claim.cold);
            let (name, file) = (record.case.name(), json.display());
            assert_eq!(broken(&claim, took, info), None, "{file}: {name}");
            // At no time at all it would be, for all that must cross the memory.
            let limit = broken(&claim, Nanoseconds(0.0), info);
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
            let reason = contradicted(&measured.counts, measured.link, &measured.launch);
            let expected = name.contains("writes_nothing");
            assert_eq!(reason.is_some(), expected, "{file}: {name}: {reason:?}");
            assert_eq!(record.claim_in_doubt(info), None, "{file}: {name}: it would be tried again");
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
