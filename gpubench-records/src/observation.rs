//! What a launch does beside its work on the stream that it is given. In: the driver's calls, as a device saw them; out: named
//! observations. Kept in records, judged by `verdict`, shown by `--explain`.

use std::fmt::{self, Display};

use gpubench_stats::format;
use gpubench_stats::units::Bytes;

gpubench_stats::stored! {
    /// Something that a launch does beside its work on the given stream.
    #[derive(Eq)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Observation {
        /// It runs nothing on its stream.
        NoWork,
        /// It waits for the device, or asks again and again if it is done.
        Waits(DriverCalls),
        /// It asks once if work is done.
        Asks(DriverCalls),
        /// It allocates or frees memory, not in the order of a stream.
        Allocates(DriverCalls),
        /// It allocates or frees memory in the order of a stream.
        AllocatesInOrder {
            /// The number of allocations and releases.
            count: usize,
        },
        /// It puts work on a default stream, beside the one that it is given.
        DefaultStream {
            /// The number of pieces of work.
            operations: usize,
        },
        /// It puts work on other streams, which the given one waits for.
        OtherStreams {
            /// The number of streams.
            streams: usize,
            /// The number of pieces of work on them.
            operations: usize,
        },
        /// It has the device call functions of the host.
        HostFunctions {
            /// The number of calls.
            count: usize,
        },
        /// It allocates memory and does not free it, in each of several launches.
        KeepsMemory {
            /// The memory that one launch keeps.
            bytes: Bytes,
        },
        /// It loads or unloads code.
        LoadsCode(DriverCalls),
        /// It makes another context current for a while.
        SwitchesContext(DriverCalls),
        /// It launches graphs of its own.
        LaunchesGraphs {
            /// The number of launches.
            count: usize,
        },
        /// A call that was to enqueue work failed, and the launch function returned no error.
        IgnoresError {
            /// The C name of the function.
            call: String,
            /// The driver's code and its text.
            error: String,
        },
    }

    /// Calls of the driver of one kind.
    #[derive(Eq)]
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

impl Display for DriverCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => f.write_str(&self.first),
            count => write!(f, "{} and {}", self.first, format::counted(count - 1, "call")),
        }
    }
}

impl Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWork => f.write_str("no work on its stream"),
            Self::Waits(calls) => write!(f, "waits for the GPU: {calls}"),
            Self::Asks(calls) => write!(f, "asks if work is done: {calls}"),
            Self::Allocates(calls) => write!(f, "allocates: {calls}"),
            Self::AllocatesInOrder { count } => {
                write!(f, "allocates in order of a stream: {}", format::counted(*count, "call"))
            }
            Self::DefaultStream { operations: pieces } => {
                let pieces = format::counted(*pieces, "piece");
                write!(f, "work elsewhere: {pieces} of the launch's work on the default stream")
            }
            Self::OtherStreams { streams, operations } => {
                let (pieces, streams) =
                    (format::counted(*operations, "piece"), format::counted(*streams, "other stream"));
                write!(f, "other streams: {pieces} of work on {streams}, which the given one waits for")
            }
            Self::HostFunctions { count } => {
                write!(
                    f,
                    "host functions: the device calls {} of the host",
                    format::counted(*count, "function")
                )
            }
            Self::KeepsMemory { bytes } => write!(f, "each launch keeps {bytes}"),
            Self::LoadsCode(calls) => write!(f, "loads code: {calls}"),
            Self::SwitchesContext(calls) => write!(f, "switches the context: {calls}"),
            Self::LaunchesGraphs { count } => write!(f, "launches graphs: {count}"),
            Self::IgnoresError { call, error } => {
                write!(f, "failed call: {call} returned {error}, and the launch function returned no error")
            }
        }
    }
}
