//! CSV with a row for each sample: the case, the process that measured it, and the sample with its event time and its time. Samples of a
//! benchmark that was interleaved with a case come after those of the case. Rows are written one by one, since a run may have millions.

use std::io::{self, Write};

use gpubench_records::id::{Arg, shown_name};
use gpubench_records::record::{Measurement, Record, Run};
use gpubench_table::export::csv::{argument, arguments};

/// The columns, after which comes one for each argument of the run. `process` and `sample` count from 1, the samples in the order in
/// which they ran; the first process is the one whose figures the case has. `interleaved_with` names the benchmark whose samples were
/// interleaved with these.
const HEADS: [&str; 8] =
    ["name", "device", "cache", "interleaved_with", "process", "sample", "event_ns", "time_ns"];

/// Writes `run` in this format.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let args = arguments(run);
    let mut csv = csv::Writer::from_writer(out);
    let heads = HEADS.map(str::to_owned).into_iter();
    csv.write_record(heads.chain(args.iter().map(|name| format!("arg.{name}")))).map_err(io_error)?;
    let mut samples =
        |record: &Record, names: [&str; 2], process: usize, measured: &Measurement, own: &[Arg]| {
            let [name, interleaved_with] = names;
            let (cache, process) = (record.case.cache.to_string(), process.to_string());
            let end: Vec<&str> = args.iter().map(|name| argument(own, name).unwrap_or_default()).collect();
            let times = measured.samples.event_times.iter().zip(measured.times());
            (1..).zip(times).try_for_each(|(number, (event, time))| {
                let sample = [number.to_string(), event.as_f64().to_string(), time.as_f64().to_string()];
                let begin = [name, &record.device, &cache, interleaved_with, &process];
                let sample = sample.iter().map(|cell| &**cell);
                let cells = begin.into_iter().chain(sample).chain(end.iter().copied());
                csv.write_record(cells).map_err(io_error)
            })
        };
    for record in &run.records {
        let name = record.case.name();
        let partner = record.compared.as_ref().map(|compared| compared.with.to_string()).unwrap_or_default();
        for (process, measured) in (1..).zip(record.measurement.iter().chain(&record.other_processes)) {
            samples(record, [&name, &partner], process, measured, &record.case.args)?;
        }
        if let Some(compared) = &record.compared {
            let own = &compared.with.args;
            let partner = shown_name(&compared.with.benchmark, own);
            samples(record, [&partner, &name], 1, &compared.measurement, own)?;
        }
    }
    csv.flush()
}

/// Returns the error of the destination, whose kind tells a closed pipe.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
