//! The section `peaks` of a file of settings. In: a table for each device. Out: its peaks, each with its line, or the mistake.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{FileMistake, PlacedMistake, at, line};
use super::written_peak::read_peak;
use gpubench_records::facts::{Peak, PeakSource};
use gpubench_stats::units::Rate;

/// A peak of a device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DevicePeak {
    /// The device's name, its UUID, or its word on the command line.
    pub(super) device: String,
    /// The peak.
    pub(super) peak: Peak,
}

/// Reads the section `devices` of the file called `file`, which has this `text`.
pub(super) fn read(
    devices: &Spanned<DeValue<'_>>,
    text: &str,
    file: &str,
) -> Result<Vec<DevicePeak>, PlacedMistake> {
    let mut found = Vec::new();
    for (device, peaks) in table(devices, || FileMistake::NoDevices)? {
        let device_name = device.get_ref().to_string();
        for (quantity, value) in table(peaks, || FileMistake::NoDevice(device_name.clone()))? {
            let peak = peak(text, file, quantity.get_ref(), value)?;
            found.push((quantity.span().start, DevicePeak { device: device_name.clone(), peak }));
        }
    }
    // A table does not keep the order in which its keys were written.
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, given)| given).collect())
}

/// Returns the table that `value` is, or the mistake that it is `otherwise`.
pub(super) fn table<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    otherwise: impl FnOnce() -> FileMistake,
) -> Result<&'a DeTable<'i>, PlacedMistake> {
    value.get_ref().as_table().ok_or_else(|| at(value, otherwise()))
}

fn peak(text: &str, file: &str, quantity: &str, value: &Spanned<DeValue<'_>>) -> Result<Peak, PlacedMistake> {
    let unquoted = || at(value, FileMistake::Unquoted(quantity.to_owned()));
    let written = value.get_ref().as_str().ok_or_else(unquoted)?;
    let unreadable = |error| {
        let (quantity, written) = (quantity.to_owned(), written.to_owned());
        at(value, FileMistake::Peak { quantity, value: written, error })
    };
    let (read, amount) = read_peak(quantity, written).map_err(unreadable)?;
    let method = format!("{file}:{}", line(text, value.span().start));
    Ok(Peak::new(read, Rate(amount), PeakSource::User, method))
}
