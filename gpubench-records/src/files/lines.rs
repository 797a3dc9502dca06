//! The format of a run on disk: JSON Lines, the first with all but the records, then a record each, the last with the time
//! that the run took. A file that was cut off anywhere is a run with the records up to there.
//!
//! Each line ends with a checksum, which finds damage and edits by hand; it is no protection against an attack. Records that no
//! run has are refused: a launch takes longer than nothing, unless the timer resolves too little.

use std::io::{BufRead, BufReader, Read};
use std::{borrow::Cow, fs::File, io, path::Path};

use gpubench_stats::{Nanoseconds, format};
use serde::{Deserialize, Serialize};

use crate::files::format::{RUN, message_without_position};
use crate::{FormatError, Measurement, ReadError, Reason, Record, Run, State, merge::RecordsByCase};

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "one line at a time")]
pub(super) enum Line<'a> {
    /// The first: a run without its records.
    Run(Cow<'a, Run>),
    /// A case is done.
    Record {
        /// The time since the run began.
        at: Nanoseconds,
        /// The result.
        record: Cow<'a, Record>,
    },
    /// The last, if the run came to its end.
    End {
        /// The time that it took.
        wall_time: Nanoseconds,
    },
}

impl Line<'_> {
    /// Returns the line as JSON with its checksum and its line end.
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        add_checksum(&mut line);
        line.push(b'\n');
        Ok(line)
    }
}

/// A run as it is found on disk.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The run, with one record for each case, which has the measurements of all processes.
    pub run: Run,
    /// The faults of its file, a sentence each.
    pub remarks: Vec<String>,
    /// True if the last line of its file is cut off, so that the case in it is left out.
    pub is_cut_off: bool,
    /// True if the run came to its end.
    has_ended: bool,
}

impl From<Run> for Stored {
    fn from(run: Run) -> Self {
        Self { run, remarks: Vec::new(), is_cut_off: false, has_ended: true }
    }
}

impl Stored {
    /// Returns true if there is nothing to resume: the run has come to its end with a record for each case, or has no record.
    pub(super) fn is_done(&self) -> bool {
        let records = self.run.records.len();
        records == 0 || self.has_ended && records >= self.run.planned_cases
    }

    /// Returns the faults of its file in words, for whoever shows what is left.
    pub fn faults(&self) -> Vec<String> {
        let cut_off =
            self.is_cut_off.then(|| "its last line is cut off: the case in it is left out".to_owned());
        self.remarks.iter().cloned().chain(cut_off).collect()
    }
}

/// Reads a run. Damaged lines are left out, with a remark.
///
/// # Errors
/// If the first line begins no run.
pub fn read(from: impl Read) -> Result<Stored, ReadError> {
    read_lines(&mut BufReader::new(from))
}

/// Parses a line after the first. `is_summed` is true if it must have a checksum. Fails with the reason in
/// words.
fn read_lines(from: &mut dyn BufRead) -> Result<Stored, ReadError> {
    let FirstLine { mut run, is_summed } = read_head(from)?;
    let (mut faults, mut records) = (Vec::new(), RecordsByCase::default());
    let (mut is_cut_off, mut has_ended) = (false, false);
    for number in 2.. {
        let line = next_line(from)?;
        if !line.ends_with(b"\n") {
            is_cut_off = !line.is_empty();
            break;
        }
        match read_line(&line, is_summed) {
            Ok(Line::Record { at, record }) => match add_record(record.into_owned(), &mut records) {
                Ok(()) => run.wall_time = run.wall_time.max(at),
                Err(why) => faults.push((number, why)),
            },
            Ok(Line::End { wall_time }) => {
                has_ended = true;
                run.wall_time = run.wall_time.max(wall_time);
            }
            Ok(Line::Run(_)) => faults.push((number, "begins a second run".to_owned())),
            Err(why) => faults.push((number, why)),
        }
    }
    run.records = records.merged();
    Ok(Stored { run, remarks: describe_faults(&faults).into_iter().collect(), is_cut_off, has_ended })
}

