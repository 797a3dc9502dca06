//! The format of a run on disk: JSON Lines, the first with all but the records, then a record each, the last with the time
//! that the run took and its comparison with a baseline. A file that was cut off anywhere is a run with the records up to there.
//!
//! Each line ends with a checksum, which finds damage and edits by hand; it is no protection against an attack. Records that no
//! run has are refused: a launch takes longer than nothing, unless the timer resolves too little.

use std::io::{BufRead, BufReader, Read};
use std::{fs::File, io, path::Path};

use gpubench_stats::{Nanoseconds, format};
use serde::{Deserialize, Serialize};

use crate::files::format::RUN;
use crate::{
    BaselineComparison, Measurement, ReadError, Reason, Record, Run, State, Threshold, json,
    merge::RecordsByCase,
};

/// One line of a run's file, as it is read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RunLine<U = Run, C = Record> {
    /// The first line: the run without its records.
    Run(U),
    /// The line of a case that is done.
    Record {
        /// The time since the run began.
        at: Nanoseconds,
        /// The result.
        record: C,
    },
    /// The last line, unless the process of the run was killed.
    End {
        /// The time that the run took.
        wall_time: Nanoseconds,
        /// True if the run ended before its plan did, so that it lacks results.
        #[serde(default)]
        ended_early: bool,
        /// The regression threshold of the run, if the user gave one.
        regression_threshold: Option<Threshold>,
        /// The comparison with a baseline.
        baseline_comparison: Option<BaselineComparison>,
    },
}

/// One line of a run's file, as it is written.
pub(super) type WrittenLine<'a> = RunLine<&'a Run, &'a Record>;

impl WrittenLine<'_> {
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
pub struct StoredRun {
    /// The run, with one record for each case. A record has the measurements of all processes.
    pub run: Run,
    /// The faults of its file, a sentence each.
    pub remarks: Vec<String>,
    /// True if the last line of its file is cut off, so that the case in it is left out.
    pub is_cut_off: bool,
    /// True if the file has the line that a run writes at its end, and the run came to the end of its plan.
    pub has_ended: bool,
}

impl StoredRun {
    /// Returns true if there is nothing to resume: the run has no record at all, or it came to its end and
    /// has a record for each planned case.
    pub(super) fn is_done(&self) -> bool {
        let records = self.run.records.len();
        records == 0 || self.has_ended && records >= self.run.planned_cases
    }
}

/// Reads a run. Damaged lines, and a last line that is cut off, are left out and noted in the result.
///
/// # Errors
/// If the first line begins no run.
pub fn read(from: impl Read) -> Result<StoredRun, ReadError> {
    read_lines(&mut BufReader::new(from))
}

/// Reads the first line, then the others, up to the end or to a line that is cut off. Damaged lines become
/// faults.
fn read_lines(from: &mut dyn BufRead) -> Result<StoredRun, ReadError> {
    let (mut run, has_checksum) = read_head(from)?;
    let (mut faults, mut records) = (Vec::new(), RecordsByCase::default());
    let (mut is_cut_off, mut has_ended) = (false, false);
    for number in 2.. {
        let line = next_line(from)?;
        if !line.ends_with(b"\n") {
            is_cut_off = !line.is_empty();
            break;
        }
        match read_line(&line, has_checksum) {
            Ok(RunLine::Record { at, record }) => match add_record(record, &mut records) {
                Ok(()) => run.wall_time = run.wall_time.max(at),
                Err(why) => faults.push((number, why)),
            },
            Ok(RunLine::End { wall_time, ended_early, regression_threshold, baseline_comparison }) => {
                has_ended = !ended_early;
                run.wall_time = run.wall_time.max(wall_time);
                (run.regression_threshold, run.baseline_comparison) =
                    (regression_threshold, baseline_comparison);
            }
            Ok(RunLine::Run(_)) => faults.push((number, "begins a second run".to_owned())),
            Err(why) => faults.push((number, why)),
        }
    }
    run.records = records.merged();
    Ok(StoredRun { run, remarks: describe_faults(&faults).into_iter().collect(), is_cut_off, has_ended })
}

/// Reads the first line of the file at `path`: returns the run without its records.
///
/// # Errors
/// If the first line begins no run.
pub fn head_of(path: &Path) -> Result<Run, ReadError> {
    read_head(&mut BufReader::new(File::open(path)?)).map(|(run, _)| run)
}

/// Reads a line with its line end. The line is empty at the end of the file, and has no line end if the file
/// is cut off there.
fn next_line(from: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).map(|_| line)
}

