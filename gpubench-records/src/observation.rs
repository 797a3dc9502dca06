//! What a launch does beside its work on the stream that it is given. In: the driver's calls, as a device saw them; out: named
//! observations. Kept in records, judged by `verdict`, shown by `--explain`.

use gpubench_stats::{Bytes, format};

gpubench_stats::stored! {
    /// Something that a launch does beside its work on the given stream.
    #[derive(Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum Observation {
        /// It runs nothing on its stream.
        #[error("no work on its stream")]
        NoWork,
        /// It waits for the device, or asks again and again if it is done.
        #[error("waits for the GPU: {0}")]
        Waits(DriverCalls),
        /// It asks once if work is done.
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
        #[error("work elsewhere: {} of the launch's work on the default stream", format::counted(*.operations, "piece"))]
        DefaultStream {
            /// The number of pieces of work.
            operations: usize,
        },
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
    /// Returns `count` calls of this function.
    pub fn of(first: impl Into<String>, count: usize) -> Self {
        Self { first: first.into(), count }
    }
}
