//! Relocates the inputs of a case: unused allocations before them determine their addresses in device memory.

use super::driver::DeviceMemory;

/// The number of possible sizes, and the granularity in bytes, of each of the two spacers. The driver
/// allocates large buffers in whole pages of 2 MiB, and small ones in parts of a page, so each kind has a
/// spacer of its own. On an H200 a copy of 1 MiB took 0.6 to 1.1 % less if its inputs were allocated first;
/// the effect depends on these sizes.
const SPACER_SIZES: [(u64, u64); 2] = [(32, 2 << 20), (2048, 512)];

/// Unused allocations whose sizes determine the addresses of the inputs that are allocated next.
pub(super) struct Spacers {
    allocation_seed: u64,
    _memory: Vec<DeviceMemory>,
}

impl Spacers {
    /// Allocates spacers whose sizes depend on `allocation_seed`. Ignores failed allocations.
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

    /// Returns true if these spacers were allocated for `allocation_seed`.
    pub(super) fn are_for(&self, allocation_seed: u64) -> bool {
        self.allocation_seed == allocation_seed
    }
}
