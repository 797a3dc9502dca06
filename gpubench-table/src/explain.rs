//! The origin of each number, for `--explain`.

use super::devices::{all_properties, roof_name, serving_cache, shown_peak};
use super::launch;
use super::text::{Page, heading, paragraph, plain, plain_lines, wrapped};
use gpubench_records::metrics::{PeakFraction, is_rate};
use gpubench_records::{
    Cache, Compared, Comparison, CoolDown, DeviceClock, DeviceInfo, Energy, EnergyMeasurement,
    FlushVerification, Measurement, Method, Metrics, Package, Program, Quantity, Record, Run, Samples,
    SensorReadings, Timer, UserMetric,
};
use gpubench_stats::{DramStall, Nanoseconds, Summary, format};

/// Returns the text of `--explain`: a heading for the program, a paragraph for each device, and one for each
/// measured case. Failed cases have none.
pub fn explain(run: &Run, page: Page) -> String {
    let mut text = program_heading(&run.program, page);
    for info in &run.devices {
        text.push('\n');
        text += &heading(&plain(&info.device), &format!(": {}", plain(&info.name)), page);
        text += &paragraph(&format!("  {}", all_properties(info)), page);
    }
    for (record, measured) in run.measured() {
        let on = format!(" on {}", plain(&record.device));
        text.push('\n');
        text += &heading(&plain(&record.case.to_string()), &on, page);
        for (what, sentence) in sentences(record, measured, run.device_of(record)) {
            let lines = wrapped(&plain_lines(&sentence), &format!("  {what:10}"), page);
            text.extend(lines.into_iter().map(|line| line + "\n"));
        }
    }
    text
}

/// Returns the heading with the package and the gpubench version that measured; empty if the package is not
/// known.
fn program_heading(program: &Program, page: Page) -> String {
    let Some(package) = &program.package else { return String::new() };
    let Package { name, version, commit, dirty, .. } = package;
    let commit = commit.as_deref().unwrap_or("unknown");
    let changes = if *dirty == Some(true) { " and changes since" } else { "" };
    let build = format!(" {version}, commit {commit}{changes}; measured by gpubench {}", program.version);
    format!("\n{}", heading(&format!("package `{}`", plain(name)), &plain(&build), page))
}

/// Returns the sentences that explain each number of a case, each with a word as its label. A number that the
/// case lacks has no sentence. `info` is the device of the case, and `None` omits its peaks.
pub fn sentences(
    record: &Record,
    measured: &Measurement,
    info: Option<&DeviceInfo>,
) -> Vec<(&'static str, String)> {
    let (samples, launch) = (&measured.samples, &measured.launch);
    let mut lines = Vec::new();
    let mut add = |word, sentence: Option<String>| lines.extend(sentence.map(|sentence| (word, sentence)));
    add("time", Some(time_sentence(measured)));
    add("overhead", Some(overhead_sentence(samples)));
    add("quantiles", Some(quantiles(&samples.time)));
    add("path", Some(path_sentence(&samples.method)));
    add("error", error_sentence(measured));
    add("sequence", samples.back_to_back.map(|time| format!("back-to-back, one more launch takes {time}")));
    #[cfg(feature = "verify")]
    crate::verification::verification(measured)
        .into_iter()
        .for_each(|(word, sentence)| add(word, Some(sentence)));
    add("stall", samples.dram_stall.as_ref().map(|it| dram_stall_sentence(it, measured.median())));
    add("cool-down", measured.cool_down.as_ref().map(cool_down_sentence));
    add("flush", (record.case.cache == Cache::Cold).then(|| flush_sentence(measured)));
    add("warm-up", Some(warm_up_sentence(measured)));
    add("samples", Some(sampling_sentence(measured)));
    add("clock", samples.device_clock.as_ref().map(device_clock_sentence));
    add("sensors", samples.conditions.as_ref().map(sensors_sentence));
    for metric in &measured.user_metrics {
        add("metric", Some(own_metric_sentence(metric, measured.median())));
    }
    add("energy", measured.energy.as_ref().map(|it| energy_sentence(it, &measured.metrics)));
    launch::kernel_sentences(launch).into_iter().for_each(|kernel| add("kernel", Some(kernel)));
    add("memory", memory_sentence(measured));
    add("writes", launch::writes_sentence(&measured.counts, launch));
    launch.observations.iter().for_each(|seen| add("also", Some(seen.to_string())));
    add("check", (!measured.checked).then(|| "none: the benchmark has no `check`".to_owned()));
    add("outputs", measured.relaunch.as_ref().and_then(launch::relaunch_sentence));
    add("host", launch::host_sentence(measured));
    add("of peak", info.and_then(|info| peaks_sentence(measured, info)));
    add("roofline", limit_sentence(record, measured, info));
    add("launch", launch_bound(measured));
    add("processes", processes_sentence(record));
    add("paired", record.compared.as_deref().map(interleaving_sentence));
    lines
}

