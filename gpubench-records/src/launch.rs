//! The facts of a case's checked launch: its kernels, their occupancy, and the memory that it wrote. Filled by devices that
//! can see them, kept in records, read by `verdict` and the reports.

use crate::Observation;
use gpubench_stats::{Bytes, Nanoseconds};

gpubench_stats::stored! {
    /// The facts of a launch, as far as its device sees them.
    #[derive(Default)]
    pub struct LaunchInfo {
        /// The first kernels that it put on streams, in that order.
        pub kernels: Vec<Kernel>,
        /// The number of all kernels.
        pub kernel_count: usize,
        /// The multiprocessors that these kernels share.
        pub multiprocessors: Option<Multiprocessors>,
        /// The memory that it wrote.
        pub written: Option<Written>,
        /// The most device memory that it allocated at once, beyond its inputs, if that is known.
        pub memory: Option<Bytes>,
        /// The time of an empty launch, if the device has just measured one: launches that take no longer do no work.
        pub empty_launch_time: Option<Nanoseconds>,
        /// The time of the first launch on the host's clock, from the call until the device was done. It contains the load and the
        /// compilation of code that no launch of the process has used before.
        pub first_launch_time: Option<Nanoseconds>,
        /// What it does beside its work on the given stream.
        #[serde(default)]
        pub observations: Vec<Observation>,
    }

    /// A kernel as it was launched.
    #[derive(Default, Eq)]
    pub struct Kernel {
        /// Its name, if it was looked up by name.
        pub name: Option<String>,
        /// Blocks in x, y and z.
        pub grid: [u32; 3],
        /// Threads of a block in x, y and z.
        pub block: [u32; 3],
        /// The shared memory of a block that the kernel declares.
        pub static_shared_memory: Bytes,
        /// The shared memory of a block that the launch adds.
        pub dynamic_shared_memory: Bytes,
        /// Registers of a thread.
        pub registers_per_thread: u32,
        /// Local memory of a thread: spilled registers, and arrays with a computed index.
        pub local_memory_per_thread: Bytes,
        /// The number of its blocks that a multiprocessor holds at once (the driver's occupancy).
        pub max_active_blocks_per_sm: u32,
    }

    /// The multiprocessors of a device.
    #[derive(Copy, Eq)]
    pub struct Multiprocessors {
        /// The number of them.
        pub count: u32,
        /// The number of threads that one holds.
        pub threads_per_sm: u32,
        /// The number of registers that one has.
        pub registers_per_sm: u32,
        /// The shared memory that one has.
        pub shared_memory_per_sm: Bytes,
    }

    /// The changes of the memory that a launch can reach.
    #[derive(Default, Eq)]
    pub struct Written {
        /// The amount of memory that was looked at.
        pub examined: Bytes,
        /// The size of the blocks that have a fingerprint each.
        pub block_size: Bytes,
        /// The size of all blocks that changed, which is at least the changed bytes. Writing the same value again does not show.
        pub changed: Bytes,
        /// The reason that some writes may be missing, if there is one.
        pub unseen_reason: Option<String>,
        /// If less changed than is claimed: true if a launch on memory with other contents does write; nothing if that was not
        /// tried.
        pub writes_on_other_contents: Option<bool>,
        /// The size of all blocks that such launches changed, up to what is claimed. Nothing in old runs.
        pub changed_on_other_contents: Option<Bytes>,
    }
}

impl Kernel {
    /// Returns the number of its blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    /// Returns the number of threads of each.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|size| u64::from(*size)).product()
    }
}

impl Written {
    /// Returns the changes of a launch whose memory was all looked at: `changed` out of `looked_at`, in blocks of the size
    /// `block`.
    pub fn new(looked_at: Bytes, block: Bytes, changed: Bytes) -> Self {
        Self { examined: looked_at, block_size: block, changed, ..Self::default() }
    }

    /// Returns the changes of a launch whose memory could not be looked at, with the reason.
    pub fn unseen(why: impl Into<String>) -> Self {
        Self { unseen_reason: Some(why.into()), ..Self::default() }
    }

    /// Returns true where all that it can have written was looked at, and nothing changed.
    pub fn nothing(&self) -> bool {
        self.changed == Bytes::ZERO && self.unseen_reason.is_none()
    }
}
