//! The axes of plots: the position of each value in pixels, ticks at round values, and the text of a value in its unit.

use gpubench_stats::format;

use super::{WIDTH, width};

/// An axis: its label, its unit and its scale.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The name of its values.
    pub label: String,
    /// Their unit.
    pub unit: AxisUnit,
    /// The scale.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In equal steps, from 0 on.
    Linear,
    /// In equal steps around the values, which may be far from 0: for values without a meaningful zero, or far from it.
    Near,
    /// Equal ratios at equal distances, with ticks at powers of ten. For values above 0: others are left out.
    Log10,
    /// The same with ticks at powers of two, for sizes.
    Log2,
}

impl Axis {
    /// An axis in equal steps from 0 on.
    pub fn linear(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { label: label.into(), unit, scale: Scale::Linear }
    }

    /// An axis in equal steps around the values.
    pub fn near(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { scale: Scale::Near, ..Self::linear(label, unit) }
    }

    /// A logarithmic axis with ticks at powers of ten.
    pub fn log10(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { scale: Scale::Log10, ..Self::linear(label, unit) }
    }

    /// A logarithmic axis with ticks at powers of two.
    pub fn log2(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { scale: Scale::Log2, ..Self::linear(label, unit) }
    }

    /// The axis under these values, from `start` to `end` in pixels. Values that it cannot show are left out.
    pub(super) fn over(&self, values: impl Iterator<Item = f64>, start: f64, end: f64) -> PositionedAxis<'_> {
        let mut values: Vec<f64> = values.filter(|value| self.scale.shows(*value)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let [low, high] = [values.first(), values.last()].map(|end| end.copied().unwrap_or(1.0));
        let ticks = match self.scale {
            Scale::Linear => self.steps(low.min(0.0), high.max(0.0)),
            Scale::Near => self.steps(low, high),
            Scale::Log10 if high / low < 30.0 => powers(low, high, 10.0, &[1.0, 2.0, 5.0]),
            Scale::Log10 => powers(low, high, 10.0, &[1.0]),
            Scale::Log2 => powers(low, high, 2.0, &[1.0]),
        };
        let (from, to) = (ticks[0], ticks[ticks.len() - 1]);
        // All ticks of a linear axis have the unit of its largest.
        let largest = |value| if self.scale.is_linear() { from.abs().max(to.abs()) } else { value };
        let ticks =
            ticks.into_iter().map(|value| (value, self.unit.text_with(value, largest(value)))).collect();
        PositionedAxis { axis: self, from, to, start, end, ticks }
    }

    /// The same for a horizontal axis in a drawing. It ends earlier if the text of its last tick, which stands in the middle below it, would
    /// leave the drawing.
    pub(super) fn across(
        &self,
        values: impl Iterator<Item = f64>,
        start: f64,
        end: f64,
    ) -> PositionedAxis<'_> {
        let placed = self.over(values, start, end);
        let reach = placed.ticks.last().map_or(0.0, |(_, text)| width(text) / 2.0);
        PositionedAxis { end: end.min(WIDTH - reach), ..placed }
    }

    /// Returns ticks that are round in the unit that they are shown in.
    fn steps(&self, low: f64, high: f64) -> Vec<f64> {
        let (amount, _) = self.unit.step(low.abs().max(high.abs()));
        linear(low / amount, high / amount).into_iter().map(|tick| tick * amount).collect()
    }
}

impl Scale {
    fn is_linear(self) -> bool {
        matches!(self, Self::Linear | Self::Near)
    }

    /// Returns true if a value has a place on such an axis.
    pub(super) fn shows(self, value: f64) -> bool {
        value.is_finite() && (self.is_linear() || value > 0.0)
    }

    fn of(self, value: f64) -> f64 {
        if self.is_linear() { value } else { value.log2() }
    }
}

/// An axis at its place.
pub(super) struct PositionedAxis<'a> {
    pub axis: &'a Axis,
    from: f64,
    to: f64,
    pub start: f64,
    pub end: f64,
    /// Values and the texts at them.
    pub ticks: Vec<(f64, String)>,
}