/// Returns the sentence about the range of medians between processes; `None` for one process.
fn processes_sentence(record: &Record) -> Option<String> {
    let (range, processes) = record.processes()?;
    let range = format::from_to(range, format::time);
    Some(format!("medians of {processes} processes: {range}; the middle one is shown"))
}

/// Returns the sentence about the rounds and A/B pairs from which the answer of a comparison was computed.
fn interleaving_sentence(compared: &Compared) -> String {
    let Comparison { ratio, rounds, answer, .. } = &compared.comparison;
    let pairs = rounds.iter().map(|round| round.pairs).sum::<usize>();
    let shown = rounds.iter().map(|round| format::change(round.log_ratio.exp()));
    let confidence = ratio.map_or_else(String::new, |ratio| {
        format!(", trimmed mean with a {} % interval", format::number(100.0 * ratio.confidence))
    });
    format!(
        "{answer} after {} with {pairs} pairs in all, each round with new inputs and graphs{confidence}: {}",
        format::counted(rounds.len(), "round"),
        format::joined(shown, ", ")
    )
}

/// Returns the sentence that derives the time from event time and overhead, with the steps of the event time.
fn time_sentence(measured: &Measurement) -> String {
    let (samples, timer) = (&measured.samples, measured.samples.timer);
    let [median, overhead, step] = [measured.median(), overhead_by_events(samples), timer.resolution];
    let steps = match samples.method.batch {
        None => step.to_string(),
        Some(launches) => format!(
            "{}, so {step} for each of the {launches} back-to-back launches of a sample: one alone is too short for it",
            step * launches as f64
        ),
    };
    let averages = timer.averaged_resolution.map_or_else(String::new, |resolution| {
        format!("; samples start at random points of a step, which reduces the error to {resolution}")
    });
    let correction = samples.correction.map_or_else(String::new, |by| {
        let (sign, side) = if by < Nanoseconds::ZERO { ('+', "more") } else { ('−', "less") };
        format!(" {sign} {0} (correction: the second method, time stamps, measures {0} {side})", by.abs())
    });
    let reading = reading_name(timer);
    format!(
        "{median} = {reading} {} − overhead {overhead}{correction}; the {reading} has steps of {steps}{averages}",
        median + samples.overhead()
    )
}

/// Returns the name of a sample's reading before the overhead is subtracted.
fn reading_name(timer: Timer) -> &'static str {
    if timer.timestamp_kernels { "time between stamps of the GPU's clock" } else { "event time" }
}

/// Returns the overhead of the timer without the correction by another timer.
fn overhead_by_events(samples: &Samples) -> Nanoseconds {
    samples.overhead() - samples.correction.unwrap_or_default()
}

/// Returns the sentence that derives the overhead of the timer.
fn overhead_sentence(samples: &Samples) -> String {
    let (timer, overhead) = (samples.timer, overhead_by_events(samples));
    match (timer.empty_launch_time, timer.marginal_empty_launch) {
        (Some(_), Some(one_more)) => format!(
            "{overhead} = {} ({} of {}) − {one_more} (which such a launch itself takes)",
            overhead + one_more,
            reading_name(timer),
            if timer.reads_parameter { "a launch that only reads a parameter" } else { "an empty launch" },
        ),
        _ => {
            let at = if overhead > timer.empty_span { "around an empty launch" } else { "without a launch" };
            format!("{overhead}: what the timer reads {at}")
        }
    }
}

