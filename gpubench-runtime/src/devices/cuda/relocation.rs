//! Memory that relocates inputs: they are then made at other addresses of the device's memory.

use super::driver::DeviceMemory;

/// The number of sizes of each of the two allocations before the inputs, and the granularity in bytes. The driver takes large buffers from
/// whole pages of 2 MiB, and small ones from parts of a page, so each kind has its own. On an H200 a copy of 1 MiB took 0.6 to 1.1 % less if
/// its inputs were made first; the effect depends on these sizes.
const SPACER_SIZES: [(u64, u64); 2] = [(32, 2 << 20), (2048, 512)];

/// Unused allocations whose sizes determine the addresses of the next inputs.
pub(super) struct Spacers {
    allocation_seed: u64,
    _memory: Vec<DeviceMemory>,
}

impl Spacers {
    /// Allocates memory whose sizes depend on `allocation_seed`.
    pub(super) fn new(allocation_seed: u64) -> Self {
        let (mut rest, mut memory) = (allocation_seed, Vec::new());
        for (sizes, step) in SPACER_SIZES {
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
