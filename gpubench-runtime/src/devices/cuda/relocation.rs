//! Relocation of inputs: makes them again at other addresses of the device's memory.

use super::{Cuda, driver::DeviceMemory};
use crate::device::{Device, Work};
use gpubench_records::Failure;

/// The number of sizes of each of the two allocations before the inputs, and the granularity in bytes. The driver takes large buffers from
/// whole pages of 2 MiB, and small ones from parts of a page, so each kind has its own. On an H200 a copy of 1 MiB took 0.6 to 1.1 % less if
/// its inputs were made first; the effect depends on these sizes.
const SPACERS: [(u64, u64); 2] = [(32, 2 << 20), (2048, 512)];

/// Unused allocations whose sizes determine the addresses of the next inputs.
pub(super) struct Spacers {
    allocation_seed: u64,
    _memory: Vec<DeviceMemory>,
}

impl Spacers {
    /// Allocates memory whose sizes depend on `allocation_seed`.
    pub(super) fn new(allocation_seed: u64) -> Self {
        let (mut rest, mut memory) = (allocation_seed, Vec::new());
        for (sizes, step) in SPACERS {
            // Without memory for a spacer, the inputs keep their addresses.
            memory.extend(DeviceMemory::new("a spacer", ((1 + rest % sizes) * step) as usize));
            rest /= sizes;
        }
        _ = gpubench_driver::take_failure();
        Self { allocation_seed, _memory: memory }
    }

    /// Returns true if these are the spacers of `allocation_seed`.
    pub(super) fn are_for(&self, allocation_seed: u64) -> bool {
        self.allocation_seed == allocation_seed
    }
}

/// Makes the inputs again at addresses that depend on `allocation_seed`, and launches on them. Returns false if they keep their addresses.
pub(super) fn relocate_inputs(
    device: &mut Cuda,
    work: &mut dyn Work,
    allocation_seed: u64,
) -> Result<bool, Failure> {
    let moved = work.relocate_inputs(&mut || device.set_allocation_seed(allocation_seed));
    // Discard the error of an allocation that the driver refused.
    _ = gpubench_driver::take_failure();
    device.synchronize()?;
    if !moved {
        return Ok(false);
    }
    let succeeds = launch_succeeds(device, work)?;
    if !succeeds {
        // It succeeds on the first inputs.
        work.restore_inputs();
    }
    Ok(succeeds)
}

/// A divisor and a factor of the size of the L2. If the size of the memory that a launch can reach is in between, its inputs are not
/// relocated: the L2 keeps lines of the former inputs for many launches. On an H100 with an L2 of 50 MiB, a hot sum of 40 MiB takes 9.0 to
/// 9.9 µs, and 13.5 to 12.0 µs in the first 32 launches after its input was relocated.
const SIZES_AROUND_L2: [u64; 2] = [2, 4];

/// Returns true if inputs can be relocated: their size differs enough from the L2's size, and a launch succeeds on relocated inputs and again
/// on the first ones. On the first ones it fails if `setup` keeps state of the newest inputs outside of them.
pub(super) fn can_move(
    device: &mut Cuda,
    work: &mut dyn Work,
    allocation_seed: u64,
) -> Result<bool, Failure> {
    let l2 = device.flusher.l2();
    let around_l2 = l2 / SIZES_AROUND_L2[0]..=l2 * SIZES_AROUND_L2[1];
    if device.write_detector.reachable().map_or(true, |memory| around_l2.contains(&memory.bytes().0)) {
        return Ok(false);
    }
    let moved = relocate_inputs(device, work, allocation_seed)?;
    work.restore_inputs();
    Ok(moved && launch_succeeds(device, work)?)
}

/// Launches once, and returns true if that succeeds. Libraries and the driver do some work in the first launch on new inputs.
fn launch_succeeds(device: &mut Cuda, work: &mut dyn Work) -> Result<bool, Failure> {
    let launched = work.reset().and_then(|()| work.launch());
    device.synchronize()?;
    _ = gpubench_driver::take_failure();
    Ok(launched.is_ok())
}
