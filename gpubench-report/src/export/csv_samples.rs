//! CSV with a row for each sample: the case, the process that measured it, and the sample with its event time and its time.
//! In: a run; out: RFC 4180 with a head. Samples of a benchmark that took turns with a case stand behind those of the case.
//! Rows are written one by one, since a run may have millions.

use std::io::{self, Write};

use gpubench_records::id::shown_name;
use gpubench_records::record::{Measurement, Record, Run};
use gpubench_table::export::csv::{argument, arguments};

/// The columns, behind which stands one for each argument of the run. `process` and `sample` count from 1, the samples in the
/// order in which they ran; the first process is the one whose figures the case has. `interleaved_with` names the benchmark whose
/// samples took turns with these.
const HEADS: [&str; 8] =
    ["name", "device", "cache", "interleaved_with", "process", "sample", "event_ns", "time_ns"];

/// Writes `run` in this format.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let args = arguments(run);
    let heads = HEADS.map(str::to_owned).into_iter();
    out.write_all(&row(heads.chain(args.iter().map(|name| format!("arg.{name}"))))?)?;
    out.write_all(b"\n")?;
    for record in &run.records {
        let end = row(args.iter().map(|name| argument(&record.case.args, name).unwrap_or_default()))?;
        for (process, measured) in processes(record) {
            let partner = record.compared.as_ref().map(|compared| compared.with.to_string());
            let begin = case(record, &record.case.name(), &partner.unwrap_or_default())?;
            samples(out, &begin, process, measured, &end)?;
        }
        let Some(compared) = &record.compared else { continue };
        let partner = shown_name(&compared.with.benchmark, &compared.with.args);
        let begin = case(record, &partner, &record.case.name())?;
        let own = &compared.with.args;
        let end = row(args.iter().map(|name| argument(own, name).unwrap_or_default()))?;
        samples(out, &begin, 1, &compared.measurement, &end)?;
    }
    Ok(())
}

/// The measurements of a case, with the numbers of the processes that made them.
fn processes(record: &Record) -> impl Iterator<Item = (usize, &Measurement)> {
    (1..).zip(record.measurement.iter().chain(&record.other_processes))
}

/// The first cells of a case's rows.
fn case(record: &Record, name: &str, interleaved_with: &str) -> io::Result<Vec<u8>> {
    row([name, &record.device, &record.case.cache.to_string(), interleaved_with])
}

/// Writes the rows of a measurement. Numbers have no character that CSV would quote, and the fewest digits that are read back
/// as those numbers.
fn samples(
    out: &mut dyn Write,
    begin: &[u8],
    process: usize,
    measured: &Measurement,
    end: &[u8],
) -> io::Result<()> {
    let comma: &[u8] = if end.is_empty() { b"" } else { b"," };
    for (number, (event, time)) in (1..).zip(measured.samples.event_times.iter().zip(measured.times())) {
        out.write_all(begin)?;
        write!(out, ",{process},{number},{},{}", event.as_f64(), time.as_f64())?;
        out.write_all(comma)?;
        out.write_all(end)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Cells as CSV, without the end of their line.
fn row(cells: impl IntoIterator<Item = impl AsRef<[u8]>>) -> io::Result<Vec<u8>> {
    let mut cells = cells.into_iter().peekable();
    if cells.peek().is_none() {
        return Ok(Vec::new());
    }
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(cells)?;
    let mut row = csv.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    row.pop();
    Ok(row)
}
