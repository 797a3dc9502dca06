//! The two paths of samples: graphs, and the stream.

use crate::device::SampledGroup;
use crate::devices::cuda::sampling::graph_path::GraphPath;
use crate::devices::cuda::sampling::samples::SamplingState;
use crate::devices::cuda::sampling::stream_path::StreamPath;
use gpubench_records::failure::Failure;

/// The path on which a case is sampled.
pub(crate) enum SamplingPath<'a> {
    Graph(GraphPath<'a>),
    Stream(SamplingState<'a>, StreamPath),
}

impl<'a> SamplingPath<'a> {
    /// Takes a group of this many samples, or of as many as the path takes at once.
    pub(crate) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        match self {
            Self::Graph(path) => path.group(samples),
            Self::Stream(state, path) => path.group(state, samples),
        }
    }

    pub(crate) fn samples(&mut self) -> &mut SamplingState<'a> {
        match self {
            Self::Graph(path) => &mut path.samples,
            Self::Stream(state, _) => state,
        }
    }
}
