//! Quantities as text for people: three or four significant digits and the unit that fits. The only place
//! where a quantity becomes text.

use std::fmt::{self, Display};

use crate::units::{
    Bytes, BytesPerSecond, FlopsPerSecond, Hertz, ItemsPerSecond, Joules, Nanoseconds, Range, Watts,
};

/// Formats a time with four significant digits, such as `12.54 µs`. The unit is the largest from ns to s of
/// which the time has at least one; below a nanosecond it is ns.
pub fn time(time: Nanoseconds) -> String {
    let (value, unit) = scaled(time.as_f64(), &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")]);
    format!("{} {unit}", significant(value, 4))
}

/// Formats an amount of memory in the largest unit from B to TiB of which it has at least one, such as `33
/// MiB`. A number that is not whole has one decimal.
pub fn bytes(bytes: Bytes) -> String {
    let units = [(0, "B"), (10, "KiB"), (20, "MiB"), (30, "GiB"), (40, "TiB")];
    let units = units.map(|(power, unit)| ((1_u64 << power) as f64, unit));
    let (value, unit) = scaled(bytes.as_f64(), &units);
    let digits = if value.fract() == 0.0 { 0 } else { 1 };
    format!("{value:.digits$} {unit}")
}

/// Returns `value` in the largest of `units` that leaves a digit other than 0 before the point, and the name
/// of that unit. For smaller values it is the first unit. The `units` are in ascending order, each its size
/// and its name.
fn scaled(value: f64, units: &[(f64, &'static str)]) -> (f64, &'static str) {
    let (size, unit) = units.iter().rev().find(|(size, _)| value.abs() >= *size).unwrap_or(&units[0]);
    (value / size, unit)
}

/// Formats a rate of bytes in GB/s (10⁹ bytes) without the unit, such as `4473`.
pub fn gigabytes(rate: BytesPerSecond) -> String {
    significant(rate.as_f64() / 1e9, 3)
}

/// Formats a rate of operations in GFLOP/s without the unit, such as `12.3`.
pub fn gigaflops(rate: FlopsPerSecond) -> String {
    significant(rate.as_f64() / 1e9, 3)
}

/// Formats a rate of bytes with its unit, such as `4814 GB/s`.
pub fn bandwidth(rate: BytesPerSecond) -> String {
    format!("{} GB/s", gigabytes(rate))
}

/// Formats a rate of operations in TFLOP/s from 10 TFLOP/s on, such as `66.9 TFLOP/s`, and below in GFLOP/s.
pub fn throughput(rate: FlopsPerSecond) -> String {
    match rate.as_f64() {
        r if r < 1e13 => format!("{} GFLOP/s", gigaflops(rate)),
        r => format!("{} TFLOP/s", significant(r / 1e12, 3)),
    }
}

/// Formats a number of floating-point operations, such as `34.4 GFLOP`.
pub fn operations(flops: u64) -> String {
    let (value, prefix) = prefixed(flops as f64);
    format!("{} {prefix}FLOP", significant(value, 3))
}

/// Formats an arithmetic intensity, such as `13.9 flop/byte`.
pub fn intensity(flops_per_byte: f64) -> String {
    format!("{} flop/byte", significant(flops_per_byte, 3))
}

/// Formats a rate of items with a decimal prefix, such as `12.3 G interactions/s`. `item` is the unit's
/// plural.
pub fn items(rate: ItemsPerSecond, item: &str) -> String {
    let (value, prefix) = prefixed(rate.as_f64());
    let space = if prefix.is_empty() { "" } else { " " };
    format!("{} {prefix}{space}{item}/s", significant(value, 3))
}

/// Returns `value` scaled to the largest decimal prefix (none, k, M, G or T) that leaves a digit before the
/// point, and the prefix. Values below 1 have no prefix.
fn prefixed(value: f64) -> (f64, &'static str) {
    scaled(value, &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")])
}

/// Formats a clock in megahertz, such as `1980 MHz`.
pub fn clock(clock: Hertz) -> String {
    format!("{} MHz", significant(clock.as_f64() / 1e6, 3))
}

/// Formats a power, such as `212 W`.
pub fn power(power: Watts) -> String {
    format!("{:.0} W", power.as_f64())
}

/// Formats an energy in µJ, mJ or J, such as `12.3 mJ`: the largest unit of which it has at least one, or
/// else µJ.
pub fn energy(energy: Joules) -> String {
    let (value, unit) = scaled(energy.as_f64(), &[(1e-6, "µJ"), (1e-3, "mJ"), (1.0, "J")]);
    format!("{} {unit}", significant(value, 3))
}

/// Formats work per joule with a decimal prefix, such as `105 GFLOP/J`. `what` is the unit of the work, such
/// as `FLOP`.
pub fn per_joule(work: f64, what: &str) -> String {
    let (value, prefix) = prefixed(work);
    format!("{} {prefix}{what}/J", significant(value, 3))
}

/// Formats a range as `low to high`, or as one value if both ends have the same text. `shown` formats each
/// end.
pub fn from_to<T: Copy>(range: Range<T>, shown: impl Fn(T) -> String) -> String {
    let [low, high] = [range.low, range.high].map(shown);
    if low == high { low } else { format!("{low} to {high}") }
}

/// Formats a number without a unit, with four significant digits but at most nine decimals, such as `12.35` or
/// `0.01`. Digits before the point are never rounded; zeros at the end of decimals are left out.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a value with four significant digits and the unit that its author chose, such as `96 rows`, or
/// `0.83` if `unit` is empty. From 10⁹ on and below 10⁻⁴ it has an exponent, such as `1.235e9 tokens/s`.
pub fn metric(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        0.0 | 1e-4..1e9 => number(value),
        _ => format!("{value:.3e}"),
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// Returns the texts of `items` in one string, separated by `between`.
pub fn joined(items: impl IntoIterator<Item: ToString>, between: &str) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(between)
}

/// Returns a count with the singular or plural of `what`: `1 case`, `2 cases`, `3 launches`. The plural has `es`
/// after `ch` and `ss`, else `s`.
pub fn counted(number: usize, what: &str) -> String {
    let is_sibilant = what.ends_with("ch") || what.ends_with("ss");
    let plural = if number == 1 {
        ""
    } else if is_sibilant {
        "es"
    } else {
        "s"
    };
    format!("{number} {what}{plural}")
}

/// Formats a fraction as a percentage to three significant digits, such as `93.1 %` for 0.931. Above 99,999 % it
/// is `>99999 %`.
pub fn percent(part: f64) -> String {
    let percent = 100.0 * part;
    limited(percent, significant(percent, 3)) + " %"
}

/// Formats a difference, given as a fraction, as a percentage with its sign and one decimal, such as `+0.4 %` for
/// 0.004.
pub fn signed_percent(part: f64) -> String {
    let percent = 100.0 * part;
    limited(percent, format!("{percent:+.1}")) + " %"
}

/// Formats a ratio as a change with its sign, such as `+2.04 %` for 1.0204.
pub fn change(ratio: f64) -> String {
    percent_change(ratio) + " %"
}

/// Formats the ends of a ratio's interval as changes, such as `(+1.52 to +2.57 %)`.
pub fn changes(low: f64, high: f64) -> String {
    format!("({} to {} %)", percent_change(low), percent_change(high))
}

/// Formats a ratio as a change without the unit, such as `+2.04`. It has no decimals from 1000 % on.
fn percent_change(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    let decimals = if percent.abs() < 1e3 { 2 } else { 0 };
    limited(percent, format!("{percent:+.decimals$}"))
}

/// Formats a requested precision, given as a fraction, such as `± 0.50 %`. Below 0.01 % it has four
/// significant digits.
pub fn precision(part: f64) -> String {
    match 100.0 * part {
        p if p < MIN_TWO_DECIMAL_PERCENT => format!("± {} %", number(p)),
        _ => plus_minus(part),
    }
}

/// The smallest percentage that two decimals show as more than zero.
const MIN_TWO_DECIMAL_PERCENT: f64 = 0.01;

/// Formats the half-width of an interval, given as a fraction of its value, such as `± 0.42 %`. Returns `± ?`
/// for a half-width of 100 % or more, and for NaN.
pub fn plus_minus(part: f64) -> String {
    match 100.0 * part.abs() {
        p if p < 100.0 => format!("± {p:.2} %"),
        _ => "± ?".to_owned(),
    }
}

/// The largest percentage whose digits are shown: a ratio may have three hundred digits. A larger percentage
/// is shown as above this limit.
const MAX_SHOWN_PERCENT: f64 = 99_999.0;

/// Returns the text `shown` of a percentage. For one beyond ± 99,999 % or NaN, returns `>99999`, `<-99999` or
/// `?`.
fn limited(percent: f64, shown: String) -> String {
    match percent {
        _ if percent.is_nan() => "?".to_owned(),
        _ if percent > MAX_SHOWN_PERCENT => format!(">{MAX_SHOWN_PERCENT:.0}"),
        _ if percent < -MAX_SHOWN_PERCENT => format!("<-{MAX_SHOWN_PERCENT:.0}"),
        _ => shown,
    }
}

/// Formats a ratio to three significant digits, such as `1.48×`.
pub fn ratio(ratio: f64) -> String {
    format!("{}×", significant(ratio, 3))
}

/// Formats `value` with `digits` significant digits. All digits before the point are shown, so that a large
/// value has more.
fn significant(value: f64, digits: usize) -> String {
    let rounded = |value: f64, decimals: usize| format!("{value:.decimals$}");
    let before_point =
        |value: f64| if value.abs() < 1.0 { 1 } else { (value.abs().log10() as usize).saturating_add(1) };
    let text = rounded(value, digits.saturating_sub(before_point(value)));
    // Rounding may have brought a digit more: 9.9996 to four digits is 10.00, not 10.000.
    match text.parse::<f64>() {
        Ok(shown) => rounded(value, digits.saturating_sub(before_point(shown))),
        Err(_) => text,
    }
}

/// Implements `Display` for each quantity by the function after `by`.
macro_rules! displays {
    ($($name:ident by $show:expr;)+) => {$(
        impl Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let show: fn($name) -> String = $show;
                f.pad(&show(*self))
            }
        }
    )+};
}

displays! {
    Nanoseconds by time;
    Bytes by bytes;
    BytesPerSecond by bandwidth;
    FlopsPerSecond by throughput;
    ItemsPerSecond by |rate| items(rate, "items");
    Hertz by clock;
    Joules by energy;
    Watts by power;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_show_their_unit() {
        assert_eq!(format!("{:>9}", Nanoseconds(12_540.0)), " 12.54 µs");
        assert_eq!(Nanoseconds::from_seconds(0.25).to_string(), "250.0 ms");
        assert_eq!([Bytes(33 << 20).to_string(), Hertz(1_980_000_000).to_string()], ["33 MiB", "1980 MHz"]);
        assert_eq!(BytesPerSecond(4.814e12).to_string(), "4814 GB/s");
        assert_eq!(FlopsPerSecond(66.9e12).to_string(), "66.9 TFLOP/s");
    }

    #[test]
    fn times_take_the_unit_that_fits() {
        let shown =
            [0.0, 31.04, 999.96, 12_540.0, 999_996.0, 4_473_100.0, 2.5e9, -3.0].map(|t| time(Nanoseconds(t)));
        let expected =
            ["0.000 ns", "31.04 ns", "1000 ns", "12.54 µs", "1000 µs", "4.473 ms", "2.500 s", "-3.000 ns"];
        assert_eq!(shown, expected);
        let first = [1e3, 1e6, 1e9].map(|t| time(Nanoseconds(t)));
        assert_eq!(first, ["1.000 µs", "1.000 ms", "1.000 s"], "the first time of each unit");
    }

    #[test]
    fn amounts_are_binary_and_rates_decimal() {
        assert_eq!(
            [512, 32 << 10, 33 << 20, 1536 << 20].map(|size| bytes(Bytes(size))),
            ["512 B", "32 KiB", "33 MiB", "1.5 GiB"]
        );
        assert_eq!(gigabytes(BytesPerSecond(4.4731e12)), "4473");
        assert_eq!(gigabytes(BytesPerSecond(12.346e9)), "12.3");
        assert_eq!(gigaflops(FlopsPerSecond(0.5e9)), "0.50");
        assert_eq!(bandwidth(BytesPerSecond(4.814e12)), "4814 GB/s");
        let shown = [0.5e9, 1.03e12, 66.9e12, 1070.6e12].map(|rate| throughput(FlopsPerSecond(rate)));
        assert_eq!(shown, ["0.50 GFLOP/s", "1030 GFLOP/s", "66.9 TFLOP/s", "1071 TFLOP/s"]);
        assert_eq!([640, 34_359_738_368].map(operations), ["640 FLOP", "34.4 GFLOP"]);
        let shown = [0.5, 12_300.0, 2.5e9, 1e13].map(|rate| items(ItemsPerSecond(rate), "keys"));
        assert_eq!(shown, ["0.50 keys/s", "12.3 k keys/s", "2.50 G keys/s", "10.0 T keys/s"]);
        let first = [1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000].map(operations);
        assert_eq!(
            first,
            ["1.00 kFLOP", "1.00 MFLOP", "1.00 GFLOP", "1.00 TFLOP"],
            "the first of each prefix"
        );
        assert_eq!([1e-3, 1.0].map(|joules| energy(Joules(joules))), ["1.00 mJ", "1.00 J"]);
        assert_eq!([1024, 1 << 20].map(|size| bytes(Bytes(size))), ["1 KiB", "1 MiB"]);
    }

    #[test]
    fn plain_numbers_end_where_their_digits_do() {
        let shown = [0.0, 0.00256, 0.01, 1.0, 12.3456, 100.0, 4814.4, 104_857.6, -1.5].map(number);
        assert_eq!(shown, ["0", "0.00256", "0.01", "1", "12.35", "100", "4814", "104858", "-1.5"]);
    }

    #[test]
    fn a_metric_has_the_unit_of_its_author() {
        let shown = [(0.0, ""), (0.83, ""), (-96.0, "rows"), (1.2346e9, "tokens/s"), (2e-9, "m")];
        let shown = shown.map(|(value, unit)| metric(value, unit));
        assert_eq!(shown, ["0", "0.83", "-96 rows", "1.235e9 tokens/s", "2.000e-9 m"]);
    }

    #[test]
    fn parts_and_ratios() {
        assert_eq!(percent(0.7458), "74.6 %");
        assert_eq!(percent(9.1), "910 %");
        assert_eq!(plus_minus(0.0042), "± 0.42 %");
        let wide = [0.9999, 1.0, 1e80, f64::INFINITY, f64::NAN].map(plus_minus);
        assert_eq!(wide, ["± 99.99 %", "± ?", "± ?", "± ?", "± ?"]);
        assert_eq!([10.0, 40.0, 1e9, f64::NAN].map(change), ["+900.00 %", "+3900 %", ">99999 %", "? %"]);
        assert_eq!(changes(1e-30, 1e80), "(-100.00 to >99999 %)");
        assert_eq!([1e80, -1e80].map(percent), [">99999 %", "<-99999 %"]);
        assert_eq!([0.004, 1e80].map(signed_percent), ["+0.4 %", ">99999 %"]);
        assert_eq!((change(1.0204), change(0.5)), ("+2.04 %".to_owned(), "-50.00 %".to_owned()));
        assert_eq!(changes(0.995, 1.0257), "(-0.50 to +2.57 %)");
        assert_eq!(plus_minus(f64::INFINITY), "± ?");
        assert_eq!(ratio(1.4842), "1.48×");
        let shown = [45.6e-6, 12.34e-3, 0.9996, 2.5].map(|joules| energy(Joules(joules)));
        assert_eq!(shown, ["45.6 µJ", "12.3 mJ", "1000 mJ", "2.50 J"]);
        assert_eq!([per_joule(105.4e9, "FLOP"), per_joule(512.0, "B")], ["105 GFLOP/J", "512 B/J"]);
    }

    /// The ends of what is shown in digits, and what is beyond them.
    #[test]
    fn each_way_to_show_a_number_ends_where_it_says() {
        let shown = [9.99e12, 1e13].map(|rate| throughput(FlopsPerSecond(rate)));
        assert_eq!(shown, ["9990 GFLOP/s", "10.0 TFLOP/s"]);
        assert_eq!(
            [999.99, 1000.0, -999.99, -1000.0].map(percent),
            ["99999 %", ">99999 %", "-99999 %", "<-99999 %"]
        );
        let shown = [999.99, 1000.0, -0.004, -999.99, -1000.0].map(signed_percent);
        assert_eq!(shown, ["+99999.0 %", ">99999 %", "-0.4 %", "-99999.0 %", "<-99999 %"]);
        assert_eq!(
            [10.99, 11.0, 1000.0, 1001.0].map(change),
            ["+999.00 %", "+1000 %", "+99900 %", ">99999 %"]
        );
        assert_eq!([-0.0042, -20.0].map(plus_minus), ["± 0.42 %", "± ?"]);
        assert_eq!(
            [0.05, 0.005, 1e-4, 2.5e-5].map(precision),
            ["± 5.00 %", "± 0.50 %", "± 0.01 %", "± 0.0025 %"]
        );
        assert_eq!([f64::NAN, f64::INFINITY].map(percent), ["? %", ">99999 %"]);
        assert_eq!([intensity(13.94), power(Watts(212.4))], ["13.9 flop/byte", "212 W"]);
        assert_eq!([bytes(Bytes(1023)), bytes(Bytes(5 << 50))], ["1023 B", "5120 TiB"]);
        assert_eq!([f64::NAN, f64::INFINITY, 1e-12, 1e12].map(number), ["NaN", "inf", "0", "1000000000000"]);
        let megahertz = |low, high| from_to(Range { low: Hertz(low), high: Hertz(high) }, clock);
        assert_eq!(megahertz(1_980_000_000, 1_980_400_000), "1980 MHz", "both are shown the same");
        assert_eq!(megahertz(345_000_000, 1_980_000_000), "345 MHz to 1980 MHz");
    }

    #[test]
    fn what_is_counted_has_its_plural() {
        let told = [(1, "case"), (2, "case"), (0, "case"), (1, "launch"), (3, "launch")]
            .map(|(n, what)| counted(n, what));
        assert_eq!(told, ["1 case", "2 cases", "0 cases", "1 launch", "3 launches"]);
    }
}
