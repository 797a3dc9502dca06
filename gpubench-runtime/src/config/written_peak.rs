//! A peak as people write it. In: a name such as `memory` or `bf16 tensor`, and an amount such as `4800GB/s`.
//! Out: a quantity and its value in units of 1, or a [`PeakTextError`].

use gpubench_records::facts::Quantity;

/// A peak that cannot be read: what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeakTextError {
    /// It has no name.
    #[error("name memory, l2, h2d, d2h, p2p or a precision, such as f32")]
    Name,
    /// It has the name of a precision, and its value is no throughput.
    #[error(
        "give a throughput above 0 in GFLOP/s, TFLOP/s or PFLOP/s, such as f32=60TFLOP/s; bandwidths are memory, l2, \
         h2d, d2h and p2p"
    )]
    Throughput,
    /// It has the name of a bandwidth, and its value is none.
    #[error("give a bandwidth above 0 in MB/s, GB/s or TB/s, such as memory=4800GB/s")]
    Bandwidth,
}

const BYTES: [(&str, f64); 3] = [("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)];
const OPERATIONS: [(&str, f64); 3] = [("GFLOP/s", 1e9), ("TFLOP/s", 1e12), ("PFLOP/s", 1e15)];

/// Returns the quantity `name` and its peak `value`, in bytes or operations per second.
///
/// # Errors
/// Returns an error that says what to give instead.
pub(crate) fn read_peak(name: &str, value: &str) -> Result<(Quantity, f64), PeakTextError> {
    if name.trim().is_empty() {
        return Err(PeakTextError::Name);
    }
    let quantity = Quantity::named(name);
    let (units, otherwise) = match quantity {
        Quantity::Compute(_) => (&OPERATIONS, PeakTextError::Throughput),
        _ => (&BYTES, PeakTextError::Bandwidth),
    };
    Ok((quantity, with_unit(value, units).ok_or(otherwise)?))
}

/// Returns the number before one of these units, in units of 1.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?, factor)))?;
    let value = number.trim_end().parse::<f64>().ok()? * factor;
    (value.is_finite() && value > 0.0).then_some(value)
}
