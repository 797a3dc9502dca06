//! The facts of a case's launches: kernels, written memory and driver calls of the checked launch, and the launches after the samples.
//! Devices and the worker fill them in, and `verdict` judges them.

use gpubench_stats::{Bytes, Nanoseconds, format};

gpubench_stats::stored! {
    /// The facts of a launch, as far as its device sees them.
    #[derive(Default)]
    pub struct LaunchInfo {
        /// The first kernels that it put on streams, in that order.
        pub kernels: Vec<LaunchedKernel>,
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
        /// What it does besides its work on the given stream.
        #[serde(default)]
        pub observations: Vec<Observation>,
    }

    /// A kernel as it was launched.
    #[derive(Default, Eq)]
    pub struct LaunchedKernel {
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
        /// The size of the memory that was compared before and after the launch.
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

impl LaunchedKernel {
    /// Returns the number of blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|size| u64::from(*size)).product()
    }
}

impl Written {
    /// Returns the changes of a launch whose memory could all be compared: `changed` of `examined`, in blocks of the size `block`.
    pub fn new(examined: Bytes, block: Bytes, changed: Bytes) -> Self {
        Self { examined, block_size: block, changed, ..Self::default() }
    }

    /// Returns the changes of a launch whose memory could not be compared, for the reason `why`.
    pub fn unseen(why: impl Into<String>) -> Self {
        Self { unseen_reason: Some(why.into()), ..Self::default() }
    }

    /// Returns true if all memory that the launch can reach was compared, and nothing changed.
    pub fn changed_nothing(&self) -> bool {
        self.changed == Bytes::ZERO && self.unseen_reason.is_none()
    }
}

gpubench_stats::stored! {
    /// Something that a launch does besides its work on the given stream.
    #[derive(Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum Observation {
        /// It puts no work on its stream.
        #[error("no work on its stream")]
        NoWork,
        /// It waits for the device, or asks again and again if it is done.
        #[error("waits for the GPU: {0}")]
        Waits(DriverCalls),
        /// It queries once whether work is done.
        #[error("asks if work is done: {0}")]
        Asks(DriverCalls),
        /// It allocates or frees memory, not in the order of a stream.
        #[error("allocates: {0}")]
        Allocates(DriverCalls),
        /// It allocates or frees memory in the order of a stream.
        #[error("allocates in order of a stream: {}", format::counted(*.count, "call"))]
        AllocatesInOrder {
            /// The number of allocations and releases.
            count: usize,
        },
        /// It puts work on a default stream, beside the one that it is given.
        #[error("work elsewhere: {} of the launch's work went to the default stream", format::counted(*.operations, "piece"))]
        DefaultStream {
            /// The number of pieces of work.
            operations: usize,
        },
        /// It puts work on another stream, and that stream and the given one do not wait for each other.
        #[error("work elsewhere: work on another stream can begin or end outside the sample")]
        Unordered,
        /// It puts work on other streams, which the given one waits for.
        #[error(
            "other streams: {} of work on {}, which the given one waits for",
            format::counted(*.operations, "piece"),
            format::counted(*.streams, "other stream")
        )]
        OtherStreams {
            /// The number of streams.
            streams: usize,
            /// The number of pieces of work on them.
            operations: usize,
        },
        /// It has the device call functions of the host.
        #[error("host functions: the device calls {} on the host", format::counted(*.count, "function"))]
        HostFunctions {
            /// The number of calls.
            count: usize,
        },
        /// It allocates memory and does not free it, in each of several launches.
        #[error("each launch keeps {bytes}")]
        KeepsMemory {
            /// The memory that one launch keeps.
            bytes: Bytes,
        },
        /// It loads or unloads code.
        #[error("loads code: {0}")]
        LoadsCode(DriverCalls),
        /// It makes another context current for a while.
        #[error("switches the context: {0}")]
        SwitchesContext(DriverCalls),
        /// It launches graphs of its own.
        #[error("launches graphs: {count}")]
        LaunchesGraphs {
            /// The number of launches.
            count: usize,
        },
        /// A call that was to enqueue work failed, and the launch function returned no error.
        #[error("failed call: {call} returned {error}, and the launch function returned no error")]
        IgnoresError {
            /// The C name of the function.
            call: String,
            /// The driver's code and its text.
            error: String,
        },
    }

    /// Calls of the driver of one kind.
    #[derive(Eq, thiserror::Error)]
    #[error("{first}{}", match count {
        1 => String::new(),
        count => format!(" and {}", format::counted(count - 1, "more call")),
    })]
    pub struct DriverCalls {
        /// The C name of the function that was called first.
        pub first: String,
        /// The number of calls.
        pub count: usize,
    }
}

