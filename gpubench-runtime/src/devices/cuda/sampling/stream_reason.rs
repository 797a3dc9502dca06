//! The reason why a case is sampled on the stream, where a graph would time it better.

use gpubench_records::failure::Stage;

/// The reason why no graph stands for a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StreamReason {
    /// The user asks for the stream.
    #[error("asked for")]
    AskedFor,
    /// The host's part belongs to the launch, and a graph has none.
    #[error("the host's part belongs to the launch (`host_work`)")]
    HostWork,
    /// The driver refuses the capture.
    #[error("the {stage} cannot be captured: {cause}")]
    NotCaptured {
        /// The step that it refuses: the reset or the launch.
        stage: Stage,
        /// The driver's error, or the user's.
        cause: String,
    },
    /// The host waits while the launch is captured.
    #[error("the host waits for work of the launch on another stream")]
    HostWaits,
    /// A node that costs more in a graph, or less.
    #[error("{0}")]
    Node(&'static str),
    /// The launch is timed in turn with one that no graph stands for.
    #[error("the launch that it is compared with is there: {0}")]
    Partner(Box<Self>),
}
