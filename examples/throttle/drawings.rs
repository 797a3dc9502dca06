//! Time, clock, power and temperature, each against the number of the launch. In: what was read; out: drawings by the ends of
//! their files' names.

use gpubench::drawing::{Axis, Curves, Mark, Series};
use gpubench::format;
use gpubench::units::{Hertz, Nanoseconds, Watts};

use crate::Experiment;
use crate::regimes::SampleGroup;
use crate::summary::{mean, median};

/// Points of a curve. More would be drawn on top of each other.
const POINTS: usize = 150;

/// All of them; of what no sensor told there is none.
pub(crate) fn all(read: &Experiment, device: &str) -> Vec<(&'static str, String)> {
    let time = Axis::linear("time of a launch", |time| format::time(Nanoseconds(time)));
    let clock = Axis::linear("SM clock", |hertz| format::clock(Hertz(hertz as u64)));
    let power = Axis::linear("power", |watts| format::power(Watts(watts)));
    let temperature = Axis::linear("temperature", |degrees| format!("{degrees:.0} °C"));
    let told = |of: fn(&SampleGroup) -> Option<f64>| points(&read.sustained, |groups| mean(groups, of));
    let drawn = [
        ("-time.svg", "time", time, points(&read.sustained, |groups| Some(median(groups).0))),
        ("-clock.svg", "clock", clock, told(SampleGroup::clock)),
        ("-power.svg", "power", power, told(SampleGroup::power)),
        ("-temperature.svg", "temperature", temperature, told(SampleGroup::temperature)),
    ];
    let drawn = drawn.into_iter().filter(|(_, _, _, points)| !points.is_empty());
    let size = read.size;
    drawn
        .map(|(file, what, y, points)| {
            let burst = (what == "time").then(|| Mark::y(median(&read.burst).0, "in a burst"));
            let curves = Curves {
                title: format!("Launch after launch: {what}"),
                subtitle: format!(
                    "{device}, products of {size} × {size} matrices of bf16, one after the other"
                ),
                x: Axis::linear("launch", |number| format!("{number:.0}")),
                y,
                series: vec![Series::new("sustained", points)],
                marks: burst.into_iter().collect(),
            };
            (file, curves.svg())
        })
        .collect()
}

/// One point for so many groups in a row: the number of their first launch, and what `of` makes of them.
fn points(groups: &[SampleGroup], of: impl Fn(&[SampleGroup]) -> Option<f64>) -> Vec<(f64, f64)> {
    let together = groups.len().div_ceil(POINTS).max(1);
    groups.chunks(together).filter_map(|groups| Some((groups[0].first as f64, of(groups)?))).collect()
}