/// The run of a file without its records, which are not read.
///
/// # Errors
/// If the first line begins no run.
pub fn head_of(path: &Path) -> Result<Run, ReadError> {
    read_head(&mut BufReader::new(File::open(path)?)).map(|head| head.run)
}

/// Reads a line with its line end. Returns an empty vector at the end of the file, and no line end if the
/// file is cut off.
fn next_line(from: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).map(|_| line)
}

/// Reads a line behind the first. The reason that it is none is in words.
fn read_line(line: &[u8], is_summed: bool) -> Result<Line<'static>, String> {
    let read = serde_json::from_slice(line).map_err(|error| message_without_position(&error))?;
    match check_line(line) {
        Checksum::Differs => Err(CHECKSUM_DIFFERS.to_owned()),
        Checksum::Missing if is_summed => Err("it has no checksum, which the first line has".to_owned()),
        Checksum::Fits | Checksum::Missing => Ok(read),
    }
}

/// The fault of a line whose checksum does not fit.
const CHECKSUM_DIFFERS: &str = "it was changed after it was written: its checksum is another";

/// The first line of a run's file.
struct FirstLine {
    run: Run,
    /// True if it has a checksum: then all others have one.
    is_summed: bool,
}

/// Reads the first line of a run's file.
fn read_head(from: &mut dyn BufRead) -> Result<FirstLine, ReadError> {
    let line = &*next_line(from)?;
    if !line.is_empty() && !line.ends_with(b"\n") {
        return Err(RUN.foreign_error("its first line has no end").into());
    }
    RUN.check_schema(line)?;
    let sum = check_line(line);
    match RUN.parse(line)? {
        Line::Run(_) if sum == Checksum::Differs => {
            Err(RUN.foreign_error(format!("line 1: {CHECKSUM_DIFFERS}")).into())
        }
        Line::Run(run) => Ok(FirstLine { run: run.into_owned(), is_summed: sum == Checksum::Fits }),
        Line::Record { .. } | Line::End { .. } => {
            Err(RUN.foreign_error("line 1: that of a run is missing").into())
        }
    }
}

/// Returns a sentence with the first fault and the number of the others; `None` without faults. Each fault
/// has its line number.
fn describe_faults(faults: &[(usize, String)]) -> Option<String> {
    let ((line, why), others) = faults.split_first()?;
    let others = match others.len() {
        0 => String::new(),
        others => format!(", and {} like it", format::counted(others, "line")),
    };
    Some(format!("line {line} is no record ({why}){others}: left out"))
}

/// Checks that a run can have this record. Returns the reason if none has.
fn validate(record: &Record) -> Result<(), String> {
    let (case, state) = (&record.case, record.verdict.state);
    if record.measurement.is_none() && state != State::Invalid {
        return Err(format!("`{case}` is {state} without a measurement"));
    }
    let compared = record.compared.iter().map(|compared| &compared.measurement);
    let all = record.measurements().chain(compared);
    let negative = all.flat_map(nonnegative_times).find(|(_, time)| *time < Nanoseconds::ZERO);
    let invalid = negative.or_else(|| unexplained_zero_median(record));
    invalid.map_or(Ok(()), |(what, time)| Err(format!("`{case}` has {what} of {time}, which no clock gives")))
}

/// Returns the times of a measurement that must not be negative, each with its name. Event times are left out
/// if the record reports a broken clock.
fn nonnegative_times(measured: &Measurement) -> impl Iterator<Item = (&'static str, Nanoseconds)> {
    let samples = &measured.samples;
    let events = samples.event_times.iter().filter(|_| samples.clock_faults.is_none());
    let events = events.map(|event| ("an event time", *event));
    events.chain([("a sampling time", samples.device_time), ("a wall time", samples.wall_time)])
}