impl DriverCalls {
    /// Returns `count` calls of one kind. `first` is the C name of the function that was called first.
    pub fn new(first: impl Into<String>, count: usize) -> Self {
        Self { first: first.into(), count }
    }
}

gpubench_stats::stored! {
    /// Launches after the samples: first on the inputs that the samples left, then on fresh inputs.
    #[derive(Default)]
    pub struct Relaunch {
        /// The size of the blocks that a launch left different from the checked launch, although all memory was as before that one.
        pub differs: Bytes,
        /// True if the benchmark's check passed after one launch on fresh inputs. Nothing if there is no check.
        pub checked: Option<bool>,
        /// Writes to the largest output after its contents were replaced.
        pub rewritten: Option<Rewritten>,
        /// The times of launches on fresh and on used inputs.
        pub reuse: Option<Reuse>,
    }

    /// Writes of launches on the inputs that the samples left. Before each launch, the largest output of the checked launch is given
    /// other contents.
    #[derive(Copy)]
    pub struct Rewritten {
        /// The size of the blocks of that output that the checked launch changed.
        pub changed: Bytes,
        /// The most that one of these launches changed: in that output or, if more, in all memory.
        pub again: Bytes,
    }

    /// Times of single launches, each after a flush of the cache.
    #[derive(Copy)]
    pub struct Reuse {
        /// The first launch on fresh inputs, the fastest of those that were timed.
        pub fresh: Nanoseconds,
        /// A launch on inputs that another launch has used, the slowest of those that were timed.
        pub used: Nanoseconds,
    }
}

impl Relaunch {
    /// The fraction of the checked launch's writes that a later launch must write. If it writes less, it left
    /// the output out.
    const MIN_REWRITTEN_FRACTION: f64 = 0.5;

    /// Returns the writes to the largest output if later launches write less than half of it, so that the
    /// output is stale. Returns `None` if they write at least half, or if this was not tested.
    pub fn stale(&self) -> Option<Rewritten> {
        self.rewritten.filter(|it| !Self::is_rewritten(it.changed, it.again))
    }

    /// Returns true if a later launch still writes at least half of the output. `changed` is the size that
    /// the checked launch changed, and `again` the size that the later launch changed.
    pub fn is_rewritten(changed: Bytes, again: Bytes) -> bool {
        again.as_f64() >= Self::MIN_REWRITTEN_FRACTION * changed.as_f64()
    }
}

impl Reuse {
    /// The factor and the time by which a launch on used inputs must be faster than one on fresh inputs, to
    /// count as faster. It must exceed both. Single launches on the same inputs differ by less.
    const MIN_FASTER: (f64, Nanoseconds) = (1.5, Nanoseconds(2_000.0));

    /// Returns true if launches on used inputs are so much faster than on fresh ones that they must do less
    /// work.
    pub fn is_faster(&self) -> bool {
        let (factor, least) = Self::MIN_FASTER;
        self.fresh > factor * self.used && self.fresh - self.used > least
    }
}

#[cfg(test)]
mod relaunch_tests {
    use super::*;

    #[test]
    fn outputs_that_are_not_written_again_are_stale() {
        let stale = |again| {
            let rewritten = Some(Rewritten { changed: Bytes(1000), again: Bytes(again) });
            Relaunch { rewritten, ..Relaunch::default() }.stale().is_some()
        };
        assert!(stale(0) && stale(499) && !stale(500) && !stale(2000));
        assert_eq!(Relaunch::default().stale(), None);
    }

    #[test]
    fn used_inputs_are_faster_by_a_factor_and_a_time() {
        let is_faster =
            |fresh, used| Reuse { fresh: Nanoseconds(fresh), used: Nanoseconds(used) }.is_faster();
        assert!(!is_faster(1.4e4, 1e4) && is_faster(1e4, 2e3) && !is_faster(2e3, 1e4));
        // Three times as long, and within what two launches differ by.
        assert!(!is_faster(1500.0, 500.0));
    }
}
