//! Derives the metrics and the verdict of a case from its samples.

use super::prepared::PreparedCase;
use crate::registry::BenchmarkOptions;
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::method::Cache;
use gpubench_records::metrics::{Metrics, resolved};
use gpubench_records::record::Measurement;
use gpubench_records::samples::{Energy, Samples};
use gpubench_records::verdict::{Verdict, judge, launched, missing_work};
use gpubench_stats::units::Nanoseconds;

/// Derives the measurement of a case from its samples and its energy; `hot` is the time with the data cached.
pub(super) fn measurement(
    options: &BenchmarkOptions,
    precision: f64,
    info: &DeviceInfo,
    (samples, energy): (Samples, Option<Energy>),
    prepared: &PreparedCase,
    (cache, hot): (Cache, Option<Nanoseconds>),
) -> (Measurement, Verdict) {
    let BenchmarkOptions { data_type, link, item, host_work, .. } = *options;
    let (median, timer) = (samples.time.median, samples.timer);
    let metrics = if resolved(median, timer.resolution) {
        let hot = hot.filter(|hot| resolved(*hot, timer.resolution));
        Metrics::of(&prepared.counts, median, info, (data_type, link), hot)
    } else {
        Metrics::default()
    };
    let measurement = Measurement {
        counts: prepared.counts,
        data_type: data_type.to_owned(),
        item: item.map(str::to_owned),
        link,
        checked: prepared.checked,
        launch: prepared.seen.clone(),
        relaunch: None,
        verification: None,
        metrics: metrics.with_energy(&prepared.counts, energy.as_ref().and_then(Energy::per_launch)),
        energy,
        samples,
    };
    let claim = measurement.declared_work(cache);
    let Measurement { samples, launch, .. } = &measurement;
    let verdict = judge(samples, precision, &claim, info).with_declared_work(&claim, samples, launch, info);
    let reservations = launched::reservations(launch, samples, host_work);
    let missing = missing_work(&claim, samples, launch, info);
    let verdict = reservations.into_iter().chain(missing).fold(verdict, Verdict::and);
    let verdict = if host_work { launched::with_host_work(verdict) } else { verdict };
    (measurement, verdict)
}
