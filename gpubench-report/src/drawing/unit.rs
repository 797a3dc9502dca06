//! The units of axes, and the text of a value in its unit.

use gpubench_stats::format;

/// The unit of the values of an axis: the units in which its values may be shown, from small to large, each with its factor.
#[derive(Clone, Copy, Debug)]
pub struct Unit(&'static [(f64, &'static str)]);

impl Unit {
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

    #[test]
    fn zero_has_no_unit() {
        let shown = [0.0, 20e3, 0.6e3].map(|time| Unit::TIME.text_with(time, 100e3));
        assert_eq!(shown, ["0", "20 µs", "0.6 µs"]);
        assert_eq!(Unit::BYTES.text(65_536.0), "64 KiB");
    }
}
