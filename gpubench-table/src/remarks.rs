//! The lines under the table: skipped benchmarks, the ways of timing, and a count of the rows.

use super::devices::{above_peak, serving_cache};
use super::rows::{device_list, grouped};
use super::text::{Page, join_sections, paragraph, plain};
use gpubench_records::{
    Cache, Energy, Environment, Flush, FlushVerification, Link, Measurement, Method, Path, Property,
    Quantity, Run, ShareMode, Task, Value, environment::effect_on_times, outcome::ResultCounts,
    verdict::WIDEST,
};
use gpubench_stats::{COARSE_TIMER_STEP, format};

/// Returns the lines below the table of `run`: skipped cases, methods, and last the counts of results.
pub fn remarks(run: &Run, page: Page) -> String {
    let parts = [skipped_lines(run), methods(run), summary(run)];
    join_sections(parts.map(|part| paragraph(&part, page)))
}

/// Returns a line for each benchmark and reason for which it skips cases: the first cases, and the reason in the benchmark's own words.
fn skipped_lines(run: &Run) -> String {
    let cases = run.skipped.iter().map(|it| ((&*it.benchmark, &*it.reason), plain(&it.name())));
    let line = |((_, why), names): ((&str, &str), Vec<String>)| {
        format!("skipped by `skip_if`: {}: {}\n", first_names(&names), plain(why))
    };
    grouped(cases).into_iter().map(line).collect()
}

/// Returns a line for each way in which results were timed, and lines about anything else that a reader must
/// know of their times: the links, the timers, the environment, and missing values.
pub fn methods(run: &Run) -> String {
    let mut text = timing_methods(run);
    let is_on_cpu = |(_, measured): (_, &Measurement)| measured.samples.method.path == Path::Host;
    let is_usual = run.sampling.samples.is_none() && run.sampling.cpu_precision > run.sampling.precision;
    if is_usual && run.measured().any(is_on_cpu) {
        let [usual, widest] = [run.sampling.cpu_precision, WIDEST].map(format::precision);
        text += &format!(
            "CPU results are sampled to {usual}, and valid up to {widest}: other programs use the CPU too (--precision asks for more)\n"
        );
    }
    if run.records.iter().any(|record| above_peak(record).is_some() && serving_cache(record).is_none()) {
        text += "results above 100 % of a peak: the peak is too low (`--measure-peaks` measures it), the declared work is too much, or a cache held a part of the data\n";
    }
    for link in [Link::H2d, Link::D2h, Link::P2p] {
        text += &link_counts(link, run);
    }
    text += &coarse_timers(run);
    text += &settings_remarks(run);
    if run.sampling.cool_down.is_some() {
        text += &unavailable(run, "no cool-down", not_cooled);
    }
    text += &unavailable(run, "no energy", no_energy);
    #[cfg(feature = "verify")]
    let text = text + &unavailable(run, "no time by CUPTI", crate::verification::not_traced);
    // Where the user chose the path there is nothing to explain.
    if run.sampling.path.is_none() { text + &other_paths(run) } else { text }
}

/// Returns a line for each timing method. It has the number of its results if a device has several methods
/// for one cache state.
fn timing_methods(run: &Run) -> String {
    let rows = run.measured().enumerate().map(|(number, (record, measured))| {
        let cache = record.case.cache;
        ((cache, timing_phrase(cache, measured)), (&*record.device, number))
    });
    let ways: Vec<_> = grouped(rows).into_iter().map(|(way, rows)| (way, grouped(rows))).collect();
    let mut text = String::new();
    for ((cache, way), rows) in &ways {
        let devices: Vec<&str> = rows.iter().map(|(device, _)| *device).collect();
        let is_shared = |(device, _): &(&str, _)| devices.contains(device);
        let others =
            ways.iter().filter(|((other, _), theirs)| other == cache && theirs.iter().any(is_shared));
        let count = format::counted(rows.iter().map(|(_, rows)| rows.len()).sum(), "result");
        let count = if others.count() > 1 { format!(" ({count})") } else { String::new() };
        text += &format!("{} {cache}{count}: {way}\n", device_list(&devices));
    }
    text
}

/// The most cases that a line names; of the others, it has the number.
const MAX_NAMED_CASES: usize = 2;

/// Returns why results were not timed on the path that their device prefers: a line for each reason, with its cases.
fn other_paths(run: &Run) -> String {
    let cases = run.measured().filter_map(|(record, measured)| {
        let Method { path, path_reason, .. } = &measured.samples.method;
        Some(((*path, path_reason.as_deref()?), plain(&record.case.to_string())))
    });
    let line = |((path, reason), cases): ((Path, &str), Vec<String>)| {
        let how =
            if path == Path::Stream { "not in a CUDA graph".to_owned() } else { format!("{path} path") };
        format!("{how}: {}: {}\n", first_names(&cases), plain(reason))
    };
    grouped(cases).into_iter().map(line).collect()
}

/// Returns the first [`MAX_NAMED_CASES`] names, and the number of the others, such as `a, b and 3 more`.
fn first_names(names: &[String]) -> String {
    let others = names.len().saturating_sub(MAX_NAMED_CASES);
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    names[..names.len() - others].join(", ") + &more
}

