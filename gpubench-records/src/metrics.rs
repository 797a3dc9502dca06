//! The work of a launch, as its author counts it, and the rates and fractions of peaks that follow from its time.
//!
//! Effective bandwidth is (bytes read + bytes written) / time, throughput is operations / time. Both come from the median time, never from
//! averages of rates (Hoefler & Belli 2015, rules 3 and 4).

use crate::{DeviceInfo, Quantity};
use gpubench_stats::{
    Bytes, BytesPerSecond, FlopsPerSecond, ItemsPerSecond, Joules, Nanoseconds, Rate, format,
};

pub use gpubench_core::{Counts, Link, UserMetric};

/// Returns one of the counts; `None` if it is not known.
type CountOf = fn(&Counts) -> Option<u64>;

/// The counts that must be equal for two launches to be compared, each with its name. Total bytes are
/// compared only if neither reads nor writes are declared.
const COUNTS: [(&str, CountOf); 6] = [
    ("bytes read", |counts| counts.reads),
    ("bytes written", |counts| counts.writes),
    ("bytes", |counts| {
        counts.without_intermediates().filter(|_| counts.reads.is_none() && counts.writes.is_none())
    }),
    ("intermediates", |counts| counts.intermediates),
    ("flops", |counts| counts.flops),
    ("items", |counts| counts.items),
];

/// Returns the least number of bytes of intermediates that cross the memory's bus in a launch of this many
/// operations. From each operation to the next, a last-level cache may keep up to its size of the writes, and
/// as much of the reads. Zero if the size of the cache or the number of operations is unknown.
pub fn crossing_intermediates(counts: &Counts, operations: Option<usize>, cache: Option<Bytes>) -> u64 {
    let passes = operations.map_or(u64::MAX, |operations| 2 * operations.saturating_sub(1) as u64);
    let kept = passes.saturating_mul(cache.map_or(u64::MAX, |Bytes(size)| size));
    counts.intermediates.unwrap_or_default().saturating_sub(kept)
}

/// Returns a phrase for each difference between the work of two launches, such as `bytes 2, was 1`.
pub(crate) fn count_differences(now: &Counts, then: &Counts) -> Vec<String> {
    let differs = |(what, count): (&'static str, CountOf)| {
        let shown = |count: Option<u64>| count.map_or_else(|| "not counted".to_owned(), |it| it.to_string());
        let [now, then] = [now, then].map(|counts| shown(count(counts)));
        (now != then).then(|| format!("{what} {now}, was {then}"))
    };
    COUNTS.into_iter().filter_map(differs).collect()
}

gpubench_stats::stored! {
    /// The metrics that follow from a case's time.
    #[derive(Default)]
    pub struct Metrics {
        /// Bytes read per second.
        pub read_bandwidth: Option<BytesPerSecond>,
        /// Bytes written per second.
        pub write_bandwidth: Option<BytesPerSecond>,
        /// Bytes moved per second, read and written; over a link to elsewhere, those that cross it.
        pub bandwidth: Option<BytesPerSecond>,
        /// Floating-point operations per second.
        pub throughput: Option<FlopsPerSecond>,
        /// Items per second.
        pub items_per_second: Option<ItemsPerSecond>,
        /// The shares of the device's peaks that these rates are.
        pub peak_fractions: Vec<PeakFraction>,
        /// True if the launch reads or writes more than the last-level cache holds, so that its data cannot all be in a cache.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub exceeds_cache: bool,
        /// Floating-point operations for each byte of memory that is read or written (arithmetic intensity, in flop/byte).
        pub arithmetic_intensity: Option<f64>,
        /// The peak that binds, of memory and arithmetic, with the share of it (Williams, Waterman & Patterson 2009): the one
        /// that takes longer at its peak. Nothing if one of them is not known.
        pub roofline: Option<PeakFraction>,
        /// Operations for each joule of back-to-back launches, in flop/J.
        pub flops_per_joule: Option<f64>,
        /// Bytes read and written for each such joule.
        pub bytes_per_joule: Option<f64>,
        /// A cold case's time over that of the same launch hot.
        pub cold_over_hot: Option<f64>,
    }

    /// A part of a peak.
    pub struct PeakFraction {
        /// The quantity that the peak limits.
        pub quantity: Quantity,
        /// The part, 1 being all of it.
        pub fraction: f64,
    }
}

/// Returns true if `time` is above zero and at least the timer's resolution (`step`).
pub fn resolved(time: Nanoseconds, step: Nanoseconds) -> bool {
    time > Nanoseconds::ZERO && time >= step
}