/// Returns the phrase with the range of the samples, their percentiles, mean and standard deviation.
pub fn quantiles(time: &Summary) -> String {
    let Summary { min, p5, median, p95, p99, max, mean, standard_deviation: deviation, .. } = time;
    format!(
        "min {min}, p5 {p5}, p50 {median}, p95 {p95}, p99 {p99}, max {max}; mean {mean}, standard deviation {deviation}"
    )
}

/// Returns the sentence about the cross-check error; `None` without a second method.
fn error_sentence(measured: &Measurement) -> Option<String> {
    let (gap, error) = (measured.samples.cross_check_difference()?, measured.samples.cross_check_error()?);
    let resolution = 2.0 * measured.samples.timer.effective_resolution();
    let random = error - gap - resolution;
    let [random_share, share] = [random, error].map(|part| format::percent(part / measured.median()));
    Some(format!(
        "{random} ({random_share}, half of the 95 % interval); worst case {error} ({share}): plus two steps of the event time ({resolution}), plus the whole correction ({gap}), in case it is wrong"
    ))
}

/// Returns the sentence about the periodic DRAM stall, and the stalls that a launch of this `time` meets.
fn dram_stall_sentence(stall: &DramStall, time: Nanoseconds) -> String {
    // A launch that is longer than the period meets some of them always.
    let always = ((time - stall.mean_delay()) / stall.period).floor();
    let share = format::percent(stall.delayed_fraction);
    format!(
        "memory stall: {} every {}, {}; a launch at a random time meets {always}, and one more in {share} of the cases, {} on the average",
        stall.delay,
        stall.period,
        format::percent(stall.delay / stall.period),
        always * stall.delay + stall.mean_delay()
    )
}

/// Returns the path that timed the samples, such as a CUDA graph, with the reason if it is not the preferred
/// one.
fn path_sentence(method: &Method) -> String {
    let reason = method.path_reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{}, timed by {}{reason}", method.path, method.path.timer())
}

/// Returns the phrase about the flush of a cold case, its verification if it was verified, and the reason for
/// this flush if there is one.
fn flush_sentence(measured: &Measurement) -> String {
    let Method { flush, flush_reason, flush_verification, .. } = &measured.samples.method;
    let proof = flush_verification.as_ref().map(flush_verification_sentence);
    format::joined([Some(flush.to_string()), proof, flush_reason.clone()].into_iter().flatten(), "; ")
}

/// Returns the phrase with the state in which the flush leaves the cache, and the readings that show it.
fn flush_verification_sentence(proof: &FlushVerification) -> String {
    let FlushVerification { flushed_read, reference_read, cached_read, large_read, .. } = proof;
    let clean_read = proof.reference_large_read;
    let state = if proof.evicts_cache() { "is empty" } else { "may hold data" };
    let lines = if proof.is_clean() { "no lines are" } else { "lines may be" };
    format!(
        "the cache {state}: after the flush, reading data of 1/4 of the cache's size takes {flushed_read} (from an empty cache {reference_read}, from a cache with the data {cached_read}); {lines} dirty: reading data of 3/4 of the cache's size takes {large_read} (reference without dirty lines: {clean_read}; with dirty lines: longer)"
    )
}

/// Returns the sentence about the wait until the device was cool.
fn cool_down_sentence(it: &CoolDown) -> String {
    let CoolDown { threshold, before, after, waited } = it;
    match *waited {
        Nanoseconds::ZERO => format!("no wait: {before}, at most {threshold} wanted"),
        waited => format!("waited {waited}, from {before} to {after}; at most {threshold} wanted"),
    }
}

/// Returns the sentence about the multiprocessor clock according to the device's own counters.
fn device_clock_sentence(counted: &DeviceClock) -> String {
    let range = |range| format::from_to(range, format::clock);
    let warm_up =
        counted.before.map(|before| format!("; {} in the warm-up", range(before))).unwrap_or_default();
    format!(
        "multiprocessors at {} by their own counters, read after each of {}{warm_up}",
        range(counted.during),
        format::counted(counted.readings, "group")
    )
}