/// The fraction of a result's time above which the timer's resolution is reported as coarse, if it is also above
/// [`COARSE_TIMER_STEP`].
const COARSE_TIMER_FRACTION: f64 = 0.01;

/// Returns a line for each timer that is coarse for a result's time, with its resolution and its devices.
fn coarse_timers(run: &Run) -> String {
    let timers = run.measured().filter_map(|(record, measured)| {
        let timer = measured.samples.timer;
        let step = timer.resolution;
        if step <= COARSE_TIMER_STEP || step <= COARSE_TIMER_FRACTION * measured.median() {
            return None;
        }
        let averages = timer.averaged_resolution.map_or_else(String::new, |resolution| {
            format!("; samples start at random points of a step, which reduces the error to {resolution}")
        });
        let words =
            format!("the timer steps by {step}{averages}: for a smaller error, do more work per launch");
        Some((words, &*record.device))
    });
    let line = |(words, devices): (String, Vec<&str>)| format!("{}: {words}\n", device_list(&devices));
    grouped(timers).into_iter().map(line).collect()
}

/// The processors that measuring a GPU needs: one for the thread that launches, and one for the thread that
/// reads sensors. A CPU quota of at least this is not reported, unless a device is the CPU.
const PROCESSORS_FOR_GPU: f64 = 2.0;

/// Returns a line for each setting of the environment that can change times, with its effect. A CPU quota has one only if it is
/// too small.
fn settings_remarks(run: &Run) -> String {
    let is_enough =
        |quota| quota >= PROCESSORS_FOR_GPU && run.devices.iter().all(|info| !info.runs_program_code);
    let quota = run.environment.cpu_quota.filter(|quota| !is_enough(*quota));
    let environment = Environment { cpu_quota: quota, ..run.environment.clone() };
    let line = |setting: &Property| match &setting.value {
        Value::Text(value) => {
            Some(format!("{}: {}\n", plain(&setting.to_string()), effect_on_times(&setting.name, value)?))
        }
        _ => None,
    };
    environment.settings().iter().filter_map(line).collect()
}

/// Returns a line for each reason that `reason` returns for a measurement, with the number of its results:
/// why a requested value is unknown. `what` begins the line, such as `no energy`.
fn unavailable<'a>(run: &'a Run, what: &str, reason: fn(&'a Measurement) -> Option<&'a str>) -> String {
    let unknown = run.measured().enumerate().filter_map(|(at, (_, measured))| Some((reason(measured)?, at)));
    let line = |(why, results): (&str, Vec<usize>)| {
        format!("{what} for {}: {why}\n", format::counted(results.len(), "result"))
    };
    grouped(unknown).into_iter().map(line).collect()
}

/// Returns why the device was not cooled to the requested level before a case, or that no sensor reads it.
/// `None` if it was cooled.
fn not_cooled(measured: &Measurement) -> Option<&str> {
    match &measured.cool_down {
        None => Some("no sensor reads what `--cool-down` names"),
        Some(it) if it.after > it.threshold => {
            Some("the device got no cooler: raise the level, or cool it better")
        }
        Some(_) => None,
    }
}

/// Returns why the energy of a launch is unknown; `None` if it is known, or if it was not requested.
fn no_energy(measured: &Measurement) -> Option<&str> {
    match &measured.energy {
        Some(Energy::Unavailable(why)) => Some(why),
        _ => None,
    }
}

/// Returns up to two lines: the number of results with a bandwidth over `link` that are compared with the link's peak, and of those
/// whose peak is not known. A number of 0 has no line.
fn link_counts(link: Link, run: &Run) -> String {
    let measured = run.measured().map(|(_, measured)| measured);
    let rows = measured.filter(|it| it.link == Some(link) && it.metrics.bandwidth.is_some());
    let shared = |it: &&Measurement| it.metrics.share(&Quantity::moved_over(it.link)).is_some();
    let (shared, unshared): (Vec<_>, Vec<_>) = rows.partition(shared);
    let line = |rows: Vec<&Measurement>, what: &str| {
        let count = format::counted(rows.len(), "result");
        if rows.is_empty() { String::new() } else { format!("{link} link: {count}, {what}\n") }
    };
    line(shared, "compared with the peak bandwidth of the link, not of DRAM")
        + &line(unshared, "whose peak is not known")
}

/// Returns a phrase such as `timed by the monotonic clock`, with the flush of cold results.
fn timing_phrase(cache: Cache, measured: &Measurement) -> String {
    let by = measured.samples.method.path.timer();
    let flush = (cache == Cache::Cold).then(|| flush_phrase(&measured.samples.method));
    format!("timed by {by}{}", flush.unwrap_or_default())
}

