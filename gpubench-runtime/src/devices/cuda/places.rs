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
    if !moved {
        return Ok(false);
    }
    let works = works(device, work)?;
    if !works {
        // On the first inputs it does.
        work.take_back();
    }
    Ok(works)
}

/// Makes inputs anew and takes the first ones back. Returns true if launches work on both: something may be kept outside of inputs that
/// is of the newest ones.
pub(super) fn can_move(device: &mut Cuda, work: &mut dyn Work, place: u64) -> Result<bool, Failure> {
    let moved = move_inputs(device, work, place)?;
    work.take_back();
    Ok(moved && works(device, work)?)
}

/// Launches once. Libraries and the driver prepare some things when a launch first meets its inputs.
fn works(device: &mut Cuda, work: &mut dyn Work) -> Result<bool, Failure> {
    let launched = work.reset().and_then(|()| work.launch());
    device.settle()?;
    _ = gpubench_driver::take_failure();
    Ok(launched.is_ok())
}
