//! Inputs that move to another place of the device's memory. In: the work that they are of; out: the same work, on inputs that were made
//! anew.

use super::{Cuda, driver::DeviceMemory};
use crate::device::{Device, Work};
use gpubench_records::Failure;

/// Sizes of the two allocations made before the inputs of a round: so many times a step of bytes. The driver takes large buffers
/// from whole pages of 2 MiB, and small ones from parts of a page, so each kind has its own. On an H200 a copy of 1 MiB took 0.6
/// to 1.1 % less if its inputs were made first; the effect depends on these sizes.
const SPACERS: [(u64, u64); 2] = [(32, 2 << 20), (2048, 512)];

/// Memory that nobody uses, so that inputs which are made next lie at a place.
pub(super) struct Spacers {
    place: u64,
    _memory: Vec<DeviceMemory>,
}

impl Spacers {
    /// Allocates those of a place, a random number.
    pub(super) fn new(place: u64) -> Self {
        let (mut rest, mut memory) = (place, Vec::new());
        for (sizes, step) in SPACERS {
            // Without room for a spacer, the inputs keep their addresses.
            memory.extend(DeviceMemory::new("a spacer", ((1 + rest % sizes) * step) as usize));
            rest /= sizes;
        }
        _ = gpubench_driver::take_failure();
        Self { place, _memory: memory }
    }

    /// Returns true if these are the place's.
    pub(super) fn are_for(&self, place: u64) -> bool {
        self.place == place
    }
}

/// Makes the inputs anew at another place, and launches on them. Returns false if they stay where they are.
pub(super) fn relocate_inputs(device: &mut Cuda, work: &mut dyn Work, place: u64) -> Result<bool, Failure> {
    let moved = work.relocate_inputs(&mut || device.set_allocation_seed(place));
    // The driver may have refused memory for them, which is no failure of what follows.
    _ = gpubench_driver::take_failure();
    device.synchronize()?;
    if !moved {
        return Ok(false);
    }
    let works = works(device, work)?;
    if !works {
        // On the first inputs it does.
        work.restore_inputs();
    }
    Ok(works)
}

/// A divisor and a factor of the size of the L2. If a launch can reach memory of a size in between, its inputs stay where they are: the L2 keeps
/// lines of the inputs before for many launches. On an H100 with an L2 of 50 MiB, a hot sum of 40 MiB takes 9.0 to 9.9 µs, and 13.5 to
/// 12.0 µs in the first 32 launches after its input has moved.
const NEAR_L2: [u64; 2] = [2, 4];

/// Returns true if inputs may be made anew: they are not close to the L2's size, and a launch works on new inputs and again on the first ones.
/// It fails on the first ones if `setup` keeps something outside of inputs that belongs to the newest.
pub(super) fn can_move(device: &mut Cuda, work: &mut dyn Work, place: u64) -> Result<bool, Failure> {
    let l2 = device.flusher.l2();
    let near_l2 = l2 / NEAR_L2[0]..=l2 * NEAR_L2[1];
    if device.write_detector.reachable().map_or(true, |memory| near_l2.contains(&memory.bytes().0)) {
        return Ok(false);
    }
    let moved = relocate_inputs(device, work, place)?;
    work.restore_inputs();
    Ok(moved && works(device, work)?)
}

/// Launches once. Libraries and the driver prepare some things when a launch first meets its inputs.
fn works(device: &mut Cuda, work: &mut dyn Work) -> Result<bool, Failure> {
    let launched = work.reset().and_then(|()| work.launch());
    device.synchronize()?;
    _ = gpubench_driver::take_failure();
    Ok(launched.is_ok())
}
