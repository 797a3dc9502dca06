//! The lines under the table: reasons against rows, the ways of timing, and a count of the rows. In: a run; out:
//! text.

use std::fmt::Write;

use super::has_several_devices;
use super::style::of_state;
use gpubench_records::facts::Quantity;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Method, Path};
use gpubench_records::record::{Measurement, Record, Run};
use gpubench_records::samples::Energy;
use gpubench_records::verdict::{Reason, State, WIDEST};
use gpubench_records::work::Link;
use gpubench_stats::{SMALLEST_SAMPLE, format};

/// Of the rows that share a failure so many are named; where there are no more, each has a line.
const MOST_NAMES: usize = 3;

/// Everything that stands under the table of `run`.
pub(super) fn remarks(run: &Run) -> String {
    let parts = [reasons(run), skipped(run), methods(run), summary(run)];
    parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}")).collect()
}

/// The reasons against rows. Rows with no interval or a wide one show it themselves, so that they are only counted.
/// A failure that many rows share is told once, where the first of them stands.
fn reasons(run: &Run) -> String {
    let mut text = String::new();
    let (mut not_converged, mut few, mut wide) = (0, 0, 0);
    let mut told: Vec<(&str, &Failure)> = Vec::new();
    // Writing to a string cannot fail.
    for record in &run.records {
        for reason in &record.verdict.reasons {
            let device = &*record.case.device;
            let counted = match reason {
                Reason::NotConverged { .. } => &mut not_converged,
                Reason::TooFewSamples { .. } => &mut few,
                Reason::WideInterval { .. } => &mut wide,
                _ => {
                    let rows = match reason {
                        Reason::Failed(failure) if told.contains(&(device, failure)) => continue,
                        Reason::Failed(failure) => shared(run, record, reason)
                            .inspect(|_| told.push((device, failure)))
                            .unwrap_or_else(|| case(record)),
                        _ => case(record),
                    };
                    let state = reason.state();
                    let style = of_state(state);
                    _ = writeln!(text, "{style}{state}{style:#} {rows}: {reason}");
                    continue;
                }
            };
            *counted += 1;
        }
    }
    let wanted = format::percent(run.sampling.precision);
    let widest = format::percent(run.sampling.precision.max(WIDEST));
    let spent = format!(
        "not converged (?): the time was spent before ± {wanted} was reached (--max-time gives more)"
    );
    let few_of = format!(
        "of too few samples (?): a 95 % interval of the median needs {SMALLEST_SAMPLE} (--samples gives more)"
    );
    let wide_of = format!("with a wide interval (?): the median is known to no better than ± {widest}");
    for (count, what) in [(not_converged, spent), (few, few_of), (wide, wide_of)] {
        if count > 0 {
            let (suspect, cases) = (State::Suspect, format::counted(count, "case"));
            let style = of_state(suspect);
            _ = writeln!(text, "{style}{suspect}{style:#} {cases} {what}");
        }
    }
    text
}

/// The rows of `first`'s device that have this very reason, by their number and the first few names. Nothing where those few
/// are all: each is then told on a line of its own.
fn shared(run: &Run, first: &Record, reason: &Reason) -> Option<String> {
    let here =
        |record: &&Record| record.case.device == first.case.device && record.verdict.reasons.contains(reason);
    let names: Vec<String> = run.records.iter().filter(here).map(case).collect();
    let more = names.len().checked_sub(MOST_NAMES).filter(|more| *more > 0)?;
    let device = if has_several_devices(run) { format!(" on {}", first.case.device) } else { String::new() };
    let (cases, few) = (format::counted(names.len(), "case"), names[..MOST_NAMES].join(", "));
    Some(format!("{cases}{device} ({few} and {more} more)"))
}

/// The cases that benchmarks leave out, each in its own words.
fn skipped(run: &Run) -> String {
    run.skipped.iter().map(|skipped| format!("skipped {}: {}\n", skipped.name(), skipped.why)).collect()
}