/// Returns the sentence about the sensor readings during sampling.
fn sensors_sentence(conditions: &SensorReadings) -> String {
    let span = &conditions.during;
    let clocks = [("multiprocessors", span.sm_clock), ("memory", span.memory_clock)];
    let clock = |(what, clock)| Some(format!("{what} at {}", format::from_to(clock?, format::clock)));
    let mut words: Vec<String> = clocks.into_iter().filter_map(clock).collect();
    words.extend(span.power.map(|power| format::from_to(power, format::power)));
    words.extend(span.temperature.map(|heat| format::from_to(heat, |heat| format!("{heat} °C"))));
    words.push(match &span.throttle_reasons[..] {
        [] => "not throttled".to_owned(),
        reasons => format!("throttled by {}", reasons.join(", ")),
    });
    words.extend(span.other_processes.map(|others| format::counted(others as usize, "other process")));
    format!("{} ({})", words.join("; "), format::counted(span.readings, "reading"))
}

/// Returns the value of a benchmark's own metric; for a rate also the value for one launch.
fn own_metric_sentence(metric: &UserMetric, time: Nanoseconds) -> String {
    let UserMetric { name, unit, value } = metric;
    let shown = format!("{name} {}", format::metric(*value, unit));
    if !is_rate(metric) {
        return shown;
    }
    let of_launch = format::metric(value * time.as_seconds(), unit.trim_end_matches("/s"));
    format!("{shown} = {of_launch} / {time}")
}

/// Returns the sentence about the energy of a launch, or why it is not known.
fn energy_sentence(energy: &Energy, metrics: &Metrics) -> String {
    let measured = match energy {
        Energy::Measured(measured) => measured,
        Energy::Unavailable(why) => return format!("unknown: {why}"),
    };
    let EnergyMeasurement { per_launch, power, sensor_power, launches, wall_time, updates, counter_time } =
        *measured;
    let each = wall_time / launches as f64;
    let sensor = sensor_power.map(|sensor| format!(" (its sensor: {sensor})")).unwrap_or_default();
    let work = [(metrics.flops_per_joule, "FLOP"), (metrics.bytes_per_joule, "B")];
    let work = work.map(|(work, what)| work.map(|work| format!("; {}", format::per_joule(work, what))));
    format!(
        "{per_launch} a launch = {power} × {each}, over {launches} back-to-back launches{}; includes idle power; from {updates} updates of the device's counter in {counter_time}{sensor}",
        work.into_iter().flatten().collect::<String>()
    )
}

/// Returns the sentence about the warm-up's launches and time.
fn warm_up_sentence(measured: &Measurement) -> String {
    let warm_up = measured.samples.warm_up;
    let steady = if warm_up.steady { "steady" } else { "not steady" };
    format!("{} launches in {}, {steady}", warm_up.launches, warm_up.elapsed)
}

/// Returns the sentence about the number of samples, their groups and their time.
fn sampling_sentence(measured: &Measurement) -> String {
    let count = measured.samples.event_times.len();
    let worth = match measured.samples.time.effective_samples {
        Some(effective) if effective < 0.995 * count as f64 => {
            format!(
                " (successive ones are correlated: effective sample size {effective:.0}, which the interval allows for)"
            )
        }
        _ => String::new(),
    };
    let left_out = match measured.samples.interrupted_times.len() {
        0 => String::new(),
        number => format!("; {number} more, which other programs interrupted, are left out"),
    };
    let moves = match measured.samples.relocations {
        0 => String::new(),
        moves => format!(", between which inputs moved {moves} times"),
    };
    format!(
        "{count}{worth} in {}{moves}; {} on the device, including everything between samples; {} wall time{left_out}",
        format::counted(measured.samples.groups, "group"),
        measured.samples.device_time,
        measured.samples.wall_time
    )
}

/// Returns the phrase about the most device memory that `setup` and the first launch had allocated; `None` if
/// neither is known.
fn memory_sentence(measured: &Measurement) -> Option<String> {
    let setup = measured.setup_memory.map(|bytes| format!("`setup` allocated {bytes} at its peak"));
    let launch = measured.launch.memory.map(|bytes| format!("the first launch allocated {bytes} more"));
    let known: Vec<String> = setup.into_iter().chain(launch).collect();
    (!known.is_empty()).then(|| known.join("; "))
}