impl Metrics {
    /// Computes the metrics of a launch that does the work `counts` in `time`, which must be [`resolved`].
    /// Its operations are of `data_type`, and its bytes move over `link`. If `time` is cold, `hot` is the
    /// time of the same launch hot.
    pub fn new(
        counts: &Counts,
        time: Nanoseconds,
        info: &DeviceInfo,
        (data_type, link): (&str, Option<Link>),
        hot: Option<Nanoseconds>,
    ) -> Self {
        let rate = |count: Option<u64>| count.map(|count| Bytes(count).per(time));
        let bandwidth = rate(Link::crossed(link, counts));
        let throughput = counts.flops.map(|flops| FlopsPerSecond(flops as f64 / time.as_seconds()));
        let share = |quantity: Quantity, value: Option<Rate>| {
            let of_peak = value? / info.peak(&quantity).filter(|peak| peak.is_comparable())?.value;
            Some(PeakFraction { quantity, fraction: of_peak })
        };
        let moved = Quantity::moved_over(link);
        let in_memory = bandwidth.filter(|_| moved == Quantity::MemoryBandwidth);
        let shares = [
            share(moved, bandwidth.map(Rate::from)),
            share(Quantity::Compute(data_type.to_owned()), throughput.map(Rate::from)),
        ];
        // Work divided by its peak is the shortest possible time, so that the larger fraction belongs to the limiting peak.
        let roofline = match &shares {
            [Some(memory), Some(compute)] if in_memory.is_some() => {
                Some(if compute.fraction > memory.fraction { compute.clone() } else { memory.clone() })
            }
            _ => None,
        };
        // At least this much, since reads and writes may be of the same memory.
        let data = counts.reads.max(counts.writes).max(counts.without_intermediates().map(|bytes| bytes / 2));
        Self {
            exceeds_cache: info.last_level_cache.is_some_and(|Bytes(cache)| data > Some(cache)),
            read_bandwidth: rate(counts.reads),
            write_bandwidth: rate(counts.writes),
            bandwidth,
            throughput,
            items_per_second: counts.items.map(|items| ItemsPerSecond(items as f64 / time.as_seconds())),
            peak_fractions: shares.into_iter().flatten().collect(),
            arithmetic_intensity: in_memory
                .and(counts.flops.zip(counts.bytes))
                .map(|(flops, bytes)| flops as f64 / bytes as f64),
            roofline,
            cold_over_hot: hot.map(|hot| time / hot),
            ..Self::default()
        }
    }

    /// Returns the same metrics with the work per joule of a launch that does the work `counts` with the
    /// energy `per_launch`. Both metrics are `None` unless the energy is above zero.
    #[must_use]
    pub fn with_energy(self, counts: &Counts, per_launch: Option<Joules>) -> Self {
        let per_joule =
            |count: Option<u64>| Some(count? as f64 / per_launch.filter(|it| *it > Joules::ZERO)?.as_f64());
        Self { flops_per_joule: per_joule(counts.flops), bytes_per_joule: per_joule(counts.bytes), ..self }
    }

    /// Returns the fraction of the peak of `quantity` that was reached; `None` if the rate is unknown, or if
    /// there is no peak to compare it with.
    pub fn share(&self, quantity: &Quantity) -> Option<f64> {
        self.peak_fractions.iter().find(|share| share.quantity == *quantity).map(|share| share.fraction)
    }
}

/// Returns true for a metric per second: one whose unit ends in `/s`.
pub fn is_rate(metric: &UserMetric) -> bool {
    metric.unit.ends_with("/s")
}

/// Returns the benchmark's own metrics. `of_launch` has their values for one launch. A rate is its value
/// divided by `time`, and is left out if `time` is unknown. Leaves out results that are not finite.
pub fn user_metrics(of_launch: &[UserMetric], time: Option<Nanoseconds>) -> Vec<UserMetric> {
    let timed = |metric: &UserMetric| {
        let value = metric.value / if is_rate(metric) { time?.as_seconds() } else { 1.0 };
        value.is_finite().then(|| UserMetric { value, ..metric.clone() })
    };
    of_launch.iter().filter_map(timed).collect()
}

/// Returns a phrase for each of `metrics` that `others` have too and that is shown with another value: `steps
/// 12, was 9, +33.33 %` if `before_other` is `, was`. The change is left out for a rate, because the change
/// of the time is compared, and if the ratio is not finite or not above zero.
pub fn describe_changed_metrics<'a>(
    metrics: impl Iterator<Item = &'a UserMetric>,
    others: &'a [UserMetric],
    before_other: &'a str,
) -> impl Iterator<Item = String> {
    metrics.filter_map(move |metric| {
        let other = others.iter().find(|it| (&it.name, &it.unit) == (&metric.name, &metric.unit))?;
        let [value, other_value] = [metric, other].map(|it| format::metric(it.value, &it.unit));
        let ratio = metric.value / other.value;
        let has_change = !is_rate(metric) && ratio.is_finite() && ratio > 0.0;
        let change = if has_change { format!(", {}", format::change(ratio)) } else { String::new() };
        (value != other_value).then(|| format!("{} {value}{before_other} {other_value}{change}", metric.name))
    })
}