/// Reads a line after the first. Returns the reason as text if the line is not of this format, if its
/// checksum differs, or if it has no checksum although `needs_checksum` is true.
fn read_line(line: &[u8], needs_checksum: bool) -> Result<RunLine, String> {
    let read = json::from_slice(line).map_err(|error| json::message_without_position(&error))?;
    match check_line(line) {
        Checksum::Differs => Err(CHECKSUM_DIFFERS.to_owned()),
        Checksum::Missing if needs_checksum => Err("it has no checksum, which the first line has".to_owned()),
        Checksum::Fits | Checksum::Missing => Ok(read),
    }
}

/// The message about a line whose checksum does not fit.
const CHECKSUM_DIFFERS: &str = "it was changed after it was written: its checksum is another";

/// Reads the first line of a run's file: returns the run without its records, and true if the line has a checksum. Then
/// all other lines must have one too.
fn read_head(from: &mut dyn BufRead) -> Result<(Run, bool), ReadError> {
    let line = &*next_line(from)?;
    if !line.is_empty() && !line.ends_with(b"\n") {
        return Err(RUN.foreign_error("its first line has no end"));
    }
    RUN.check_schema(line)?;
    let sum = check_line(line);
    match RUN.parse::<RunLine>(line)? {
        RunLine::Run(_) if sum == Checksum::Differs => {
            Err(RUN.foreign_error(format!("line 1: {CHECKSUM_DIFFERS}")))
        }
        RunLine::Run(run) => Ok((run, sum == Checksum::Fits)),
        RunLine::Record { .. } | RunLine::End { .. } => {
            Err(RUN.foreign_error("line 1: that of a run is missing"))
        }
    }
}

/// Returns a sentence with the first of `faults` and the number of the others; `None` without faults. A fault
/// is the number of a line and the reason why it was left out.
fn describe_faults(faults: &[(usize, String)]) -> Option<String> {
    let ((line, why), others) = faults.split_first()?;
    let others = match others.len() {
        0 => String::new(),
        others => format!(", and {} like it", format::counted(others, "line")),
    };
    Some(format!("line {line} is no record ({why}){others}: left out"))
}

/// Checks that a run can contain this record. Fails with the reason if the record has no measurement and its
/// verdict is not invalid, or if it has a negative time or a median of zero that the verdict does not
/// explain.
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

/// Returns the times of a measurement that must not be negative, each with its name. If the measurement
/// reports a broken clock, its event times are left out.
fn nonnegative_times(measured: &Measurement) -> impl Iterator<Item = (&'static str, Nanoseconds)> {
    let samples = &measured.samples;
    let events = samples.event_times.iter().filter(|_| samples.clock_faults.is_none());
    let events = events.map(|event| ("an event time", *event));
    events.chain([("a sampling time", samples.device_time), ("a wall time", samples.wall_time)])
}

/// Returns the median, after its name, if it is at or below zero and the verdict neither is invalid nor says
/// that the time is below the timer's resolution; otherwise `None`.
fn unexplained_zero_median(record: &Record) -> Option<(&'static str, Nanoseconds)> {
    let is_known = |reason: &Reason| matches!(reason, Reason::BelowResolution { .. });
    let median = record.measurement.as_ref()?.median();
    let is_unsound = median <= Nanoseconds::ZERO
        && record.verdict.state != State::Invalid
        && !record.verdict.reasons.iter().any(is_known);
    is_unsound.then_some(("a median", median))
}

/// Adds a record to those of its case. Fails if no run can contain it ([`validate`]), or if the case already
/// has the same measurement.
fn add_record(record: Record, to: &mut RecordsByCase) -> Result<(), String> {
    validate(&record)?;
    let of_case = to.of_case(record.planned());
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
    pub fn parse(json: &[u8]) -> Result<Self, ReadError> {
        RUN.read(json).and_then(validated)
    }
}

/// Checks all records of `run`, and merges those of one case into one record.
///
/// # Errors
/// If no run can contain one of the records, or if a case has the same measurement twice.
pub fn validated(mut run: Run) -> Result<Run, ReadError> {
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
    /// The line is unchanged since it was written.
    Fits,
    /// The line was changed after it was written.
    Differs,
    /// The line has no checksum, as those of builds before 2026-11-22.
    Missing,
}

/// Adds its checksum to `line`, which must end with `}}` and have no line end yet. Leaves other lines
/// unchanged.
pub fn add_checksum(line: &mut Vec<u8>) {
    if let Some(body) = line.strip_suffix(LINE_END) {
        let sum = format!("{:08x}\"", crc32fast::hash(body));
        line.truncate(line.len() - LINE_END.len());
        line.extend([CHECKSUM_KEY, sum.as_bytes(), LINE_END].concat());
    }
}

/// Compares `line`, with or without its line end, with the checksum in it.
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
mod tests;