/// Returns the median with its name if it is at or below zero and the verdict does not explain it; otherwise
/// `None`.
fn unexplained_zero_median(record: &Record) -> Option<(&'static str, Nanoseconds)> {
    let is_known = |reason: &Reason| matches!(reason, Reason::BelowResolution { .. });
    let median = record.measurement.as_ref()?.median();
    let is_unsound = median <= Nanoseconds::ZERO
        && record.verdict.state != State::Invalid
        && !record.verdict.reasons.iter().any(is_known);
    is_unsound.then_some(("a median", median))
}

/// Adds a record to those of its case. Fails if the record is impossible, or if the same measurement was
/// added before.
fn add_record(record: Record, to: &mut RecordsByCase) -> Result<(), String> {
    validate(&record)?;
    let of_case = to.of(record.planned());
    if record.measurement.is_some() && of_case.iter().any(|other| other.measurement == record.measurement) {
        return Err(format!("`{}` is there twice, with the same measurement", record.case));
    }
    of_case.push(record);
    Ok(())
}

impl Run {
    /// Reads a run from JSON.
    ///
    /// # Errors
    /// If it is no run of this format.
    pub fn parse(json: &[u8]) -> Result<Self, FormatError> {
        RUN.read(json).and_then(validated)
    }
}

/// Returns a run with one record for each case.
///
/// # Errors
/// If a record is one that no run has.
pub fn validated(mut run: Run) -> Result<Run, FormatError> {
    let mut records = RecordsByCase::default();
    for record in std::mem::take(&mut run.records) {
        add_record(record, &mut records).map_err(|why| RUN.foreign_error(why))?;
    }
    run.records = records.merged();
    Ok(run)
}

/// The text of a line before the digits of its checksum.
const CHECKSUM_KEY: &[u8] = b",\"crc32\":\"";
/// The number of hexadecimal digits of a checksum.
const CHECKSUM_DIGITS: usize = 8;
/// The text after a line's checksum, which closes two objects.
const LINE_END: &[u8] = b"}}";

/// The result of comparing a line with its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// It is as it was written.
    Fits,
    /// It was changed after it was written.
    Differs,
    /// It has none: builds before 2026-11-22 wrote none.
    Missing,
}

/// Adds its checksum to `line`, which has no line end yet.
pub fn add_checksum(line: &mut Vec<u8>) {
    if let Some(body) = line.strip_suffix(LINE_END) {
        let sum = format!("{:08x}\"", crc32fast::hash(body));
        line.truncate(line.len() - LINE_END.len());
        line.extend([CHECKSUM_KEY, sum.as_bytes(), LINE_END].concat());
    }
}

/// Compares `line` with its checksum.
pub fn check_line(line: &[u8]) -> Checksum {
    let parts = || {
        let (body, sum) = line
            .trim_ascii_end()
            .strip_suffix(LINE_END)?
            .strip_suffix(b"\"")?
            .split_last_chunk::<CHECKSUM_DIGITS>()?;
        let sum = u32::from_str_radix(str::from_utf8(sum).ok()?, 16).ok()?;
        Some((body.strip_suffix(CHECKSUM_KEY)?, sum))
    };
    match parts() {
        None => Checksum::Missing,
        Some((body, sum)) if crc32fast::hash(body) == sum => Checksum::Fits,
        Some(_) => Checksum::Differs,
    }
}

#[cfg(test)]
mod lines_tests {
    use super::*;
    use crate::merge::merged;
    use crate::sampling::MOST_SAMPLES;

