//! The axes of plots: the position of each value in pixels, ticks at round values, and the text of a value in its unit.

use gpubench_stats::format;

use super::{WIDTH, text_width};

/// An axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The text at the axis.
    pub label: String,
    /// The unit of its values.
    pub unit: AxisUnit,
    /// The scale, linear or logarithmic.
    pub scale: Scale,
}

/// The scale of an axis, linear or logarithmic, with the rule for its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, with 0 on the axis.
    Linear,
    /// Linear around the values; need not contain 0.
    LinearAroundValues,
    /// Logarithmic with ticks at powers of ten. Shows only values above 0.
    Log10,
    /// Logarithmic with ticks at powers of two, for sizes. Shows only values above 0.
    Log2,
}

impl Axis {
    /// Returns a linear axis that contains 0.
    pub fn linear(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { label: label.into(), unit, scale: Scale::Linear }
    }

    /// Returns a linear axis that contains the values and need not contain 0.
    pub fn linear_around_values(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { scale: Scale::LinearAroundValues, ..Self::linear(label, unit) }
    }

    /// Returns a logarithmic axis with ticks at powers of ten.
    pub fn log10(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { scale: Scale::Log10, ..Self::linear(label, unit) }
    }

    /// Returns a logarithmic axis with ticks at powers of two.
    pub fn log2(label: impl Into<String>, unit: AxisUnit) -> Self {
        Self { scale: Scale::Log2, ..Self::linear(label, unit) }
    }

    /// Fits the axis to `values` and places it from pixel `start` to pixel `end`. Ticks enclose all values
    /// that the scale can show; other values are ignored. Without values, the axis is fitted to 1.
    pub(super) fn fit(&self, values: impl Iterator<Item = f64>, start: f64, end: f64) -> PositionedAxis<'_> {
        let mut values: Vec<f64> = values.filter(|value| self.scale.can_show(*value)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let [low, high] = [values.first(), values.last()].map(|end| end.copied().unwrap_or(1.0));
        let ticks = match self.scale {
            Scale::Linear => self.linear_ticks(low.min(0.0), high.max(0.0)),
            Scale::LinearAroundValues => self.linear_ticks(low, high),
            Scale::Log10 if high / low < 30.0 => power_ticks(low, high, 10.0, &[1.0, 2.0, 5.0]),
            Scale::Log10 => power_ticks(low, high, 10.0, &[1.0]),
            Scale::Log2 => power_ticks(low, high, 2.0, &[1.0]),
        };
        let (from, to) = (ticks[0], ticks[ticks.len() - 1]);
        // All ticks of a linear axis have the unit of its largest.
        let largest = |value| if self.scale.is_linear() { from.abs().max(to.abs()) } else { value };
        let ticks =
            ticks.into_iter().map(|value| (value, self.unit.format_like(value, largest(value)))).collect();
        PositionedAxis { axis: self, from, to, start, end, ticks }
    }

    /// Fits a horizontal axis like [`fit`](Self::fit). If the text centred below the last tick would leave the
    /// drawing, the axis ends earlier.
    pub(super) fn fit_horizontally(
        &self,
        values: impl Iterator<Item = f64>,
        start: f64,
        end: f64,
    ) -> PositionedAxis<'_> {
        let placed = self.fit(values, start, end);
        let reach = placed.ticks.last().map_or(0.0, |(_, text)| text_width(text) / 2.0);
        PositionedAxis { end: end.min(WIDTH - reach), ..placed }
    }

    /// Returns ticks that enclose `low` and `high`. The ticks are round in the unit in which the axis shows
    /// the larger absolute value of the two.
    fn linear_ticks(&self, low: f64, high: f64) -> Vec<f64> {
        let (amount, _) = self.unit.fitting_unit(low.abs().max(high.abs()));
        round_ticks(low / amount, high / amount).into_iter().map(|tick| tick * amount).collect()
    }
}

impl Scale {
    /// Returns true for a linear scale, with or without 0.
    fn is_linear(self) -> bool {
        matches!(self, Self::Linear | Self::LinearAroundValues)
    }

    /// Returns true if the value has a position on this scale.
    pub(super) fn can_show(self, value: f64) -> bool {
        value.is_finite() && (self.is_linear() || value > 0.0)
    }