impl PositionedAxis<'_> {
    /// Returns the place of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let [from, to, value] = [self.from, self.to, value].map(|value| self.axis.scale.of(value));
        self.start + (value - from) / (to - from) * (self.end - self.start)
    }

    /// Returns the place in its middle.
    pub(super) fn middle(&self) -> f64 {
        (self.start + self.end) / 2.0
    }

    /// Returns true if a value lies on it.
    pub(super) fn holds(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.to - self.from);
        self.axis.scale.shows(value) && (self.from - slack..=self.to + slack).contains(&value)
    }

    /// As many of the ticks as have room side by side: every one, every second, and so on.
    pub(super) fn spread(&self) -> Vec<(f64, String)> {
        self.fitting(|a, b| (width(a) + width(b)) / 2.0 + 10.0)
    }

    /// As many of the ticks as have room one above the other.
    pub(super) fn stacked(&self) -> Vec<(f64, String)> {
        self.fitting(|_, _| 17.0)
    }

    fn fitting(&self, needed: impl Fn(&str, &str) -> f64) -> Vec<(f64, String)> {
        let mut steps = 1..=self.ticks.len();
        let fitting = steps.find(|step| {
            let shown: Vec<_> = self.ticks.iter().step_by(*step).collect();
            shown.windows(2).all(|pair| {
                let room = (self.at(pair[1].0) - self.at(pair[0].0)).abs();
                needed(&pair[0].1, &pair[1].1) <= room
            })
        });
        self.ticks.iter().step_by(fitting.unwrap_or(1)).cloned().collect()
    }
}

/// Returns ticks from the first round step below the lowest to the first above the highest: about six steps of 1, 2 or 5 times a power of
/// ten.
fn linear(low: f64, high: f64) -> Vec<f64> {
    let span = if high > low { high - low } else { low.abs().max(1.0) };
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough).unwrap_or(10.0);
    // An error of rounding must not add a step.
    let first = (low / step + 1e-9).floor();
    let last = ((low + span).max(high) / step - 1e-9).ceil().max(first + 1.0);
    (0..=(last - first) as usize).map(|tick| (first + tick as f64) * step).collect()
}

/// Returns ticks at these multiples of powers of `base`, from the last at or below the lowest value to the first at or above the highest.
fn powers(low: f64, high: f64, base: f64, multiples: &[f64]) -> Vec<f64> {
    // An error of rounding must not leave out the last.
    let [first, last] = [low.log(base).floor() as i32 - 1, high.log(base).floor() as i32 + 2];
    let all = (first..=last).flat_map(|power| multiples.iter().map(move |step| step * base.powi(power)));
    let all: Vec<f64> = all.collect();
    let below = all.iter().rposition(|tick| *tick <= low).unwrap_or(0);
    let above = all.iter().position(|tick| *tick >= high).unwrap_or(all.len() - 1).max(below + 1);
    all[below..=above].to_vec()
}

/// The unit of the values of an axis: the units in which its values may be shown, from small to large, each with its factor.
#[derive(Clone, Copy, Debug)]
pub struct AxisUnit(&'static [(f64, &'static str)]);