    #[test]
    fn a_run_is_done_if_it_has_its_end_and_all_records() {
        let run = read(CLOCKWORK).expect("a run").run;
        let written = |number: usize| {
            let record = Cow::Borrowed(&run.records[number]);
            Line::Record { at: run.wall_time, record }.to_bytes().expect("a vector takes everything")
        };
        let (record, other) = (written(0), written(1));
        let end = Line::End { wall_time: run.wall_time }.to_bytes().expect("a vector takes everything");
        let bare = Run { records: Vec::new(), planned_cases: 2, ..run.clone() };
        let head = Line::Run(Cow::Owned(bare)).to_bytes().expect("a vector takes everything");
        let (whole, cut, other) = (&record[..], &record[..record.len() - 9], &other[..]);
        for (behind, expected) in [
            (&[][..], true),
            (&[&end[..]], true),
            (&[whole], false),
            (&[cut], true),
            (&[whole, &end], false),
            (&[whole, other], false),
            (&[whole, other, &end], true),
            (&[whole, whole, &end], false),
            (&[whole, other, &end[..end.len() - 1]], false),
        ] {
            let file = [&head[..], &behind.concat()].concat();
            let found = read(&*file).expect("a run").is_done();
            assert_eq!(found, expected, "{} lines behind the first", behind.len());
        }
    }

    const CLOCKWORK: &[u8] =
        include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");

    /// The first fault is told in words, and how many are like it.
    #[test]
    fn damaged_lines_are_counted() {
        let mut lines = CLOCKWORK.split_inclusive(|byte| *byte == b'\n');
        let head = lines.next().expect("the first line").to_vec();
        let told = |faults: usize| {
            let file = [head.clone(), b"{}\n".repeat(faults)].concat();
            let stored = read(&*file).expect("a run");
            assert_eq!(stored.run.records.len(), 0);
            stored.remarks
        };
        assert_eq!(told(0), [""; 0]);
        let [one, two, four] = [1, 2, 4].map(|faults| told(faults).concat());
        assert!(one.starts_with("line 2 is no record (") && one.ends_with("): left out"), "{one}");
        assert!(two.ends_with("), and 1 line like it: left out"), "{two}");
        assert!(four.ends_with("), and 3 lines like it: left out"), "{four}");
    }

    /// As `--runs 3` leaves it: one row, as the suite showed it. A line that is there twice counts once.
    #[test]
    fn a_case_has_one_record_of_all_its_processes() {
        let run = read(CLOCKWORK).expect("a run").run;
        let processes: Vec<Record> = (1..=3)
            .map(|factor| {
                let mut record = run.records[0].clone();
                let time = &mut record.measurement.as_mut().expect("it was measured").samples.time;
                time.median = f64::from(factor) * time.median;
                record
            })
            .collect();
        let bare = Run { records: Vec::new(), ..run };
        let mut file = Line::Run(Cow::Owned(bare)).to_bytes().expect("a vector takes everything");
        for record in processes.iter().chain([&processes[0]]) {
            let line = Line::Record { at: Nanoseconds(1.0), record: Cow::Borrowed(record) };
            file.extend(line.to_bytes().expect("a vector takes everything"));
        }
        let stored = read(&*file).expect("a run");
        assert_eq!(stored.run.records, merged(processes));
        assert_eq!(stored.run.records[0].processes().map(|(_, count)| count), Some(3));
        let told = stored.remarks.concat();
        assert!(
            told.starts_with("line 5 is no record (`")
                && told.ends_with("` is there twice, with the same measurement): left out"),
            "{told}"
        );
    }

    #[test]
    fn a_run_without_its_first_line_is_told_so() {
        let run = read(CLOCKWORK).expect("a run").run;
        let record = Line::Record { at: run.wall_time, record: Cow::Borrowed(&run.records[0]) };
        let record = record.to_bytes().expect("a vector takes everything");
        let told = read(&*record).expect_err("it is no run").to_string();
        assert!(told.contains("it has no `schema`"), "{told}");
    }

