//! The devices of a run and their peaks: the lines above the results, the names of peaks, and the peak that a result is compared with.

use std::fmt::Write;

use super::rows::{DeviceGroup, grouped};
use super::text::{BOLD, NOTE, Page, paragraph, plain, shortened, styled, width as width_of, wrapped};
use gpubench_records::{
    Cache, DeviceInfo, Measurement, Peak, PeakSource, Property, Quantity, Reason, Record, Run,
    device_info::UUID, metrics::PeakFraction,
};
use gpubench_stats::format;

/// Returns the lines above the results: the notes of the run, then for each device its name, and on one line as many of its properties
/// as `page` has room for. Devices that differ only in their UUID share these lines.
pub fn header(run: &Run, page: Page) -> String {
    let mut text = String::new();
    for note in notes(run) {
        text += &styled(&wrapped(&plain(&note), "", page), NOTE);
    }
    for DeviceGroup { info, label } in DeviceGroup::by_key(run, identity_without_uuid) {
        let info = info[0];
        let (device, name) = (plain(&label), plain(&info.name));
        let room = page.width().saturating_sub(width_of(&device) + 2);
        // Writing to a string cannot fail.
        _ = writeln!(text, "{BOLD}{device}{BOLD:#}: {}", shortened(&name, room));
        if info.fake {
            text += &styled(
                &wrapped(
                    "FAKE: a fake driver for tests. It invents the times, runs no PTX, and knows kernels such as `saxpy` by their names",
                    "  ",
                    page,
                ),
                NOTE,
            );
        }
        text += &properties(info, page);
    }
    if !text.is_empty() && !run.devices.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the printed facts of a device except its UUID: devices with equal ones are printed together.
fn identity_without_uuid(info: &DeviceInfo) -> (&str, bool, Vec<&Property>) {
    let properties = info.properties.iter().filter(|property| property.name != UUID);
    (&info.name, info.fake, properties.collect())
}

/// The properties of a device in one line, as many as `page` has room for; `--explain` has all. The UUID comes last: it
/// tells a reader the least.
fn properties(info: &DeviceInfo, page: Page) -> String {
    let (ids, others): (Vec<_>, Vec<_>) = info.properties.iter().partition(|property| property.name == UUID);
    let all: Vec<String> = others.into_iter().chain(ids).map(shown).collect();
    let line = |number: usize| {
        let more = if number < all.len() { " · …" } else { "" };
        format!("  {}{more}\n", all[..number].join(PROPERTY_SEPARATOR))
    };
    let fits = |number: &usize| width_of(line(*number).trim_end()) <= page.width();
    (1..=all.len()).rev().find(fits).map(line).unwrap_or_default()
}

/// The text between two properties of a device.
const PROPERTY_SEPARATOR: &str = " · ";

/// The properties of a device, all of them.
pub(super) fn all_properties(info: &DeviceInfo) -> String {
    format::joined(info.properties.iter().map(shown), PROPERTY_SEPARATOR)
}

/// Returns a line for each peak that results are compared with, and for those of memory and L2, with its sources. A GPU has a peak
/// for every data type; the unused ones would hide the others.
pub fn peaks(run: &Run, page: Page) -> String {
    let of_device = |info: &DeviceInfo| -> Vec<String> {
        let mut peaks = grouped(info.peaks.iter().map(|peak| (&peak.quantity, peak)));
        peaks.retain(|(quantity, _)| is_used(run, info, quantity));
        peaks.iter().map(|(quantity, peaks)| shown_peaks(quantity, peaks)).collect()
    };
    let mut text = String::new();
    // Devices with the same peaks have one line for each.
    let all = DeviceGroup::by_key(run, of_device);
    for DeviceGroup { info, label } in &all {
        let on = if all.len() > 1 { format!("{label}: ") } else { String::new() };
        for line in of_device(info[0]) {
            text += &paragraph(&format!("{on}peak {line}"), page);
        }
    }
    text
}

/// Returns a line with the name of a device, and one for each of its peaks with its source, compared with results or not.
pub fn peaks_of(info: &DeviceInfo) -> String {
    let line = |peak: &Peak| format!("  peak {}\n", shown_peak(peak));
    let peaks: String = info.peaks.iter().map(line).collect();
    format!("{BOLD}{}{BOLD:#}: {}\n{}", plain(&info.device), plain(&info.name), peaks)
}

/// The notes of a run; the last one says how much of it an earlier run measured.
pub fn notes(run: &Run) -> impl Iterator<Item = String> {
    run.notes.iter().cloned().chain(run.resumed.iter().map(ToString::to_string))
}

/// Returns true if the peak is shown: that of the memory and of the L2 always; another if a row is compared with it.
fn is_used(run: &Run, info: &DeviceInfo, quantity: &Quantity) -> bool {
    let mut of_device = run.measured().filter(|(record, _)| record.device == info.device);
    matches!(quantity, Quantity::MemoryBandwidth | Quantity::CacheBandwidth)
        || of_device.any(|(_, measured)| measured.metrics.share(quantity).is_some())
}

/// Returns a property with its name, without control characters.
pub fn shown(property: &Property) -> String {
    plain(&property.to_string())
}

/// Returns the peaks of a quantity: the first, which results are compared with, then the others after its source. Empty if there are
/// none.
fn shown_peaks(quantity: &Quantity, peaks: &[&Peak]) -> String {
    let Some((counts, others)) = peaks.split_first() else { return String::new() };
    let others: String = others
        .iter()
        .map(|peak| format!("; {}: {}, {}", peak.source, shown_rate(peak), peak.method))
        .collect();
    let (name, limit) = (peak_name(quantity), shown_rate(counts));
    let unused = if counts.is_comparable() {
        ""
    } else {
        "; too uncertain for a % of peak: stop other programs, and use --measure-peaks"
    };
    format!("{name} {limit} ({}: {}{unused}{others})", counts.source, counts.method)
}

/// A peak with its source.
pub fn shown_peak(peak: &Peak) -> String {
    shown_peaks(&peak.quantity, &[peak])
}

/// Returns the rate of a peak, such as `3350 GB/s`. An uncertain one begins with `about`, or with `at least` if it was measured.
fn shown_rate(peak: &Peak) -> String {
    let about = match (peak.uncertain, peak.source) {
        (false, _) => "",
        (true, PeakSource::Measured) => "at least ",
        (true, _) => "about ",
    };
    let limit = match &peak.quantity {
        Quantity::Compute(data_type) if data_type.starts_with("int") => {
            format::throughput(peak.value.into()).replace("FLOP", "OP")
        }
        Quantity::Compute(_) => format::throughput(peak.value.into()),
        _ => format::bandwidth(peak.value.into()),
    };
    format!("{about}{limit}")
}

/// Returns the short name of the peak of `quantity`, such as `DRAM` or `FP32`, without control characters.
pub fn roof_name(quantity: &Quantity) -> String {
    plain(&quantity.roof())
}

/// The name of a peak, such as `DRAM bandwidth`. The two ways over a link have a peak each.
pub(super) fn peak_name(quantity: &Quantity) -> String {
    let roof = roof_name(quantity);
    match quantity {
        Quantity::HostToDevice => format!("{roof} bandwidth to the device"),
        Quantity::DeviceToHost => format!("{roof} bandwidth to the host"),
        Quantity::Compute(_) => roof,
        _ => format!("{roof} bandwidth"),
    }
}

/// Returns the fraction of the peak that limits a launch: that of the roofline, or else of the first known peak. `None` if no peak
/// is known.
pub fn binding_peak(measured: &Measurement) -> Option<&PeakFraction> {
    measured.metrics.roofline.as_ref().or_else(|| measured.metrics.peak_fractions.first())
}

/// Returns the fraction of the limiting peak if it is above 1. `None` if the record has no usable measurement, or if
/// its verdict has a reason for missing work.
pub(super) fn above_peak(record: &Record) -> Option<&PeakFraction> {
    let share = binding_peak(record.usable_measurement()?)?;
    let is_work_missing = record.verdict.reasons.iter().any(Reason::is_missing_work);
    (share.fraction > 1.0 && !is_work_missing).then_some(share)
}

/// Returns the text of the cell `% of peak`: the fraction of the limiting peak, or the name of the cache for a hot result that is faster than
/// memory. `None` if no peak is known.
pub fn peak_cell(record: &Record) -> Option<String> {
    serving_cache(record)
        .map(str::to_owned)
        .or_else(|| binding_peak(record.measurement.as_ref()?).map(peak_fraction_text))
}

/// Returns the name of the cache that serves a hot result: one limited by memory and faster than memory can be, with data that fit in
/// the cache. `None` for all other results.
pub(super) fn serving_cache(record: &Record) -> Option<&'static str> {
    let is_served = record.case.cache == Cache::Hot
        && above_peak(record)?.quantity == Quantity::MemoryBandwidth
        && !record.measurement.as_ref()?.metrics.exceeds_cache;
    is_served.then(|| if record.device.starts_with("cuda") { "L2" } else { "cache" })
}

