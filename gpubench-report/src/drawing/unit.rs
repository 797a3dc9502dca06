//! The units of axes, and the texts of values at ticks and alone.

use gpubench_stats::format;
use gpubench_stats::units::{Bytes, BytesPerSecond, FlopsPerSecond, Hertz, Nanoseconds, Watts};

/// The unit of the values of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// The units in which ticks may be, from small to large, each with its factor.
    steps: &'static [(f64, &'static str)],
    /// A value alone, in full.
    exact: fn(f64) -> String,
}

impl Unit {
    /// Numbers.
    pub const NUMBER: Self = Self { steps: &[(1.0, "")], exact: format::number };
    /// Fractions, which are shown as percentages.
    pub const PART: Self = Self { steps: &[(0.01, "%")], exact: format::percent };
    /// Changes as fractions, which are shown as percentages with their sign.
    pub const CHANGE: Self = Self { steps: &[(0.01, "%")], exact: format::signed_percent };
    /// Nanoseconds.
    pub const TIME: Self = Self {
        steps: &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")],
        exact: |time| format::time(Nanoseconds(time)),
    };
    /// Bytes, in binary units.
    pub const BYTES: Self = Self {
        steps: &[
            (1.0, "B"),
            (1024.0, "KiB"),
            (1_048_576.0, "MiB"),
            (1_073_741_824.0, "GiB"),
            (1_099_511_627_776.0, "TiB"),
        ],
        exact: |bytes| format::bytes(Bytes(bytes as u64)),
    };
    /// Bytes per second.
    pub const BANDWIDTH: Self =
        Self { steps: &[(1e9, "GB/s")], exact: |rate| format::bandwidth(BytesPerSecond(rate)) };
    /// Bytes per second, in binary units.
    pub const GIBIBYTES: Self = Self {
        steps: &[(1_073_741_824.0, "GiB/s")],
        exact: |rate| format!("{} GiB/s", format::number(rate / 1_073_741_824.0)),
    };
    /// Floating-point operations per second.
    pub const THROUGHPUT: Self = Self {
        steps: &[(1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s")],
        exact: |rate| format::throughput(FlopsPerSecond(rate)),
    };
    /// Floating-point operations for each byte.
    pub const INTENSITY: Self = Self { steps: &[(1.0, "")], exact: format::intensity };
    /// Hertz.
    pub const CLOCK: Self =
        Self { steps: &[(1e6, "MHz")], exact: |clock| format::clock(Hertz(clock as u64)) };
    /// Watts.
    pub const POWER: Self = Self { steps: &[(1.0, "W")], exact: |power| format::power(Watts(power)) };
    /// Degrees Celsius.
    pub const TEMPERATURE: Self =
        Self { steps: &[(1.0, "°C")], exact: |degrees| format!("{degrees:.0} °C") };

    /// A value alone.
    pub(super) fn exact(&self, value: f64) -> String {
        (self.exact)(value)
    }

    /// The largest of its units that leaves a digit before the point.
    pub(super) fn step(&self, value: f64) -> (f64, &'static str) {
        let fits = self.steps.iter().rev().find(|(amount, _)| value.abs() >= amount * (1.0 - 1e-9));
        *fits.unwrap_or(&self.steps[0])
    }
}

/// A value at a tick, in a unit of this factor. Zero has no unit.
pub(super) fn at_tick(value: f64, (amount, unit): (f64, &str)) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let space = if unit.is_empty() { "" } else { " " };
    format!("{}{space}{unit}", format::number(value / amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_unit() {
        let shown = [0.0, 20e3, 0.6e3].map(|time| at_tick(time, Unit::TIME.step(100e3)));
        assert_eq!(shown, ["0", "20 µs", "0.6 µs"]);
        assert_eq!(at_tick(65_536.0, Unit::BYTES.step(65_536.0)), "64 KiB");
    }
}