    /// Returns a coordinate that is linear in the position on the axis: the value itself on a linear scale,
    /// else its base-2 logarithm. A logarithmic scale needs a value above 0.
    fn coordinate(self, value: f64) -> f64 {
        if self.is_linear() { value } else { value.log2() }
    }
}

/// An axis that is fitted to values, with its start and end in pixels.
pub(super) struct PositionedAxis<'a> {
    pub axis: &'a Axis,
    /// The value of the first tick, at `start`.
    from: f64,
    /// The value of the last tick, at `end`.
    to: f64,
    pub start: f64,
    pub end: f64,
    /// The values of the ticks in ascending order, each with its text.
    pub ticks: Vec<(f64, String)>,
}

impl PositionedAxis<'_> {
    /// Returns the pixel at a value, which the scale must be able to show. The pixel may be beyond the ends
    /// of the axis.
    pub(super) fn position(&self, value: f64) -> f64 {
        let [from, to, value] = [self.from, self.to, value].map(|value| self.axis.scale.coordinate(value));
        self.start + (value - from) / (to - from) * (self.end - self.start)
    }

    /// Returns the pixel halfway between start and end.
    pub(super) fn middle(&self) -> f64 {
        (self.start + self.end) / 2.0
    }

    /// Returns true if the scale can show the value, and it is between the first and the last tick.
    pub(super) fn contains_value(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.to - self.from);
        self.axis.scale.can_show(value) && (self.from - slack..=self.to + slack).contains(&value)
    }

    /// Returns every tick, or every second, third and so on, so that the texts fit side by side.
    pub(super) fn horizontal_ticks(&self) -> Vec<(f64, String)> {
        self.thinned_ticks(|a, b| (text_width(a) + text_width(b)) / 2.0 + 10.0)
    }

    /// Returns every tick, or every second, third and so on, so that the texts fit one above the other.
    pub(super) fn vertical_ticks(&self) -> Vec<(f64, String)> {
        self.thinned_ticks(|_, _| 17.0)
    }

    /// Returns every n-th tick for the smallest n for which neighbouring texts have the `needed` distance in
    /// pixels.
    fn thinned_ticks(&self, needed: impl Fn(&str, &str) -> f64) -> Vec<(f64, String)> {
        let mut steps = 1..=self.ticks.len();
        let fitting = steps.find(|step| {
            let shown: Vec<_> = self.ticks.iter().step_by(*step).collect();
            shown.windows(2).all(|pair| {
                let room = (self.position(pair[1].0) - self.position(pair[0].0)).abs();
                needed(&pair[0].1, &pair[1].1) <= room
            })
        });
        self.ticks.iter().step_by(fitting.unwrap_or(1)).cloned().collect()
    }
}

/// Returns ticks in about six steps of 1, 2 or 5 times a power of ten, from a tick at or below `low` to one
/// at or above `high`.
fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    let span = if high > low { high - low } else { low.abs().max(1.0) };
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough).unwrap_or(10.0);
    // An error of rounding must not add a step.
    let first = (low / step + 1e-9).floor();
    let last = ((low + span).max(high) / step - 1e-9).ceil().max(first + 1.0);
    (0..=(last - first) as usize).map(|tick| (first + tick as f64) * step).collect()
}

/// Returns ticks at these multiples of powers of `base`, from the last at or below `low` to the first at or above
/// `high`.
fn power_ticks(low: f64, high: f64, base: f64, multiples: &[f64]) -> Vec<f64> {
    // An error of rounding must not leave out the last.
    let [first, last] = [low.log(base).floor() as i32 - 1, high.log(base).floor() as i32 + 2];
    let all = (first..=last).flat_map(|power| multiples.iter().map(move |step| step * base.powi(power)));
    let all: Vec<f64> = all.collect();
    let below = all.iter().rposition(|tick| *tick <= low).unwrap_or(0);
    let above = all.iter().position(|tick| *tick >= high).unwrap_or(all.len() - 1).max(below + 1);
    all[below..=above].to_vec()
}

/// The unit of an axis: the names in which its values may be shown, from small to large, each with its factor.
#[derive(Clone, Copy, Debug)]
pub struct AxisUnit(&'static [(f64, &'static str)]);

