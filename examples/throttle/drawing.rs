//! Draws power, clock, temperature and time by launch number, each in a panel. A sensor without readings has no panel.

use gpubench::format;
use gpubench::units::Hertz;
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries, ReferenceLine, SeriesStyle};

use crate::Experiment;
use crate::regimes::SampleGroup;
use crate::summary::{mean, median, thirds};

/// Points per doubling of the launch number, because the readings change most at the beginning.
const POINTS: f64 = 12.0;

/// Selects the reading of a sensor.
type SensorValue = fn(&SampleGroup) -> Option<f64>;

/// Returns the drawing.
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
        Axis::linear_around_values("time", AxisUnit::TIME),
        times,
        Some(median(&read.burst).as_f64()),
    ));
    Panels {
        title: title(read),
        subtitle: format!(
            "{device}, products of {0} × {0} matrices of bf16, back-to-back; dashed: burst, with pauses",
            read.size
        ),
        x: Axis::log10("launch number", AxisUnit::NUMBER),
        panels,
        shares_legend: false,
    }
}

/// Returns the difference of the times, and the change of the clock.
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
    format!("Under sustained load, a launch takes {part} {how} time{clock}")
}

fn panel(y: Axis, points: Vec<(f64, f64)>, burst: Option<f64>) -> Panel {
    let marks = burst.map(|value| ReferenceLine::y(value, "")).into_iter().collect();
    // The axis has the name, so the legend needs none.
    let series = vec![PlotSeries::new("", points).with_style(SeriesStyle::Bare)];
    Panel { y, series, marks }
}

/// Combines groups with nearly the same launch number on a logarithmic axis. Returns the number of the first launch, from 1, and `of`
/// the groups.
fn points(groups: &[SampleGroup], of: impl Fn(&[SampleGroup]) -> Option<f64>) -> Vec<(f64, f64)> {
    let place = |group: &SampleGroup| (POINTS * ((group.first + 1) as f64).log2()).floor();
    let together = groups.chunk_by(|a, b| place(a) == place(b));
    together.filter_map(|groups| Some(((groups[0].first + 1) as f64, of(groups)?))).collect()
}
