//! The times that cases took in an earlier run, for an estimate of the next. In: the folder of runs; out: the wall time of
//! each case of the latest run, without its samples.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::earlier::last;
use crate::id::PlannedCase;
use crate::record::SCHEMA;
use gpubench_stats::units::Nanoseconds;

/// Reading a larger file would delay the measurement.
const LARGEST: u64 = 64 << 20;

/// A line of a run, of which only this is read.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CaseLine {
    Record { at: Nanoseconds, record: PlannedCase },
}

/// The wall time of each case of the latest run of `suite` in `folder`; nothing if there is none, or it is too large.
#[must_use]
pub fn times_of_last(folder: &Path, suite: &str) -> HashMap<PlannedCase, Duration> {
    let file = last(folder, suite, |_| true).ok().and_then(|path| File::open(path).ok());
    let is_small = |file: &File| file.metadata().is_ok_and(|metadata| metadata.len() <= LARGEST);
    file.filter(is_small).map(times).unwrap_or_default()
}

/// The time between the end of a case and the end of the one before it.
fn times(from: impl Read) -> HashMap<PlannedCase, Duration> {
    let mut times = HashMap::new();
    let mut before = Nanoseconds::ZERO;
    let mut lines = BufReader::new(from).lines().map_while(Result::ok);
    // An older format has other units.
    if !lines.next().is_some_and(|head| head.contains(SCHEMA)) {
        return times;
    }
    for line in lines {
        let Ok(CaseLine::Record { at, record }) = serde_json::from_str(&line) else { continue };
        let took = Duration::try_from_secs_f64((at - before).as_seconds()).unwrap_or_default();
        times.insert(record, took);
        before = at;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use crate::method::Cache;
    use crate::record::Run;

    #[test]
    fn a_case_takes_the_time_since_the_one_before() {
        let record = |at: f64, cache: &str| {
            format!(
                r#"{{"record":{{"at":{at},"record":{{"benchmark":"copy","args":[],"device":"host","cache":"{cache}","fake":false,"measurement":{{"samples":[1,2]}}}}}}}}"#
            )
        };
        let [hot, cold] = [record(1.5e9, "hot"), record(4e9, "cold")];
        let file = format!("{{\"run\":{{\"schema\":\"{SCHEMA}\"}}}}\n{hot}\n{cold}\n{{\"end\":{{}}}}\n");
        assert!(times(file.replace(SCHEMA, "gpubench/1").as_bytes()).is_empty());
        let times = times(file.as_bytes());
        let took = |cache| {
            let (benchmark, device) = ("copy".to_owned(), "host".to_owned());
            times.get(&PlannedCase { benchmark, args: Vec::new(), device, cache }).copied()
        };
        assert_eq!(took(Cache::Hot), Some(Duration::from_millis(1500)));
        assert_eq!(took(Cache::Cold), Some(Duration::from_millis(2500)));
    }
    #[test]
    fn the_latest_run_of_a_suite_tells_how_long_cases_take() {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let run = crate::files::read(&lines[..]).expect("a run").run;
        let folder = tempfile::tempdir().expect("a folder");
        let bare = Run { records: Vec::new(), ..run.clone() };
        let mut store = Store::create(folder.path(), &bare, &[]).expect("it can be written");
        let path = store.path().to_owned();
        run.records.iter().try_for_each(|record| store.add(record)).expect("it can be written");
        let times = times_of_last(folder.path(), &run.program.suite);
        assert_eq!(times.len(), run.records.len());
        assert!(run.records.iter().all(|record| times.contains_key(&record.planned())));
        assert!(times_of_last(folder.path(), "another").is_empty());
        // A file that takes long to read is left alone.
        let file = File::options().write(true).open(path).expect("it is there");
        for (length, count) in [(LARGEST, run.records.len()), (LARGEST + 1, 0)] {
            file.set_len(length).expect("it can be longer");
            assert_eq!(times_of_last(folder.path(), &run.program.suite).len(), count, "{length}");
        }
    }
}
