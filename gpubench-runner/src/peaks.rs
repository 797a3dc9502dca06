//! Peaks that a device does not report: those that the user states in `gpubench.toml`,
//! and those that `--measure-peaks` has measured and stored.

use std::collections::BTreeSet;

use crate::settings::{StatedPeak, peaks_of};
use gpubench_records::{DeviceInfo, Quantity};
use gpubench_runtime::{devices::kinds, measured_peaks::CeilingCache};

/// The peaks that devices do not report: stated by the user, or measured and stored earlier.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeakSources {
    /// The peaks that the user states, by device and quantity.
    pub stated: Vec<StatedPeak>,
    /// The store of measured peaks; `None` if stored peaks are not used.
    pub stored: Option<CeilingCache>,
}

impl PeakSources {
    /// Returns a remark for each data type of the stated peaks that is neither known for GPUs nor `used` by a
    /// benchmark. It may belong to another program, or be misspelt.
    pub(crate) fn unknown_data_type_remarks(
        &self,
        used: impl Iterator<Item = &'static str>,
    ) -> BTreeSet<String> {
        let known: Vec<&str> = used.chain(kinds::data_types()).collect();
        let unknown = self.stated.iter().filter_map(|peak| match Quantity::named(&peak.quantity) {
            Quantity::Compute(data_type) if !known.contains(&&*data_type) => {
                Some(format!("peaks: no benchmark of this program has the data type `{data_type}`"))
            }
            _ => None,
        });
        unknown.collect()
    }

    /// Adds the stated and the stored peaks of a device to its properties. Returns a note for the reader of
    /// the results if the stored peaks cannot be used, `None` otherwise.
    pub(crate) fn add_to(&self, info: &mut DeviceInfo) -> Option<String> {
        let mut peaks = peaks_of(&self.stated, info);
        let measured = self.stored.as_ref().map_or(Ok(Vec::new()), |stored| stored.read(info));
        let note = match measured {
            Ok(measured) => {
                peaks.extend(measured.into_iter().map(|measured| measured.peak));
                None
            }
            Err(unusable) => Some(unusable),
        };
        info.add(peaks);
        note
    }
}
