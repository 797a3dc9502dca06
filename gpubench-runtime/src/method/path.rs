//! The two paths of samples: recorded batches, and the stream for launches that cannot be recorded.

use super::group::GroupRunner;
use super::recorded_path::RecordedPath;
use super::stream_path::StreamPath;
use crate::device::SampledGroup;
use gpubench_records::Failure;

/// The path on which a case is sampled, with the runner of its groups.
pub(super) enum SamplingPath<'a> {
    Recorded(RecordedPath<'a>),
    Stream(GroupRunner<'a>, StreamPath),
}

impl<'a> SamplingPath<'a> {
    /// Chooses the path for the launch mode of `groups`.
    pub(super) fn new(groups: GroupRunner<'a>) -> Self {
        match groups.mode.recorded {
            true => Self::Recorded(RecordedPath::new(groups)),
            false => Self::Stream(groups, StreamPath::default()),
        }
    }

    /// Takes a group of `samples` samples, or of as many as the path can enqueue at once.
    pub(super) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        match self {
            Self::Recorded(path) => path.group(samples),
            Self::Stream(groups, path) => path.group(groups, samples),
        }
    }

    /// Returns the group runner of the path.
    pub(super) fn groups(&mut self) -> &mut GroupRunner<'a> {
        match self {
            Self::Recorded(path) => &mut path.groups,
            Self::Stream(groups, _) => groups,
        }
    }
}
