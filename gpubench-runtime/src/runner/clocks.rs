//! Unlocks the clocks of devices. A run resets what it locked; this is for locks that another program left.

use crate::device::{Available, DeviceError};
use crate::devices::kinds::{self, KINDS};

/// A device whose clocks can be locked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClockedDevice {
    /// The device, such as `cuda:0`.
    pub device: String,
    /// Its maker's name for it.
    pub name: String,
    uuid: Option<String>,
}

/// Returns the devices of this machine whose clocks can be locked, or for each kind the reason that there is none.
///
/// # Errors
/// Returns the first reason if there is no such device.
pub fn clocked_devices() -> Result<Vec<ClockedDevice>, DeviceError> {
    let none = || DeviceError::new("no kind of device here has clocks that can be locked");
    let mut reason = None;
    let mut devices = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.clocks.is_some()) {
        match (kind.list)() {
            Ok(found) => devices.extend(found.into_iter().map(ClockedDevice::of)),
            Err(error) => drop(reason.get_or_insert(error)),
        }
    }
    if devices.is_empty() { Err(reason.unwrap_or_else(none)) } else { Ok(devices) }
}

impl ClockedDevice {
    fn of(found: Available) -> Self {
        Self { device: found.device, name: found.name, uuid: found.uuid }
    }

    /// Gives the clocks back to the driver, whoever locked them.
    ///
    /// # Errors
    /// Returns the reason that they cannot be reset.
    pub fn reset(&self) -> Result<(), DeviceError> {
        let cannot = || DeviceError::new("clocks of such a device cannot be locked");
        let silent = || DeviceError::new("the driver lists it and answers nothing");
        let control = kinds::clocks(&self.device).ok_or_else(cannot)?;
        (control.reset)(self.uuid.as_deref().ok_or_else(silent)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device: &str, uuid: Option<&str>) -> ClockedDevice {
        ClockedDevice::of(Available { uuid: uuid.map(str::to_owned), ..Available::new(device, "cuda") })
    }

    #[test]
    fn a_device_whose_clocks_are_out_of_reach_says_why() {
        for (found, why) in [
            (device("host", Some("1")), "clocks of such a device cannot be locked"),
            (device("cuda:0", None), "the driver lists it and answers nothing"),
        ] {
            assert_eq!(found.reset().expect_err("it cannot").to_string(), why);
        }
        assert_eq!(device("cuda:3", None).device, "cuda:3");
    }

    /// Whether this machine has a GPU or not.
    #[test]
    fn there_are_devices_with_clocks_or_a_reason() {
        assert!(
            clocked_devices()
                .map_or(true, |found| found.iter().all(|one| kinds::clocks(&one.device).is_some()))
        );
        assert!(!clocked_devices().is_ok_and(|found| found.is_empty()));
    }
}