/// Formats a fraction of a peak, such as `93.1 % DRAM`.
pub fn peak_fraction_text(share: &PeakFraction) -> String {
    format!("{} {}", format::percent(share.fraction), roof_name(&share.quantity))
}

#[cfg(test)]
mod header_tests {
    use super::*;
    use gpubench_stats::units::Rate;

    #[test]
    fn a_peak_tells_its_source_and_the_others_with_what_is_uncertain() {
        let quantity = Quantity::Compute("bf16 tensor".to_owned());
        let peak = |value, source, method: &str| Peak::new(quantity.clone(), Rate(value), source, method);
        let stated = peak(165.2e12, PeakSource::Datasheet, "Ada white paper, RTX 4090");
        let table = peak(330.3e12, PeakSource::Attribute, "multiprocessors × 512 FMA × 2 × clock");
        let table = table.uncertain();
        assert_eq!(
            shown_peaks(&quantity, &[&stated, &table]),
            "BF16 tensor 165 TFLOP/s (from the datasheet: Ada white paper, RTX 4090; from attributes: about 330 TFLOP/s, \
             multiprocessors × 512 FMA × 2 × clock)"
        );
        assert_eq!(
            shown_peaks(&quantity, &[&table]),
            "BF16 tensor about 330 TFLOP/s (from attributes: multiprocessors × 512 FMA × 2 × clock)"
        );
        let reached = peak(160e12, PeakSource::Measured, "mma.sync at 2520 MHz");
        assert_eq!(
            shown_peaks(&quantity, &[&stated, &reached]),
            "BF16 tensor 165 TFLOP/s (from the datasheet: Ada white paper, RTX 4090; measured: 160 TFLOP/s, mma.sync at \
             2520 MHz)"
        );
        let mut integer = reached.clone();
        integer.quantity = Quantity::Compute("int8 tensor".to_owned());
        assert_eq!(shown_peak(&integer), "INT8 tensor 160 TOP/s (measured: mma.sync at 2520 MHz)");
        let low = reached.uncertain();
        assert_eq!(
            shown_peaks(&quantity, &[&low]),
            "BF16 tensor at least 160 TFLOP/s (measured: mma.sync at 2520 MHz; too uncertain for a % of peak: stop other programs, and use --measure-peaks)"
        );
    }
}
