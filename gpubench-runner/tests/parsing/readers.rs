//! Everything that reads what others wrote.

use std::ffi::OsString;
use std::fs;
use std::io::Cursor;
use std::os::unix::ffi::OsStringExt;

use gpubench_records::PlannedCase;
use gpubench_records::baseline::check;
use gpubench_records::files::{BaselineLocation, EarlierRun, read};
use gpubench_records::id::DeviceId;
use gpubench_records::record::{Record, Run};
use gpubench_runner::__private::{Caller, ResumedRecords, may_name_kind, parse};
use gpubench_runner::{Plan, Settings};
use gpubench_runtime::worker::{Reply, Request};
use gpubench_runtime::{Job, JobStatus};
use gpubench_stats::{DECISION_ERROR, units::Nanoseconds};

/// Something that reads.
pub(crate) struct Reader {
    pub(crate) name: &'static str,
    /// The folder of its inputs, and what is done to each of them.
    pub(crate) corpus: &'static str,
    pub(crate) prepare: fn(Vec<u8>) -> Vec<u8>,
    /// Reads, and tells whether there was something to read.
    pub(crate) read: fn(&[u8]) -> bool,
}

pub(crate) const READERS: &[Reader] = &[
    Reader { name: "the file of a run", corpus: "runs", prepare: |file| file, read: file_of_a_run },
    Reader { name: "a run as JSON", corpus: "runs", prepare: as_json, read: json },
    Reader { name: "a baseline", corpus: "runs", prepare: as_json, read: baseline },
    Reader { name: "the command line", corpus: "command-lines", prepare: |file| file, read: command_line },
    Reader { name: "gpubench.toml", corpus: "peaks", prepare: |file| file, read: file_of_settings },
    Reader { name: "what processes say", corpus: "runs", prepare: as_messages, read: messages },
];

fn file_of_a_run(bytes: &[u8]) -> bool {
    match read(Cursor::new(bytes)) {
        Ok(stored) => {
            shown(&stored.run);
            resumed(stored.run);
            true
        }
        Err(refused) => {
            assert!(!refused.to_string().is_empty());
            false
        }
    }
}

fn as_json(file: Vec<u8>) -> Vec<u8> {
    match read(Cursor::new(&file)) {
        Ok(stored) => serde_json::to_vec(&stored.run).expect("it was JSON"),
        // What was found once is tried as it is.
        Err(_) => file,
    }
}

fn json(bytes: &[u8]) -> bool {
    let run = match Run::parse(bytes) {
        Ok(run) => run,
        Err(refused) => {
            assert!(!refused.to_string().is_empty());
            return false;
        }
    };
    shown(&run);
    let again = serde_json::to_vec(&run).expect("it was JSON");
    let again = Run::parse(&again).expect("what is written is read");
    assert_eq!(again, run);
    true
}

/// Holds what is read against itself, where some is not as it was.
fn baseline(bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("baseline.json");
    fs::write(&place, bytes).expect("it can be written");
    match BaselineLocation::from_name(place.to_str().expect("UTF-8")).load() {
        Ok(held) => {
            let mut run = Run::parse(bytes).expect("it was read");
            run.baseline_comparison = Some(check(&run, &held, &|_| true, DECISION_ERROR));
            shown(&run);
            true
        }
        Err(refused) => {
            assert!(refused.to_string().contains("baseline.json"), "{refused}");
            false
        }
    }
}

/// Prints whatever is in a run.
fn shown(run: &Run) {
    assert!(
        !gpubench_table::render(run, gpubench_table::Page::default()).is_empty() || run.devices.is_empty()
    );
    drop(gpubench_table::explain(run, gpubench_table::Page::default()));
}

/// Goes on from a run in which just those cases are planned that it has.
fn resumed(run: Run) {
    let mut plan = Plan::default();
    let job = |record: &Record| {
        let PlannedCase { benchmark, args, device, cache } = record.planned();
        Job::new(benchmark, args, device, vec![cache])
    };
    plan.jobs = run.records.iter().map(|record| (job(record), JobStatus::Measured)).collect();
    let (program, sampling) = (run.program.clone(), run.sampling);
    let info = run.devices.first().cloned();
    let earlier = EarlierRun { name: "earlier".to_owned(), run, remarks: Vec::new() };
    let mut resumed =
        ResumedRecords::from_earlier(earlier, &plan, &program, &sampling, Nanoseconds::from_seconds(60.0));
    drop(info.map(|info| resumed.adopt_info(info)));
    assert!(resumed.for_plan(&plan).len() <= plan.cases());
    drop(resumed.remarks());
}

/// An argument a line.
fn command_line(bytes: &[u8]) -> bool {
    let arguments = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let arguments: Vec<OsString> = arguments.map(|line| OsString::from_vec(line.to_vec())).collect();
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        _ = (DeviceId::parse(argument), may_name_kind(argument, "cuda"));
    }
    let arguments = std::iter::once(OsString::from("suite")).chain(arguments);
    match parse(arguments, &Caller::default()) {
        Ok(options) => !format!("{options:?}").is_empty(),
        Err(refused) => {
            assert!(!refused.to_string().is_empty());
            false
        }
    }
}

fn file_of_settings(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    Settings::from_toml(text).is_ok_and(|settings| format!("{settings:?}").contains("precision"))
}

/// A line for each record, as a worker sends it.
fn as_messages(file: Vec<u8>) -> Vec<u8> {
    let Ok(stored) = read(Cursor::new(&file)) else { return file };
    let replies = stored.run.records.into_iter().map(|record| Reply::Record(Box::new(record)));
    let info = stored.run.devices.into_iter().map(Reply::DeviceInfo);
    let lines = info.chain(replies).chain([Reply::DeviceLost, Reply::Done]);
    lines
        .flat_map(|reply| [serde_json::to_vec(&reply).expect("it is JSON"), b"\n".to_vec()].concat())
        .collect()
}

fn messages(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n');
    let read = lines.map(|line| {
        let request = serde_json::from_slice::<Request>(line).is_ok();
        serde_json::from_slice::<Reply>(line).is_ok() || request
    });
    read.fold(0, |read, is_read| read + usize::from(is_read)) > 2
}