impl AxisUnit {
    /// Numbers.
    pub const NUMBER: Self = Self(&[(1.0, "")]);
    /// Fractions, which are shown as percentages.
    pub const PART: Self = Self(&[(0.01, "%")]);
    /// Nanoseconds.
    pub const TIME: Self = Self(&[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")]);
    /// Bytes, in binary units.
    pub const BYTES: Self = Self(&[
        (1.0, "B"),
        (1024.0, "KiB"),
        (1_048_576.0, "MiB"),
        (1_073_741_824.0, "GiB"),
        (1_099_511_627_776.0, "TiB"),
    ]);
    /// Bytes per second.
    pub const BANDWIDTH: Self = Self(&[(1e9, "GB/s")]);
    /// Bytes per second, in binary units.
    pub const GIBIBYTES: Self = Self(&[(1_073_741_824.0, "GiB/s")]);
    /// Floating-point operations per second.
    pub const THROUGHPUT: Self = Self(&[(1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s")]);
    /// Hertz.
    pub const CLOCK: Self = Self(&[(1e6, "MHz")]);
    /// Watts.
    pub const POWER: Self = Self(&[(1.0, "W")]);
    /// Degrees Celsius.
    pub const TEMPERATURE: Self = Self(&[(1.0, "°C")]);

    /// Returns the text of a value, in the unit that fits it.
    pub(super) fn text(self, value: f64) -> String {
        self.text_with(value, value)
    }

    /// Returns the text of a value in the unit that fits `largest`. Zero has no unit.
    pub(super) fn text_with(self, value: f64, largest: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let (amount, unit) = self.step(largest);
        let space = if unit.is_empty() { "" } else { " " };
        format!("{}{space}{unit}", format::number(value / amount))
    }

    /// Returns the largest of its units that leaves a digit before the point, with its factor.
    pub(super) fn step(self, value: f64) -> (f64, &'static str) {
        let fits = self.0.iter().rev().find(|(amount, _)| value.abs() >= amount * (1.0 - 1e-9));
        *fits.unwrap_or(&self.0[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(axis: &Axis, values: [f64; 2]) -> Vec<String> {
        axis.over(values.into_iter(), 0.0, 1000.0).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[track_caller]
    fn assert_ticks(scale: Scale, values: [f64; 2], expected: &[&str]) {
        assert_eq!(shown(&Axis { scale, ..Axis::linear("", AxisUnit::NUMBER) }, values), expected);
    }

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        assert_ticks(Scale::Linear, [3.0, 97.0], &["0", "20", "40", "60", "80", "100"]);
        assert_ticks(Scale::Linear, [4.0, 4.0], &["0", "1", "2", "3", "4"]);
        assert_ticks(Scale::Linear, [0.0, 0.0], &["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_ticks(Scale::Linear, [-10.0, 30.0], &["-10", "0", "10", "20", "30"]);
        assert_ticks(
            Scale::Near,
            [1690.0, 1790.0],
            &["1680", "1700", "1720", "1740", "1760", "1780", "1800"],
        );
        assert_ticks(Scale::Log10, [0.3, 4000.0], &["0.1", "1", "10", "100", "1000", "10000"]);
        assert_ticks(Scale::Log10, [3.0, 20.0], &["2", "5", "10", "20"]);
        assert_ticks(Scale::Log10, [10.0, 10.0], &["10", "20"]);
        assert_ticks(Scale::Log2, [3.0, 33.0], &["2", "4", "8", "16", "32", "64"]);
        // What has no logarithm has no place.
        assert_ticks(Scale::Log2, [0.0, 4.0], &["4", "8"]);
        assert_ticks(Scale::Log10, [f64::NAN, -1.0], &["1", "2"]);
    }

    #[test]
    fn the_text_of_the_last_tick_is_in_the_drawing() {
        let axis = Axis::log2("matrix size", AxisUnit::NUMBER);
        let end = |last: f64| axis.across([1.0, last].into_iter(), 50.0, 450.0).end;
        assert_eq!(end(1024.0), 450.0);
        // Ten digits are 70 pixels wide.
        let text = shown(&axis, [1.0, 2_f64.powi(30)]).pop().expect("a tick");
        assert_eq!(end(2_f64.powi(30)), WIDTH - width(&text) / 2.0);
        assert!(width(&text) > 60.0, "{text}");
    }

    #[test]
    fn ticks_of_an_axis_have_one_unit() {
        let time = Axis::linear("time", AxisUnit::TIME);
        assert_eq!(shown(&time, [0.0, 90e3]), ["0", "20 µs", "40 µs", "60 µs", "80 µs", "100 µs"]);
        assert_eq!(shown(&time, [0.0, 2.4e6]), ["0", "0.5 ms", "1 ms", "1.5 ms", "2 ms", "2.5 ms"]);
        let rate = Axis::linear("", AxisUnit::GIBIBYTES);
        assert_eq!(
            shown(&rate, [0.0, 50e9]),
            ["0", "10 GiB/s", "20 GiB/s", "30 GiB/s", "40 GiB/s", "50 GiB/s"]
        );
        // Decades are of several units.
        let log = Axis::log10("time", AxisUnit::TIME);
        assert_eq!(shown(&log, [200.0, 5e6]), ["100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
    }

    #[test]
    fn values_lie_where_their_scale_has_them() {
        let axis = |scale| Axis { scale, ..Axis::linear("", AxisUnit::NUMBER) };
        let places = |scale, values: [f64; 3]| {
            let axis = axis(scale);
            values.map(|value| axis.over([1.0, 100.0].into_iter(), 50.0, 150.0).at(value).round())
        };
        assert_eq!(places(Scale::Linear, [0.0, 50.0, 100.0]), [50.0, 100.0, 150.0]);
        assert_eq!(places(Scale::Log10, [1.0, 10.0, 100.0]), [50.0, 100.0, 150.0]);
        let axis = axis(Scale::Log10);
        let placed = axis.over([1.0, 100.0].into_iter(), 50.0, 150.0);
        assert!(placed.holds(1.0) && !placed.holds(0.0));
    }

    #[test]
    fn texts_that_would_touch_are_left_out() {
        let axis = Axis::log2("size", AxisUnit::BYTES);
        let narrow = axis.over([1.0, 1024.0].into_iter(), 0.0, 300.0);
        let shown: Vec<f64> = narrow.spread().into_iter().map(|(value, _)| value).collect();
        assert_eq!(shown, [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]);
        assert_eq!(axis.over([1.0, 4.0].into_iter(), 0.0, 300.0).spread().len(), 3);
        assert!(narrow.stacked().len() > shown.len());
    }

    #[test]
    fn zero_has_no_unit() {
        let shown = [0.0, 20e3, 0.6e3].map(|time| AxisUnit::TIME.text_with(time, 100e3));
        assert_eq!(shown, ["0", "20 µs", "0.6 µs"]);
        assert_eq!(AxisUnit::BYTES.text(65_536.0), "64 KiB");
    }
}
