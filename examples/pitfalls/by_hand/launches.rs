//! B9: the host's clock around back-to-back launches of a short kernel, separately and in a graph, until all launches are
//! submitted and until they are complete.

use std::time::Instant;

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::cuda::Replay;
use gpubench_kernels::cuda::{Elementwise, empty, rmw};
use serde::{Deserialize, Serialize};

use super::{since, stream};
use crate::common::Result;

/// The number of readings for each number of launches.
const TIMES: usize = 15;
/// The size of the array that [`Short::Update`] changes.
const BYTES: usize = 64 << 10;

/// The kernel that is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Short {
    /// A kernel that does nothing.
    Empty,
    /// A kernel that changes 64 KiB in place.
    Update,
}

/// The times of a number of launches in nanoseconds, in the order in which they were read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LaunchTimes {
    /// The number of launches.
    pub(crate) count: usize,
    /// Separate launches.
    pub(crate) plain: Times,
    /// One graph with this number of nodes.
    pub(crate) graph: Times,
}

/// Two readings of the host's clock for all launches.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    /// Until all launches were submitted.
    pub(crate) submitted: Vec<f64>,
    /// Until all launches were complete.
    pub(crate) done: Vec<f64>,
}

/// Times each number of launches.
pub(crate) fn read(short: Short, counts: &[usize]) -> Result<Vec<LaunchTimes>> {
    let stream = stream()?;
    let kernels = Elementwise::load()?;
    let mut x = DeviceBuffer::from_slice(&vec![1.0_f32; BYTES / size_of::<f32>()])?;
    let mut launch = || match short {
        Short::Empty => empty(&kernels, &stream),
        Short::Update => rmw(&kernels, 0.75, &mut x, &stream),
    };
    let mut rows = Vec::new();
    for count in counts.iter().copied() {
        let plain = times(&stream, || (0..count).try_for_each(|_| launch()).map_err(Into::into))?;
        let replay = Replay::capture(&stream, || (0..count).try_for_each(|_| launch()))?;
        let graph = times(&stream, || Ok(replay.launch()?))?;
        drop(replay);
        rows.push(LaunchTimes { count, plain, graph });
    }
    Ok(rows)
}

/// Times the work that `submit` enqueues on `stream`, [`TIMES`] times.
fn times(stream: &Stream, mut submit: impl FnMut() -> Result<()>) -> Result<Times> {
    let waited = || -> CudaResult<()> { stream.synchronize() };
    submit()?;
    waited()?;
    let mut times = Times::default();
    for _ in 0..TIMES {
        let begin = Instant::now();
        submit()?;
        times.submitted.push(since(begin));
        waited()?;
        times.done.push(since(begin));
    }
    Ok(times)
}
