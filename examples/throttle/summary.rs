//! The results of both regimes. In: the readings; out: a table, and how a launch in a burst and a sustained one differ.

use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::units::{FlopsPerSecond, Hertz, Nanoseconds, Rate, Watts};
use gpubench::{format, stats};

use crate::Experiment;
use crate::common::table;
use crate::regimes::SampleGroup;

/// The operations of a launch.
fn flops(n: usize) -> u64 {
    2 * (n as u64).pow(3)
}

/// All of it.
pub(crate) fn text(read: &Experiment, info: &DeviceInfo) -> String {
    let size = read.size;
    let (first, last) = thirds(&read.sustained);
    let head = ["", "time", "speed", "of peak", "SM clock", "power", "temperature", "launches"];
    let regimes = [
        ("burst, with rests", &read.burst[..]),
        ("sustained, its first third", first),
        ("sustained, its last third", last),
    ];
    let rows = regimes.map(|(name, groups)| row(name, groups, size, info));
    let (burst, sustained) = (median(&read.burst), median(last));
    let difference = format::percent((sustained / burst - 1.0).abs());
    let how = if sustained > burst { "more" } else { "less" };
    let held = slowed_by(last);
    let held = if held.is_empty() { "nothing that the sensors tell".to_owned() } else { held.join(", ") };
    format!(
        "Products of {size} × {size} matrices of bf16, {}\n{}A sustained launch takes {difference} {how} time than one in a burst. \
         Its clock was held down by: {held}.\n",
        format::operations(flops(size)),
        table(head, &rows)
    )
}

/// The first groups and the last, each a third of all.
pub(crate) fn thirds(groups: &[SampleGroup]) -> (&[SampleGroup], &[SampleGroup]) {
    let third = groups.len().div_ceil(3);
    (&groups[..third], &groups[groups.len() - third..])
}

/// One regime: time, speed, and the mean of the sensors' readings.
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

/// The causes that held the clock down in any of these groups.
fn slowed_by(groups: &[SampleGroup]) -> Vec<&str> {
    let mut held: Vec<&str> =
        groups.iter().flat_map(|group| group.slowed_by.iter().map(String::as_str)).collect();
    held.sort_unstable();
    held.dedup();
    held
}

/// The median time of a launch.
pub(crate) fn median(groups: &[SampleGroup]) -> Nanoseconds {
    let times: Vec<Nanoseconds> = groups.iter().flat_map(|group| group.times.iter().copied()).collect();
    stats::median(&times).unwrap_or_default()
}

/// The mean of the sensors' readings; nothing if there are none.
pub(crate) fn mean(groups: &[SampleGroup], of: fn(&SampleGroup) -> Option<f64>) -> Option<f64> {
    let told: Vec<f64> = groups.iter().filter_map(of).collect();
    (!told.is_empty()).then(|| told.iter().sum::<f64>() / told.len() as f64)
}