#[cfg(test)]
mod metrics_tests {
    use super::*;
    use crate::{Peak, PeakSource};

    fn info() -> DeviceInfo {
        let peak = |quantity, value| Peak::new(quantity, Rate(value), PeakSource::Measured, "");
        DeviceInfo::new("host", "a CPU")
            .with_peak(peak(Quantity::MemoryBandwidth, 148e9))
            .with_peak(peak(Quantity::Compute("f32".to_owned()), 1030e9))
    }

    /// A SAXPY of 20 × 2²⁰ floats at 110.374872 GB/s on a device of 148 GB/s: 12 bytes and 2 operations an element.
    #[test]
    fn the_formulas_give_a_published_row() {
        let elements = 20 << 20;
        let counts = Counts {
            reads: Some(8 * elements),
            writes: Some(4 * elements),
            bytes: Some(12 * elements),
            intermediates: None,
            flops: Some(2 * elements),
            items: Some(elements),
        };
        let time = Nanoseconds(12.0 * elements as f64 / 110.374872);
        let metrics = Metrics::new(&counts, time, &info(), ("f32", None), None);
        let bandwidth = metrics.bandwidth.expect("bytes are given").0;
        assert!((bandwidth / 110.374872e9 - 1.0).abs() < 1e-12);
        assert!((metrics.read_bandwidth.expect("reads are given").0 / bandwidth - 2.0 / 3.0).abs() < 1e-12);
        assert!((metrics.throughput.expect("flops are given").0 / (bandwidth / 6.0) - 1.0).abs() < 1e-12);
        assert!(
            (metrics.items_per_second.expect("items are given").0 / (bandwidth / 12.0) - 1.0).abs() < 1e-12
        );
        let share = metrics.share(&Quantity::MemoryBandwidth).expect("the peak is known");
        assert!((share - 0.7458).abs() < 1e-4);
        assert_eq!(metrics.share(&Quantity::Compute("f64".to_owned())), None);
    }

    /// 148 GB/s and 1030 GFLOP/s meet at 6.96 flop/byte: the memory binds below, compute above.
    #[test]
    fn the_roof_is_the_peak_that_takes_longer() {
        let roof = |flops, precision, link| {
            let counts = Counts { bytes: Some(1_000_000), flops, ..Counts::default() };
            let time = Nanoseconds(20_000.0);
            let metrics = Metrics::new(&counts, time, &info(), (precision, link), None);
            // In tenths of a per mille.
            (
                metrics.arithmetic_intensity,
                metrics.roofline.map(|roof| (roof.quantity, (1e4 * roof.fraction).round())),
            )
        };
        let compute = Quantity::Compute("f32".to_owned());
        let below = roof(Some(6_900_000), "f32", None);
        assert_eq!(below, (Some(6.9), Some((Quantity::MemoryBandwidth, 3378.0))));
        let above = roof(Some(7_000_000), "f32", None);
        assert_eq!(above, (Some(7.0), Some((compute, 3398.0))));
        // Without one of the peaks there is no roof, without one of the counts no intensity.
        assert_eq!(roof(Some(7_000_000), "f64", None), (Some(7.0), None));
        assert_eq!(roof(None, "f32", None), (None, None));
        assert_eq!(roof(Some(7_000_000), "f32", Some(Link::H2d)), (None, None));
    }

    /// Reads and writes may be of the same memory.
    #[test]
    fn data_exceed_the_cache_if_reads_or_writes_do() {
        let exceeds = |reads, writes, bytes, info: &DeviceInfo| {
            let counts = Counts { reads, writes, bytes, ..Counts::default() };
            Metrics::new(&counts, Nanoseconds(1e6), info, ("f32", None), None).exceeds_cache
        };
        let info = info().with_last_level_cache(Bytes(1000));
        assert!(!exceeds(Some(1000), Some(1000), Some(2000), &info));
        assert!(exceeds(Some(1001), None, Some(1001), &info));
        assert!(exceeds(None, Some(1001), Some(1001), &info));
        assert_eq!([2000, 2002].map(|bytes| exceeds(None, None, Some(bytes), &info)), [false, true]);
        assert!(!exceeds(None, None, None, &info));
        assert!(!exceeds(Some(1 << 40), None, Some(1 << 40), &self::info()), "a cache of unknown size");
    }

