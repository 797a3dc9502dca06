//! CodSpeed's walltime results, as its Rust integrations write them and its runner reads them: `walltime_results.rs` of
//! <https://github.com/CodSpeedHQ/codspeed-rust>. A round is a sample. Times are of one iteration, in nanoseconds; `total_time` is in seconds.

use std::io::{self, Write};

use gpubench_records::{Run, Samples};
use gpubench_stats::{Nanoseconds, quantile};
use serde_json::{Value, json};

use super::trackers::{self, usable};

/// Samples that are further from the quartiles than this many interquartile ranges are outliers.
const MOST_RANGES: f64 = 1.5;
/// Samples that are further from the mean than this many standard deviations are outliers.
const MOST_DEVIATIONS: f64 = 3.0;

/// Writes `run` in this format.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let benchmarks = usable(run).filter_map(|(name, _, measured)| benchmark(&name, &measured.samples));
    let results = json!({
        "creator": { "name": "gpubench", "version": run.program.version, "pid": std::process::id() },
        "instrument": { "type": "walltime" },
        "benchmarks": benchmarks.collect::<Vec<_>>(),
    });
    trackers::write(&results, out)
}

/// Returns a benchmark, or nothing for a record without its samples.
fn benchmark(name: &str, samples: &Samples) -> Option<Value> {
    let mut times: Vec<f64> = samples.stall_corrected().iter().map(|time| time.as_f64()).collect();
    times.sort_by(f64::total_cmp);
    let (min, max) = (*times.first()?, *times.last()?);
    let [q1, q3] = [0.25, 0.75].map(|part| quantile(&times, part));
    let [mean, deviation] = [samples.time.mean, samples.time.standard_deviation].map(Nanoseconds::as_f64);
    let outliers = |low: f64, high: f64| times.iter().filter(|time| **time < low || **time > high).count();
    let range = MOST_RANGES * (q3 - q1);
    let iterations = samples.method.batch.unwrap_or(1);
    Some(json!({
        "name": name,
        "uri": name,
        "config": { "warmup_time_ns": null, "min_round_time_ns": null, "max_time_ns": null, "max_rounds": null },
        "stats": {
            "min_ns": min,
            "max_ns": max,
            "mean_ns": mean,
            "stdev_ns": deviation,
            "q1_ns": q1,
            "median_ns": samples.time.median,
            "q3_ns": q3,
            "rounds": times.len(),
            "total_time": times.iter().sum::<f64>() * iterations as f64 * 1e-9,
            "iqr_outlier_rounds": outliers(q1 - range, q3 + range),
            "stdev_outlier_rounds": outliers(mean - MOST_DEVIATIONS * deviation, mean + MOST_DEVIATIONS * deviation),
            "iter_per_round": iterations,
            "warmup_iters": samples.warm_up.launches,
        },
    }))
}