impl AxisUnit {
    /// Numbers without a unit.
    pub const NUMBER: Self = Self(&[(1.0, "")]);
    /// Fractions, such as 0.5, shown as percentages.
    pub const PART: Self = Self(&[(0.01, "%")]);
    /// Times, given in nanoseconds and shown in ns, µs, ms or s.
    pub const TIME: Self = Self(&[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")]);
    /// Bytes, shown in B, KiB, MiB, GiB or TiB.
    pub const BYTES: Self = Self(&[
        (1.0, "B"),
        (1024.0, "KiB"),
        (1_048_576.0, "MiB"),
        (1_073_741_824.0, "GiB"),
        (1_099_511_627_776.0, "TiB"),
    ]);
    /// Bytes per second, shown as GB/s.
    pub const BANDWIDTH: Self = Self(&[(1e9, "GB/s")]);
    /// Bytes per second, shown as GiB/s.
    pub const GIBIBYTES: Self = Self(&[(1_073_741_824.0, "GiB/s")]);
    /// Floating-point operations per second, shown in GFLOP/s, TFLOP/s or PFLOP/s.
    pub const THROUGHPUT: Self = Self(&[(1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s")]);
    /// Clock rates, given in hertz and shown in MHz.
    pub const CLOCK: Self = Self(&[(1e6, "MHz")]);
    /// Watts.
    pub const POWER: Self = Self(&[(1.0, "W")]);
    /// Degrees Celsius.
    pub const TEMPERATURE: Self = Self(&[(1.0, "°C")]);

    /// Returns the text of a value in the largest unit in which the value is at least 1, or else in the
    /// smallest unit.
    pub(super) fn format(self, value: f64) -> String {
        self.format_like(value, value)
    }

    /// Returns the text of a value in the unit of `largest`, as for the ticks of one axis. The text of zero
    /// has no unit.
    fn format_like(self, value: f64, largest: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let (amount, unit) = self.fitting_unit(largest);
        let space = if unit.is_empty() { "" } else { " " };
        format!("{}{space}{unit}", format::number(value / amount))
    }

    /// Returns the factor and the name of the largest unit in which the value is at least 1, else those of
    /// the smallest unit.
    fn fitting_unit(self, value: f64) -> (f64, &'static str) {
        let fits = self.0.iter().rev().find(|(amount, _)| value.abs() >= amount * (1.0 - 1e-9));
        *fits.unwrap_or(&self.0[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(axis: &Axis, values: [f64; 2]) -> Vec<String> {
        axis.fit(values.into_iter(), 0.0, 1000.0).ticks.into_iter().map(|(_, text)| text).collect()
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
            Scale::LinearAroundValues,
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
        let end = |last: f64| axis.fit_horizontally([1.0, last].into_iter(), 50.0, 450.0).end;
        assert_eq!(end(1024.0), 450.0);
        // Ten digits are 70 pixels wide.
        let text = shown(&axis, [1.0, 2_f64.powi(30)]).pop().expect("a tick");
        assert_eq!(end(2_f64.powi(30)), WIDTH - text_width(&text) / 2.0);
        assert!(text_width(&text) > 60.0, "{text}");
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
            values.map(|value| axis.fit([1.0, 100.0].into_iter(), 50.0, 150.0).position(value).round())
        };
        assert_eq!(places(Scale::Linear, [0.0, 50.0, 100.0]), [50.0, 100.0, 150.0]);
        assert_eq!(places(Scale::Log10, [1.0, 10.0, 100.0]), [50.0, 100.0, 150.0]);
        let axis = axis(Scale::Log10);
        let placed = axis.fit([1.0, 100.0].into_iter(), 50.0, 150.0);
        assert!(placed.contains_value(1.0) && !placed.contains_value(0.0));
    }

    #[test]
    fn texts_that_would_touch_are_left_out() {
        let axis = Axis::log2("size", AxisUnit::BYTES);
        let narrow = axis.fit([1.0, 1024.0].into_iter(), 0.0, 300.0);
        let shown: Vec<f64> = narrow.horizontal_ticks().into_iter().map(|(value, _)| value).collect();
        assert_eq!(shown, [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]);
        assert_eq!(axis.fit([1.0, 4.0].into_iter(), 0.0, 300.0).horizontal_ticks().len(), 3);
        assert!(narrow.vertical_ticks().len() > shown.len());
    }

    #[test]
    fn zero_has_no_unit() {
        let shown = [0.0, 20e3, 0.6e3].map(|time| AxisUnit::TIME.format_like(time, 100e3));
        assert_eq!(shown, ["0", "20 µs", "0.6 µs"]);
        assert_eq!(AxisUnit::BYTES.format(65_536.0), "64 KiB");
    }
}
