//! Prints the results of both regimes and their difference.

use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::units::{FlopsPerSecond, Hertz, Nanoseconds, Rate, Watts};
use gpubench::{format, stats};

use crate::Experiment;
use crate::common::table;
use crate::regimes::SampleGroup;

/// Returns the operations of a launch.
fn flops(n: usize) -> u64 {
    2 * (n as u64).pow(3)
}

/// Returns the title, the table and the remark.
pub(crate) fn text(read: &Experiment, info: &DeviceInfo) -> String {
    let size = read.size;
    let (first, last) = thirds(&read.sustained);
    let head = ["", "time", "throughput", "of peak", "SM clock", "power", "temperature", "launches"];
    let regimes = [
        ("burst, with pauses", &read.burst[..]),
        ("sustained, first third", first),
        ("sustained, last third", last),
    ];
    let rows = regimes.map(|(name, groups)| row(name, groups, size, info));
    let (burst, sustained) = (median(&read.burst), median(last));
    let difference = format::percent((sustained / burst - 1.0).abs());
    let how = if sustained > burst { "more" } else { "less" };
    let reasons = slowed_by(last);
    let reasons = if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") };
    format!(
        "Products of {size} × {size} matrices of bf16, {}\n{}A sustained launch takes {difference} {how} time than a launch in a burst. \
         Throttle reasons: {reasons}.\n",
        format::operations(flops(size)),
        table(head, &rows)
    )
}

/// Returns the first and the last third of the groups.
pub(crate) fn thirds(groups: &[SampleGroup]) -> (&[SampleGroup], &[SampleGroup]) {
    let third = groups.len().div_ceil(3);
    (&groups[..third], &groups[groups.len() - third..])
}

/// Returns the row of a regime: time, throughput, and the means of the readings.
fn row(name: &str, groups: &[SampleGroup], size: usize, info: &DeviceInfo) -> [String; 8] {
    let time = median(groups);
    let rate = FlopsPerSecond(flops(size) as f64 / time.as_seconds());
    let peak = info.peak(&Quantity::Compute("bf16 tensor".to_owned()));
    let launches: usize = groups.iter().map(|group| group.times.len()).sum();
    let or_nothing = Option::unwrap_or_default;
    [
        name.to_owned(),
        format::time(time),
        format::throughput(rate),
        or_nothing(peak.map(|peak| format::percent(Rate::from(rate) / peak.value))),
        or_nothing(mean(groups, SampleGroup::clock).map(|hertz| format::clock(Hertz(hertz as u64)))),
        or_nothing(mean(groups, SampleGroup::power).map(|watts| format::power(Watts(watts)))),
        or_nothing(mean(groups, SampleGroup::temperature).map(|degrees| format!("{degrees:.0} °C"))),
        launches.to_string(),
    ]
}

/// Returns the throttle reasons of these groups.
fn slowed_by(groups: &[SampleGroup]) -> Vec<&str> {
    let mut reasons: Vec<&str> =
        groups.iter().flat_map(|group| group.slowed_by.iter().map(String::as_str)).collect();
    reasons.sort_unstable();
    reasons.dedup();
    reasons
}

/// Returns the median time of a launch.
pub(crate) fn median(groups: &[SampleGroup]) -> Nanoseconds {
    let times: Vec<Nanoseconds> = groups.iter().flat_map(|group| group.times.iter().copied()).collect();
    stats::median(&times).unwrap_or_default()
}

/// Returns the mean of a sensor's readings, if it has any.
pub(crate) fn mean(groups: &[SampleGroup], of: fn(&SampleGroup) -> Option<f64>) -> Option<f64> {
    let read: Vec<f64> = groups.iter().filter_map(of).collect();
    (!read.is_empty()).then(|| read.iter().sum::<f64>() / read.len() as f64)
}
