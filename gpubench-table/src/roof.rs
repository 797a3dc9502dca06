//! The names of peaks, which the table, the page, drawings and explanations share.

use gpubench_records::{Cache, Measurement, Quantity, Reason, Record, metrics::PeakFraction};
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

/// Returns true if a usable result is faster than the memory's peak bandwidth, and no reason says that work is missing.
pub(super) fn is_above_memory_peak(record: &Record) -> bool {
    let of_memory = record.usable_measurement().and_then(|it| it.metrics.share(&Quantity::MemoryBandwidth));
    of_memory > Some(1.0) && !record.verdict.reasons.iter().any(Reason::is_missing_work)
}

/// Returns the share of the peak that binds for a table's cell; for a hot result that is faster than the memory, the cache that serves it.
pub fn binding_cell(record: &Record) -> Option<String> {
    cache_of(record).map(str::to_owned).or_else(|| binding(record.measurement.as_ref()?).map(cell))
}

/// Returns the cache that serves a hot result which is bound by the memory and faster than that.
pub(super) fn cache_of(record: &Record) -> Option<&'static str> {
    let is_memory = |share: &PeakFraction| share.quantity == Quantity::MemoryBandwidth;
    let is_bound_by_memory = record.measurement.as_ref().and_then(binding).is_some_and(is_memory);
    let is_served = record.case.cache == Cache::Hot && is_bound_by_memory && is_above_memory_peak(record);
    is_served.then(|| if record.device.starts_with("cuda") { "L2" } else { "cache" })
}

/// A part of a peak for a table's cell, such as `93.1 % DRAM`.
pub fn cell(share: &PeakFraction) -> String {
    format!("{} {}", format::percent(share.fraction), name(&share.quantity))
}
