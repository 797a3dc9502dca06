//! Inputs that move to another place of the device's memory. In: the work that they are of; out: the same work, on inputs that were made
//! anew.

use crate::device::{Device, Work};
use crate::devices::cuda::Cuda;
use gpubench_records::failure::Failure;

/// Makes the inputs anew at another place, and launches on them. Returns false if they stay where they are.
pub(super) fn move_inputs(device: &mut Cuda, work: &mut dyn Work, place: u64) -> Result<bool, Failure> {
    let moved = work.move_inputs(&mut || device.displace(place));
    // The driver may have refused memory for them, which is no failure of what follows.
    _ = gpubench_driver::take_failure();
    device.settle()?;
    if moved {
        // Libraries and the driver prepare some things when a launch first meets its inputs.
        work.reset()?;
        work.launch()?;
        device.settle()?;
    }
    Ok(moved)
}
