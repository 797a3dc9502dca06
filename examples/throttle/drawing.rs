//! Power, clock, temperature and time, one below the other, against the number of the launch. In: the readings; out: a
//! drawing. Whatever no sensor told has no panel.

use gpubench::format;
use gpubench::units::Hertz;
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries, ReferenceLine, SeriesStyle};

use crate::Experiment;
use crate::regimes::SampleGroup;
use crate::summary::{mean, median, thirds};

/// Points for each doubling of the number of the launch: most happens at the beginning.
const POINTS: f64 = 12.0;

/// The reading of a sensor beside a group.
type SensorValue = fn(&SampleGroup) -> Option<f64>;

/// The drawing.
pub(crate) fn of(read: &Experiment, device: &str) -> Panels {
    let sensors: [(&str, AxisUnit, SensorValue, bool); 3] = [
        ("power", AxisUnit::POWER, SampleGroup::power, true),
        ("SM clock", AxisUnit::CLOCK, SampleGroup::clock, false),
        ("temperature", AxisUnit::TEMPERATURE, SampleGroup::temperature, true),
    ];
    let mut panels = Vec::new();
    for (name, unit, value, from_zero) in sensors {
        let points = points(&read.sustained, |groups| mean(groups, value));
        if !points.is_empty() {
            let y = if from_zero { Axis::linear(name, unit) } else { Axis::linear_around_values(name, unit) };
            let burst = mean(&read.burst, value);
            panels.push(panel(y, points, burst));
        }
    }
    let times = points(&read.sustained, |groups| Some(median(groups).as_f64()));
    panels.push(panel(
        Axis::linear_around_values("time of a launch", AxisUnit::TIME),
        times,
        Some(median(&read.burst).as_f64()),
    ));
    Panels {
        title: title(read),
        subtitle: format!(
            "{device}, products of {0} × {0} matrices of bf16, one after the other; dashed: in a burst, with rests",
            read.size
        ),
        x: Axis::log10("number of the launch", AxisUnit::NUMBER),
        panels,
        shares_legend: false,
    }
}

/// The finding: the slow-down of a sustained launch, and the change of the clock.
fn title(read: &Experiment) -> String {
    let (_, last) = thirds(&read.sustained);
    let (burst, sustained) = (median(&read.burst), median(last));
    let change = sustained / burst - 1.0;
    let (part, how) = (format::percent(change.abs()), if change > 0.0 { "more" } else { "less" });
    let clocks = [mean(&read.burst, SampleGroup::clock), mean(last, SampleGroup::clock)];
    let clock = match clocks.map(|clock| clock.map(|hertz| format::clock(Hertz(hertz as u64)))) {
        [Some(before), Some(after)] => format!("; the clock is {after} instead of {before}"),
        _ => String::new(),
    };
    format!("Sustained, a launch takes {part} {how} time{clock}")
}

fn panel(y: Axis, points: Vec<(f64, f64)>, burst: Option<f64>) -> Panel {
    let marks = burst.map(|value| ReferenceLine::y(value, "")).into_iter().collect();
    // The axis has its name; a legend would tell it again.
    let series = vec![PlotSeries::new("", points).with_style(SeriesStyle::Bare)];
    Panel { y, series, marks }
}

/// One point for groups whose launches have nearly the same number, as a logarithmic axis has it: the number of the first
/// launch, from 1, and what `of` makes of the groups.
fn points(groups: &[SampleGroup], of: impl Fn(&[SampleGroup]) -> Option<f64>) -> Vec<(f64, f64)> {
    let place = |group: &SampleGroup| (POINTS * ((group.first + 1) as f64).log2()).floor();
    let together = groups.chunk_by(|a, b| place(a) == place(b));
    together.filter_map(|groups| Some(((groups[0].first + 1) as f64, of(groups)?))).collect()
}
