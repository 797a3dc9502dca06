//! Derives the metrics and the verdict of a case from its samples.

use super::prepared::PreparedCase;
use crate::registry::BenchmarkOptions;
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::method::Cache;
use gpubench_records::metrics::{Metrics, resolved};
use gpubench_records::record::Measurement;
use gpubench_records::samples::{Energy, Samples};
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::{Verdict, judge, launched, missing_work};
use gpubench_stats::units::Nanoseconds;

/// The context that turns samples into a stored measurement.
pub(super) struct MeasurementContext<'a> {
    pub(super) options: &'a BenchmarkOptions,
    pub(super) sampling: &'a Sampling,
    pub(super) info: &'a DeviceInfo,
}

impl MeasurementContext<'_> {
    /// Builds the measurement from the samples, the facts in `prepared` and the energy; `hot` is the time with the data
    /// cached.
    pub(super) fn build(
        &self,
        (samples, energy): (Samples, Option<Energy>),
        prepared: &PreparedCase,
        cache: Cache,
        hot: Option<Nanoseconds>,
    ) -> (Measurement, Verdict) {
        let BenchmarkOptions { data_type, link, item, .. } = *self.options;
        let (median, timer) = (samples.time.median, samples.timer);
        let metrics = if resolved(median, timer.resolution) {
            let hot = hot.filter(|hot| resolved(*hot, timer.resolution));
            Metrics::of(&prepared.counts, median, self.info, (data_type, link), hot)
        } else {
            Metrics::default()
        };
        let metrics = metrics.with_energy(&prepared.counts, energy.as_ref().and_then(Energy::per_launch));
        let measurement = Measurement {
            counts: prepared.counts,
            data_type: data_type.to_owned(),
            item: item.map(str::to_owned),
            link,
            checked: prepared.checked,
            launch: prepared.seen.clone(),
            relaunch: None,
            verification: None,
            energy,
            metrics,
            samples,
        };
        let claim = measurement.declared_work(cache);
        let verdict = judge(&measurement.samples, self.sampling.precision, &claim, self.info);
        let verdict =
            verdict.with_declared_work(&claim, &measurement.samples, &measurement.launch, self.info);
        let reservations =
            launched::reservations(&measurement.launch, &measurement.samples, self.options.host_work);
        let missing = missing_work(&claim, &measurement.samples, &measurement.launch, self.info);
        let verdict = reservations.into_iter().chain(missing).fold(verdict, Verdict::and);
        let verdict = if self.options.host_work { launched::with_host_work(verdict) } else { verdict };
        (measurement, verdict)
    }
}