    #[test]
    fn a_metric_per_second_is_over_the_time() {
        let metric = |unit: &str| UserMetric { name: "m".to_owned(), unit: unit.to_owned(), value: 6.0 };
        let all = ["rows", "rows/s", "", "s"].map(metric);
        let values = |time| {
            let timed = user_metrics(&all, time);
            timed.into_iter().map(|metric| metric.value).collect::<Vec<_>>()
        };
        assert_eq!(values(Some(Nanoseconds::from_seconds(0.5))), [6.0, 12.0, 6.0, 6.0]);
        assert_eq!(values(None), [6.0; 3], "a rate without a time is left out");
    }

    #[test]
    fn work_is_held_against_the_energy_that_it_takes() {
        let counts = Counts { bytes: Some(3_000), flops: Some(500), ..Counts::default() };
        let per_joule = |energy| {
            let metrics = Metrics::default().with_energy(&counts, energy);
            (metrics.bytes_per_joule, metrics.flops_per_joule)
        };
        assert_eq!(per_joule(Some(Joules(0.25))), (Some(12_000.0), Some(2_000.0)));
        assert_eq!([per_joule(None), per_joule(Some(Joules(0.0)))], [(None, None); 2]);
    }

    #[test]
    fn cold_is_held_against_hot() {
        let metrics = Metrics::new(
            &Counts::default(),
            Nanoseconds(141.0),
            &info(),
            ("f32", None),
            Some(Nanoseconds(95.0)),
        );
        assert_eq!(metrics.cold_over_hot, Some(141.0 / 95.0));
        assert_eq!((metrics.bandwidth, metrics.throughput, metrics.peak_fractions.len()), (None, None, 0));
    }

    #[test]
    fn bytes_over_a_bus_are_no_part_of_the_memorys_peak() {
        let counts = Counts { bytes: Some(1 << 30), ..Counts::default() };
        let share = |link| {
            let metrics = Metrics::new(&counts, Nanoseconds(1e7), &info(), ("f32", link), None);
            metrics.share(&Quantity::MemoryBandwidth)
        };
        assert_eq!([share(Some(Link::H2d)), share(Some(Link::D2h))], [None; 2]);
        assert!(share(None).is_some() && share(None) == share(Some(Link::D2d)));
    }

    #[test]
    fn bytes_over_a_link_are_a_part_of_that_links_peak() {
        let mut info = info();
        info.add(vec![Peak::new(Quantity::PeerToPeer, Rate(50e9), PeakSource::User, "")]);
        let of = |counts, link| {
            let metrics = Metrics::new(&counts, Nanoseconds(1024.0), &info, ("f32", Some(link)), None);
            let gigabytes = metrics.bandwidth.map(|rate| (rate.0 / 1e6).round() / 1e3);
            (gigabytes, metrics.share(&Quantity::PeerToPeer).map(|share| (1e6 * share).round() / 1e6))
        };
        let both =
            Counts { reads: Some(20_480), writes: Some(25_600), bytes: Some(46_080), ..Counts::default() };
        assert_eq!(of(both, Link::P2p), (Some(25.0), Some(0.5)));
        assert_eq!(of(Counts { bytes: Some(25_600), ..Counts::default() }, Link::P2p), of(both, Link::P2p));
        assert_eq!(of(both, Link::H2d), (Some(25.0), None));
        assert_eq!(of(both, Link::D2d), (Some(45.0), None));
    }

    #[test]
    fn a_measured_peak_that_is_uncertain_has_no_share() {
        let share = |source, uncertain| {
            let peak = Peak::new(Quantity::MemoryBandwidth, Rate(148e9), source, "");
            let info =
                DeviceInfo::new("host", "a CPU").with_peak(if uncertain { peak.uncertain() } else { peak });
            let counts = Counts { bytes: Some(74_000), ..Counts::default() };
            let metrics = Metrics::new(&counts, Nanoseconds(1_000.0), &info, ("f32", None), None);
            metrics.share(&Quantity::MemoryBandwidth).map(|share| (1e6 * share).round() / 1e6)
        };
        assert_eq!(share(PeakSource::Measured, false), Some(0.5));
        assert_eq!(share(PeakSource::Measured, true), None);
        assert_eq!(share(PeakSource::Datasheet, true), Some(0.5));
    }

    #[test]
    fn a_time_under_the_timers_step_is_not_resolved() {
        assert!(resolved(Nanoseconds(32.0), Nanoseconds(32.0)));
        assert!(!resolved(Nanoseconds(31.9), Nanoseconds(32.0)));
        assert!(!resolved(Nanoseconds(0.0), Nanoseconds(0.0)));
        assert!(!resolved(Nanoseconds(-3.0), Nanoseconds(1.0)));
    }
}
