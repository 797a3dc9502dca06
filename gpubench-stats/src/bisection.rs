//! Bisection: finds the point at which a condition changes.

/// Returns the point in the range `low` to `high` below which `is_left` is true and above which it is false.
/// The range is halved until it is at most `width` wide, and its middle is returned. With a `width` of 0 the
/// halving ends at neighbouring floating-point numbers.
#[doc(hidden)]
pub fn bisect((mut low, mut high): (f64, f64), width: f64, is_left: impl Fn(f64) -> bool) -> f64 {
    while high - low > width {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if is_left(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}
