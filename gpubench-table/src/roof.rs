//! The names of peaks, which the table, the page, drawings and explanations share.

use gpubench_records::{Measurement, Quantity, metrics::PeakFraction};
use gpubench_stats::format;

use super::text::plain;

/// The name of a roof, such as `DRAM` or `FP32`.
pub fn name(quantity: &Quantity) -> String {
    plain(&quantity.roof())
}

/// The name of a peak, such as `DRAM bandwidth`. The two ways over a link have a peak each.
pub(super) fn peak_name(quantity: &Quantity) -> String {
    let roof = name(quantity);
    match quantity {
        Quantity::HostToDevice => format!("{roof} bandwidth to the device"),
        Quantity::DeviceToHost => format!("{roof} bandwidth to the host"),
        Quantity::Compute(_) => roof,
        _ => format!("{roof} bandwidth"),
    }
}

/// Returns the share of the peak that binds a launch: of the roofline, or else of the only peak that is known.
pub fn binding(measured: &Measurement) -> Option<&PeakFraction> {
    measured.metrics.roofline.as_ref().or_else(|| measured.metrics.peak_fractions.first())
}

/// A part of a peak for a table's cell, such as `93.1 % DRAM`.
pub fn cell(share: &PeakFraction) -> String {
    format!("{} {}", format::percent(share.fraction), name(&share.quantity))
}

/// The same in a sentence: `93.1 % of DRAM`.
pub fn phrase(share: &PeakFraction) -> String {
    format!("{} of {}", format::percent(share.fraction), name(&share.quantity))
}