/// Returns the peaks that the result is compared with, each with its source and the fraction of it that was
/// reached; `None` if there are none.
fn peaks_sentence(measured: &Measurement, info: &DeviceInfo) -> Option<String> {
    let shown = |share: &PeakFraction| {
        let peak = shown_peak(info.peak(&share.quantity)?);
        Some(format!("{} of {peak}", format::percent(share.fraction)))
    };
    let all: Vec<String> = measured.metrics.peak_fractions.iter().filter_map(shown).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns the sentence about what limits the launch: a cache, or a peak of the roofline. `None` if it is
/// launch-bound or nothing is known. DRAM is no roof of a hot launch whose data fit the last-level cache.
fn limit_sentence(record: &Record, measured: &Measurement, info: Option<&DeviceInfo>) -> Option<String> {
    if launch_bound(measured).is_some() {
        return None;
    }
    let roof = measured.metrics.roofline.as_ref().map(|roof| &roof.quantity);
    let can_serve = record.case.cache == Cache::Hot && roof == Some(&Quantity::MemoryBandwidth);
    let size = info.and_then(|info| info.last_level_cache).filter(|_| can_serve);
    if let Some(cache) = serving_cache(record) {
        return Some(format!(
            "{cache} serves the data, faster than memory can; the peak of {cache} is unknown"
        ));
    }
    match size.filter(|size| measured.counts.bytes <= Some(size.0)) {
        Some(size) => Some(format!("the last-level cache of {size} serves the data, not DRAM")),
        None => roofline_sentence(measured),
    }
}

/// Returns the sentence about the peak of the roofline that limits the launch, and the fraction of it that
/// was reached; without a roofline, that the limiting peak is unknown. `None` without an arithmetic
/// intensity, or if there is a roofline but the fraction of DRAM or of the arithmetic peak is unknown.
fn roofline_sentence(measured: &Measurement) -> Option<String> {
    let metrics = &measured.metrics;
    let has = format::intensity(metrics.arithmetic_intensity?);
    let quantities = [Quantity::MemoryBandwidth, Quantity::Compute(measured.data_type.clone())];
    let Some(binding) = &metrics.roofline else {
        let unknown = quantities.iter().filter(|quantity| metrics.share(quantity).is_none());
        return Some(format!(
            "{has}; which peak limits it is unknown: set the peak of `{}` under `[peaks]` in gpubench.toml",
            format::joined(unknown.map(Quantity::name), "` and `")
        ));
    };
    let [memory, compute] =
        quantities.map(|quantity| Some((roof_name(&quantity), metrics.share(&quantity)?)));
    let ((memory, of_memory), (compute, of_compute)) = (memory?, compute?);
    // Where both peaks bind alike, the two shares would be the same.
    let meet = format::intensity(metrics.arithmetic_intensity? * of_memory / of_compute);
    let reached = format::percent(binding.fraction);
    let (binds, side) = match binding.quantity {
        Quantity::Compute(_) => (&compute, "above"),
        _ => (&memory, "below"),
    };
    Some(format!(
        "the roof is {binds}: {has} is {side} the ridge point of {meet} between {memory} and {compute}; the launch reaches {reached} of the {binds} peak"
    ))
}

/// Returns the remark that the launch itself limits a rate, and not the kernel: the case declares traffic or
/// operations, and takes at most twice the time of an empty launch. `None` otherwise, or if that time is not
/// known. The verdict does not depend on it, since the time is right.
pub fn launch_bound(measured: &Measurement) -> Option<String> {
    let empty = measured.samples.timer.marginal_empty_launch?;
    let claims = measured.counts.bytes.is_some() || measured.counts.flops.is_some();
    let share = format::percent(empty / measured.median());
    (claims && measured.median() <= 2.0 * empty).then(|| {
        format!("launch-bound: on the device, an empty launch takes {empty}, {share} of this launch")
    })
}