    /// A line that somebody changed by hand is no record, and a first line like that no run. In a file with checksums each line has one.
    #[test]
    fn a_changed_line_is_refused() {
        let run = read(CLOCKWORK).expect("a run").run;
        let record = Line::Record { at: run.wall_time, record: Cow::Borrowed(&run.records[0]) };
        let record = String::from_utf8(record.to_bytes().expect("a vector takes everything")).expect("UTF-8");
        let head = Line::Run(Cow::Owned(Run { records: Vec::new(), ..run })).to_bytes();
        let head = String::from_utf8(head.expect("a vector takes everything")).expect("UTF-8");
        let stored = |head: &str, record: &str| read(format!("{head}{record}").as_bytes());
        let whole = stored(&head, &record).expect("a run");
        assert_eq!((whole.run.records.len(), whole.faults()), (1, vec![]));
        let by_hand = record.replace("\"flops\":1600", "\"flops\":9999");
        let (unsummed, _) = record.rsplit_once(",\"crc32\"").expect("it has a checksum");
        for (record, why) in
            [(by_hand, CHECKSUM_DIFFERS), (format!("{unsummed}}}}}\n"), "it has no checksum")]
        {
            let found = stored(&head, &record).expect("a run");
            let told = found.faults().concat();
            assert!(
                found.run.records.is_empty() && told.contains(&format!("line 2 is no record ({why}")),
                "{told}"
            );
        }
        let told = stored(&head.replace("\"planned_cases\":8", "\"planned_cases\":1"), &record)
            .expect_err("it is no run");
        assert_eq!(told.to_string(), format!("not a stored run: line 1: {CHECKSUM_DIFFERS}"));
        let cut_off = stored(&head, &record[..record.len() - 9]).expect("a run");
        assert_eq!(cut_off.faults(), ["its last line is cut off: the case in it is left out"]);
    }

    /// The most samples that a user may ask for, each as long as a number can be.
    #[test]
    fn the_longest_record_is_read_back() {
        let mut run = read(CLOCKWORK).expect("a run").run;
        let mut record = run.records.swap_remove(0);
        let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
        let longest = Nanoseconds(1.234_567_890_123_456_7e-299);
        samples.event_times = vec![longest; MOST_SAMPLES];
        run.records.clear();
        let mut file = Line::Run(Cow::Borrowed(&run)).to_bytes().expect("a vector takes everything");
        let line = Line::Record { at: run.wall_time, record: Cow::Borrowed(&record) };
        file.extend(line.to_bytes().expect("a vector takes everything"));
        let found = read(&*file).expect("a run");
        assert_eq!(found.remarks, [""; 0]);
        assert!(found.run.records == [record]);
    }
}

#[cfg(test)]
mod validate_tests {
    use super::*;
    use crate::clock_faults::ClockFaults;
    use crate::record::Run;
    use crate::verdict::Verdict;

    fn run() -> Run {
        let lines = include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        read(&lines[..]).expect("a run").run
    }

    /// The run as a document with a line for each record, of which the second is changed.
    fn told(change: impl Fn(&mut Record)) -> Result<Run, String> {
        let mut run = run();
        change(&mut run.records[1]);
        let mut json = Vec::new();
        run.write(&mut json).expect("a vector takes everything");
        let json = String::from_utf8(json).expect("UTF-8").replace("{\"benchmark\"", "\n{\"benchmark\"");
        Run::parse(json.as_bytes()).map_err(|error| error.to_string())
    }

    fn samples(record: &mut Record) -> &mut crate::samples::Samples {
        &mut record.measurement.as_mut().expect("it was measured").samples
    }