/// The ways in which rows were timed, each once, then the rows that were not timed as their device prefers.
fn methods(run: &Run) -> String {
    let measured = || run.records.iter().filter_map(|record| Some((record, record.measurement.as_ref()?)));
    let mut ways = Vec::new();
    for (record, measured) in measured() {
        let way = way(record, measured);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    let mut text: String = ways.iter().map(|way| format!("{way}\n")).collect();
    let holds = |record: &Record| record.verdict.state != State::Invalid;
    if measured()
        .any(|(record, measured)| record.case.cache == Cache::Hot && holds(record) && above_memory(measured))
    {
        text += "hot rows above 100 % of the memory's bandwidth are served by caches\n";
    }
    for (record, measured) in measured() {
        if let (Some(kernels), Some(stream)) = (measured.samples.method.kernels, measured.samples.on_stream) {
            let graph = format::time(measured.median());
            let stream = format::time(stream);
            _ = writeln!(
                text,
                "{kernels} kernels: {}: {graph} in a graph, {stream} on the stream",
                case(record)
            );
        }
    }
    for link in [Link::H2d, Link::D2h, Link::P2p] {
        text += &over(link, measured().map(|(_, measured)| measured));
    }
    text += &no_energy(run);
    // Where the user chose the path there is nothing to explain.
    for (record, measured) in measured().filter(|_| run.sampling.path.is_none()) {
        if let Some(reason) = &measured.samples.method.path_reason {
            _ = writeln!(text, "{} path: {}: {reason}", measured.samples.method.path, case(record));
        }
    }
    text
}

/// Why energy that was asked for is not known, each reason once with the number of its rows.
fn no_energy(run: &Run) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for measured in run.records.iter().filter_map(|record| record.measurement.as_ref()) {
        let Some(Energy::Refused(why)) = &measured.energy else { continue };
        match reasons.iter_mut().find(|(other, _)| other == why) {
            Some((_, rows)) => *rows += 1,
            None => reasons.push((why, 1)),
        }
    }
    let line = |(why, rows)| format!("energy: not known of {}: {why}\n", format::counted(rows, "row"));
    reasons.into_iter().map(line).collect()
}

/// The number of rows over `link`, and of those that have no share because its peak is not known.
fn over<'a>(link: Link, measured: impl Iterator<Item = &'a Measurement>) -> String {
    let rows =
        measured.filter(|measured| measured.link == Some(link) && measured.metrics.bandwidth.is_some());
    let shared = |measured: &&Measurement| measured.metrics.share(&Link::quantity(Some(link))).is_some();
    let (known, unknown): (Vec<_>, Vec<_>) = rows.partition(shared);
    let line = |rows: Vec<&Measurement>, what: &str| {
        let count = format::counted(rows.len(), "row");
        if rows.is_empty() { String::new() } else { format!("{link}: {count} over that link, {what}\n") }
    };
    line(known, "held against its peak") + &line(unknown, "whose peak is not known")
}

fn above_memory(measured: &Measurement) -> bool {
    measured.metrics.share(&Quantity::MemoryBandwidth).is_some_and(|share| share > 1.0)
}

fn way(record: &Record, measured: &Measurement) -> String {
    let (device, cache) = (&record.case.device, record.case.cache);
    let by = match measured.samples.method.path {
        Path::Graph => "events in a captured graph",
        Path::Stream => "events on the stream, behind a delay",
        Path::Host => "the monotonic clock",
    };
    let flush = match cache {
        Cache::Hot => String::new(),
        Cache::Cold => flushed(&measured.samples.method),
    };
    format!("{device} {cache}: timed by {by}{flush}")
}

/// The proof of a flush, where the device can give one.
fn flushed(method: &Method) -> String {
    let flush = method.flush;
    let Some(proof) = method.flush_proof else { return format!(", flushed by `{flush}`") };
    let empty =
        if proof.is_empty() { "which leaves the cache empty" } else { "which does not empty the cache" };
    let clean = if proof.is_clean() {
        " and clean".to_owned()
    } else {
        format!(" and dirty (a sweep takes {} longer)", format::percent(proof.dirt()))
    };
    let reason = method.flush_reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    format!(", flushed by `{flush}`, {empty}{clean}{reason}")
}

/// The line that counts the rows by verdict.
pub(super) fn summary(run: &Run) -> String {
    let count = |state| run.records.iter().filter(|record| record.verdict.state == state).count();
    let [valid, suspect, invalid] = [State::Valid, State::Suspect, State::Invalid].map(count);
    let cases = format::counted(run.records.len(), "case");
    let missing = run.planned - run.records.len().min(run.planned);
    let missing = if missing > 0 { format!(" ({missing} more were planned)") } else { String::new() };
    let skipped = if run.skipped.is_empty() {
        String::new()
    } else {
        format!(", {} skipped", format::counted(run.skipped.len(), "benchmark"))
    };
    format!(
        "{cases}{missing}: {valid} valid, {suspect} suspect, {invalid} invalid{skipped}, in {:.1} s\n",
        run.wall.as_seconds()
    )
}

fn case(record: &Record) -> String {
    format!("{} {}", record.case.name(), record.case.cache)
}
