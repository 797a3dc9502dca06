//! The place at which a condition changes, by halving.

/// Finds the point below which `is_left` is true, to this width; with a width of 0, to the last bit.
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