/// Returns the phrase about a flush, its verification if it was verified, and its reason if there is one. It begins with a comma, to
/// follow another phrase.
fn flush_phrase(method: &Method) -> String {
    // Otherwise the reason says so.
    let verified = method.flush_verification.filter(FlushVerification::evicts_cache);
    let proven = verified.map_or_else(String::new, |proof| {
        let clean = if proof.is_clean() { "clean" } else { "dirty" };
        format!(", which leaves the cache empty and {clean}")
    });
    let effect =
        if method.flush == Flush::Lines { ", which removes only the inputs from the caches" } else { "" };
    let name = format!("`{}`", method.flush);
    let reason = method.flush_reason.as_ref().map(|reason| format!(", {}", reason.replace(&name, "which")));
    format!(", flushed by {name}{effect}{proven}{}", reason.unwrap_or_default())
}

/// Returns a sentence for a run without records, with its numbers of planned and skipped results; `None` if it has records.
pub fn no_records(run: &Run) -> Option<String> {
    let (planned, skipped) = (format::counted(run.planned_cases, "result"), run.counts().skipped);
    run.records.is_empty().then(|| format!("no records: {planned} planned, {skipped} skipped"))
}

/// Returns the line with the number of results of each verdict, of failed, missing and skipped ones, and the duration of the run.
pub fn summary(run: &Run) -> String {
    if let Some(none) = no_records(run) {
        return format!("{none}, in {:.1} s\n", run.wall_time.as_seconds());
    }
    let ResultCounts { results, valid, suspect, invalid, failed, missing, skipped } = run.counts();
    let share = match &run.environment.task {
        Some(Task { share: ShareMode::Split, number, of, cases: Some(all), .. }) => {
            format!(" (share {number}/{of} of {all})")
        }
        _ => String::new(),
    };
    let cases = format::counted(results, "result") + &share;
    let failed = if failed > 0 { format!(" ({failed} failed)") } else { String::new() };
    let missing = if missing > 0 { format!(" ({missing} more were planned)") } else { String::new() };
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!(", {} skipped", format::counted(skipped, "result")),
    };
    format!(
        "{cases}{missing}: {valid} valid, {suspect} suspect, {invalid} invalid{failed}{skipped}, in {:.1} s\n",
        run.wall_time.as_seconds()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::{CoolDown, HeatLevel, files};
    use gpubench_stats::Nanoseconds;

    /// A GPU needs two processors, and a CPU all that its pool has.
    #[test]
    fn a_cpu_quota_is_remarked_on_where_it_can_stop_launches() {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/gpu.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        let mut with = |quota, runs_program_code| {
            run.environment.cpu_quota = Some(quota);
            run.devices[0].runs_program_code = runs_program_code;
            settings_remarks(&run)
        };
        assert!(with(1.5, false).starts_with("CPU quota 1.5 processors: the system stops"));
        assert_eq!(with(2.0, false), "");
        assert!(with(8.0, true).starts_with("CPU quota 8 processors: "));
    }

    #[test]
    fn results_that_began_on_a_warm_device_are_counted() {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/gpu.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        let told = |run: &Run| -> Vec<String> {
            methods(run).lines().filter(|line| line.starts_with("no cool-down")).map(str::to_owned).collect()
        };
        assert_eq!(told(&run), [""; 0]);
        let [threshold, before] = [60, 80].map(HeatLevel::Temperature);
        run.sampling.cool_down = Some(threshold);
        for (number, after) in [60, 71, 66].map(HeatLevel::Temperature).into_iter().enumerate() {
            let cool_down = CoolDown { threshold, before, after, waited: Nanoseconds(2e10) };
            run.records[number].measurement.as_mut().expect("it was measured").cool_down = Some(cool_down);
        }
        let others = format::counted(run.measured().count() - 3, "result");
        assert_eq!(
            told(&run),
            [
                "no cool-down for 2 results: the device got no cooler: raise the level, or cool it better",
                &format!("no cool-down for {others}: no sensor reads what `--cool-down` names"),
            ]
        );
    }

    #[test]
    fn a_reason_for_another_path_stands_once() {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/gpu.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        assert_eq!(other_paths(&run), "");
        let mut set = |number: usize, reason: &str| {
            let method =
                &mut run.records[number].measurement.as_mut().expect("it was measured").samples.method;
            (method.path, method.path_reason) = (Path::Stream, Some(reason.to_owned()));
            other_paths(&run)
        };
        let name = |short: &str| format!("gpubench_kernels::cuda::{short}");
        let [first, second, third] = ["copy[n=4096] hot", "copy[n=4096] cold", "sum[n=4096] hot"].map(name);
        assert_eq!(set(0, "no"), format!("not in a CUDA graph: {first}: no\n"));
        _ = set(1, "no");
        assert_eq!(
            set(2, "other"),
            format!("not in a CUDA graph: {first}, {second}: no\nnot in a CUDA graph: {third}: other\n")
        );
        assert_eq!(set(2, "no"), format!("not in a CUDA graph: {first}, {second} and 1 more: no\n"));
        assert_eq!(set(3, "no"), format!("not in a CUDA graph: {first}, {second} and 2 more: no\n"));
        // What the user chose needs no reason.
        run.sampling.path = Some(Path::Stream);
        assert!(!methods(&run).contains("CUDA graph"));
    }
}
