//! What was seen of the one launch of a case that is checked: its kernels and how they lie on the device, and what it wrote.
//! Filled by devices that can tell, kept in records, read by `verdict` and the reports.

use serde::{Deserialize, Serialize};

use gpubench_stats::units::Bytes;

/// What a device saw of a launch. Whatever it does not tell is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The first kernels that it put on streams, in that order.
    pub kernels: Vec<Kernel>,
    /// How many there were in all.
    pub kernel_count: usize,
    /// What these kernels share.
    pub multiprocessors: Option<Multiprocessors>,
    /// What it wrote.
    pub written: Option<Written>,
}

/// A kernel as it was launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name, where it was looked up by one.
    pub name: Option<String>,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The shared memory of a block that the kernel declares.
    pub static_shared: Bytes,
    /// The shared memory of a block that the launch adds.
    pub dynamic_shared: Bytes,
    /// Registers of a thread.
    pub registers: u32,
    /// Local memory of a thread: what its registers do not hold, and arrays with an index that is computed.
    pub local: Bytes,
    /// How many of its blocks a multiprocessor holds at once (the driver's occupancy).
    pub resident_blocks: u32,
}

/// The multiprocessors of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Multiprocessors {
    /// How many there are.
    pub count: u32,
    /// How many threads one holds.
    pub threads: u32,
    /// How many registers one has.
    pub registers: u32,
    /// The shared memory that one has.
    pub shared: Bytes,
}

/// What the memory that a launch can reach held before it and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// How much memory was looked at.
    pub looked_at: Bytes,
    /// In blocks of this size, of each of which there was a fingerprint.
    pub block: Bytes,
    /// How much is in blocks that changed: at least what changed. Bytes that were written over with the same do not show.
    pub changed: Bytes,
    /// Why that may not be all that it wrote, where it is so.
    pub unseen: Option<String>,
    /// Where nothing changed: whether launches write anything when that memory holds something else, as far as this was found
    /// out.
    pub when_altered: Option<bool>,
}

impl Kernel {
    /// How many blocks it has.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    /// How many threads each of them has.
    #[must_use]
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|size| u64::from(*size)).product()
    }
}

impl Written {
    /// Whether all that it can have written was looked at, and nothing of it changed.
    #[must_use]
    pub fn nothing(&self) -> bool {
        self.changed == Bytes::ZERO && self.unseen.is_none()
    }
}