    #[test]
    fn a_time_that_no_clock_gives_is_refused_with_its_case() {
        assert!(told(|_| ()).is_ok());
        let case = run().records[1].case.to_string();
        for (change, words) in [
            (
                (|it| samples(it).event_times[0] = Nanoseconds(-5.0)) as fn(&mut Record),
                "an event time of -5.000 ns",
            ),
            (|it| samples(it).time.median = Nanoseconds(0.0), "a median of 0.000 ns"),
            (|it| samples(it).time.median = Nanoseconds(-1.0), "a median of -1.000 ns"),
            (|it| samples(it).wall_time = Nanoseconds(-1.0), "a wall time of -1.000 ns"),
            (|it| samples(it).device_time = Nanoseconds(-2.0), "a sampling time of -2.000 ns"),
            (
                |it| {
                    let mut other = it.measurement.clone().expect("it was measured");
                    other.samples.wall_time = Nanoseconds(-3.0);
                    it.other_processes = vec![other];
                },
                "a wall time of -3.000 ns",
            ),
        ] {
            let told = told(change).expect_err("it is refused");
            let expected = format!(": `{case}` has {words}, which no clock gives");
            assert_eq!(told, format!("not a stored run{expected}"));
        }
        let infinite = told(|it| samples(it).time.median = Nanoseconds(f64::INFINITY));
        assert!(infinite.is_err_and(|told| told.starts_with("not a stored run: line 3, ")));
    }

    /// A launch may be too short for the clock of the whole, and nobody uses the median of an invalid row.
    #[test]
    fn times_of_nothing_are_read_where_they_can_be() {
        assert!(
            told(|it| (samples(it).event_times[0], samples(it).wall_time) =
                (Nanoseconds::ZERO, Nanoseconds::ZERO))
            .is_ok()
        );
        let invalid = told(|it| {
            samples(it).time.median = Nanoseconds::ZERO;
            it.verdict = Verdict { state: State::Invalid, reasons: Vec::new() };
        });
        assert!(invalid.is_ok(), "{invalid:?}");
    }

    #[test]
    fn a_case_that_was_not_measured_is_refused_unless_it_is_invalid() {
        let case = run().records[1].case.to_string();
        let told = told(|it| it.measurement = None).expect_err("it is refused");
        assert!(told.ends_with(&format!(": `{case}` is valid without a measurement")), "{told}");
    }

    #[test]
    fn a_measurement_that_is_there_twice_is_refused() {
        let mut run = run();
        run.records.push(run.records[0].clone());
        let json = serde_json::to_vec(&run).expect("it can be written");
        let told = Run::parse(&json).expect_err("it is refused").to_string();
        assert!(
            told.ends_with(&format!("`{}` is there twice, with the same measurement", run.records[0].case)),
            "{told}"
        );
    }

    /// An event time below zero is evidence against a clock, which is kept.
    #[test]
    fn what_a_broken_clock_read_is_read() {
        let broken = told(|it| {
            let faults = ClockFaults { readings: 100, negative: 1, ..ClockFaults::default() };
            samples(it).event_times[0] = Nanoseconds(-5.0);
            samples(it).clock_faults = Some(faults);
            it.verdict = Verdict::of(vec![Reason::BrokenClock(faults)]);
        });
        assert!(broken.is_ok(), "{broken:?}");
    }

    /// A row whose verdict says so has such a median, and is read.
    #[test]
    fn a_time_below_the_timers_resolution_is_read() {
        let step = Nanoseconds(32.0);
        let below = told(|it| {
            samples(it).time.median = Nanoseconds(-1.0);
            it.verdict.add([Reason::BelowResolution { resolution: step }]);
        });
        assert!(below.is_ok(), "{below:?}");
    }
}

#[cfg(test)]
mod checksum_tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_found() {
        let mut line = br#"{"end":{"wall":12.5}}"#.to_vec();
        assert_eq!(check_line(&line), Checksum::Missing);
        add_checksum(&mut line);
        assert_eq!(str::from_utf8(&line), Ok(r#"{"end":{"wall":12.5,"crc32":"9b8b1b34"}}"#));
        line.push(b'\n');
        assert_eq!(check_line(&line), Checksum::Fits);
        for place in 0..line.len() - 3 {
            let mut changed = line.clone();
            changed[place] ^= 1;
            assert_ne!(check_line(&changed), Checksum::Fits, "byte {place}");
        }
    }
}
