//! Axes. In: what is to be shown on one, and the values that lie on it; out: where each value lies in pixels, and the places
//! and texts of its ticks.

use super::canvas::width;

/// An axis: what it shows, how, and in which words.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The name of its values, with their unit.
    pub label: String,
    /// The scale.
    pub scale: Scale,
    /// A value as its ticks show it, with or without a unit.
    pub show: fn(f64) -> String,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In equal steps, from 0 on.
    Linear,
    /// Equal ratios at equal distances, with ticks at powers of ten. For values above 0: others are left out.
    Log10,
    /// The same with ticks at powers of two, for sizes.
    Log2,
}

impl Axis {
    /// An axis in equal steps from 0 on.
    pub fn linear(label: impl Into<String>, show: fn(f64) -> String) -> Self {
        Self { label: label.into(), scale: Scale::Linear, show }
    }

    /// A logarithmic axis with ticks at powers of ten.
    pub fn log10(label: impl Into<String>, show: fn(f64) -> String) -> Self {
        Self { label: label.into(), scale: Scale::Log10, show }
    }

    /// A logarithmic axis with ticks at powers of two.
    pub fn log2(label: impl Into<String>, show: fn(f64) -> String) -> Self {
        Self { label: label.into(), scale: Scale::Log2, show }
    }

    /// The axis under these values, from `start` to `end` in pixels. Values that it cannot show are left out.
    pub(super) fn over(&self, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Placed {
        let values: Vec<f64> = values.filter(|value| self.scale.shows(*value)).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if values.is_empty() { (1.0, 1.0) } else { (low, high) };
        let (from, to, ticks) = match self.scale {
            Scale::Linear => linear(low, high),
            Scale::Log10 => decades(low, high),
            Scale::Log2 => doublings(low, high),
        };
        let ticks = ticks.into_iter().map(|value| (value, (self.show)(value))).collect();
        Placed { scale: self.scale, from, to, start, end, ticks }
    }
}

impl Scale {
    /// Returns true where a value has a place on such an axis.
    pub(super) fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Self::Linear || value > 0.0)
    }

    fn of(self, value: f64) -> f64 {
        if self == Self::Linear { value } else { value.log2() }
    }
}

/// An axis at its place.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    scale: Scale,
    from: f64,
    to: f64,
    pub(super) start: f64,
    pub(super) end: f64,
    /// Values and what is written at them.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Placed {
    /// Returns the place of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let [from, to, value] = [self.from, self.to, value].map(|value| self.scale.of(value));
        self.start + (value - from) / (to - from) * (self.end - self.start)
    }

    /// Returns true where a value lies on it.
    pub(super) fn holds(&self, value: f64) -> bool {
        self.scale.shows(value) && (self.from..=self.to).contains(&value)
    }

    /// As many of the ticks as have room side by side: every one, every second, and so on.
    pub(super) fn spread(&self) -> Vec<(f64, String)> {
        let fits = |step: usize| {
            let shown: Vec<_> = self.ticks.iter().step_by(step).collect();
            shown.windows(2).all(|pair| {
                let room = (self.at(pair[1].0) - self.at(pair[0].0)).abs();
                (width(&pair[0].1) + width(&pair[1].1)) / 2.0 + 10.0 <= room
            })
        };
        let step = (1..=self.ticks.len()).find(|step| fits(*step)).unwrap_or(1);
        self.ticks.iter().step_by(step).cloned().collect()
    }
}

/// From 0, or below it, to the first round step above the highest: about six steps of 1, 2 or 5 times a power of ten.
fn linear(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (low, high) = (low.min(0.0), high.max(0.0));
    let span = if high > low { high - low } else { 1.0 };
    let rough = span / 6.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= rough).unwrap_or(10.0);
    let (first, last) = ((low / step).floor(), (low + span).max(high) / step);
    let last = last.ceil().max(first + 1.0);
    let ticks = (0..=(last - first) as usize).map(|tick| (first + tick as f64) * step).collect();
    (first * step, last * step, ticks)
}

/// From a power of ten to another, with 1, 2 and 5 times each where there are few.
fn decades(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let few = high / low < 30.0;
    let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let (first, last) = (low.log10().floor() as i32, high.log10().floor() as i32 + 1);
    let all = (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    let all: Vec<f64> = all.collect();
    // From the last tick at or below the lowest to the first at or above the highest.
    let below = all.iter().rposition(|tick| *tick <= low).unwrap_or(0);
    let above = all.iter().position(|tick| *tick >= high).unwrap_or(all.len() - 1).max(below + 1);
    (all[below], all[above], all[below..=above].to_vec())
}

/// From a power of two to another.
fn doublings(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (first, last) = (low.log2().floor() as i32, high.log2().ceil() as i32);
    let last = last.max(first + 1);
    let ticks: Vec<f64> = (first..=last).map(|power| 2_f64.powi(power)).collect();
    (ticks[0], ticks[ticks.len() - 1], ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(scale: Scale, values: [f64; 2]) -> Vec<String> {
        let axis = Axis { label: String::new(), scale, show: |value| value.to_string() };
        axis.over(values.into_iter(), 0.0, 1000.0).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        assert_eq!(ticks(Scale::Linear, [3.0, 97.0]), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(ticks(Scale::Linear, [4.0, 4.0]), ["0", "1", "2", "3", "4"]);
        assert_eq!(ticks(Scale::Linear, [0.0, 0.0]), ["0", "0.2", "0.4", "0.6000000000000001", "0.8", "1"]);
        assert_eq!(ticks(Scale::Linear, [-10.0, 30.0]), ["-10", "0", "10", "20", "30"]);
        assert_eq!(ticks(Scale::Log10, [0.3, 4000.0]), ["0.1", "1", "10", "100", "1000", "10000"]);
        assert_eq!(ticks(Scale::Log10, [3.0, 20.0]), ["2", "5", "10", "20"]);
        assert_eq!(ticks(Scale::Log10, [10.0, 10.0]), ["10", "20"]);
        assert_eq!(ticks(Scale::Log2, [3.0, 33.0]), ["2", "4", "8", "16", "32", "64"]);
        // What has no logarithm has no place.
        assert_eq!(ticks(Scale::Log2, [0.0, 4.0]), ["4", "8"]);
        assert_eq!(ticks(Scale::Log10, [f64::NAN, -1.0]), ["1", "2"]);
    }

    #[test]
    fn values_lie_where_their_scale_has_them() {
        let placed = |scale| {
            Axis { label: String::new(), scale, show: |_| String::new() }.over(
                [1.0, 100.0].into_iter(),
                50.0,
                150.0,
            )
        };
        assert_eq!([0.0, 50.0, 100.0].map(|value| placed(Scale::Linear).at(value)), [50.0, 100.0, 150.0]);
        assert_eq!(
            [1.0, 10.0, 100.0].map(|value| placed(Scale::Log10).at(value).round()),
            [50.0, 100.0, 150.0]
        );
        assert!(placed(Scale::Log10).holds(1.0) && !placed(Scale::Log10).holds(0.0));
    }

    #[test]
    fn texts_that_would_touch_are_left_out() {
        let axis = Axis::log2("size", |value| format!("{value} bytes"));
        let narrow = axis.over([1.0, 1024.0].into_iter(), 0.0, 300.0);
        let shown: Vec<f64> = narrow.spread().into_iter().map(|(value, _)| value).collect();
        assert_eq!(shown, [1.0, 8.0, 64.0, 512.0]);
        assert_eq!(axis.over([1.0, 4.0].into_iter(), 0.0, 300.0).spread().len(), 3);
    }
}
