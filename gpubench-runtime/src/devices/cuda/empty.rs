//! Empty launches. They calibrate the timer, and are interleaved with the launches of a case.

use gpubench_driver::sys::CUstream;

use super::graph::{Capture, Executable};
use super::kernels::EmptyKernel;
use crate::device::Work;
use gpubench_records::Failure;

/// A launch of one block of 32 threads that do nothing.
pub(crate) struct EmptyLaunch {
    kernel: EmptyKernel,
    stream: CUstream,
    /// The graph that contains the launch, if each launch is that of a graph.
    graph: Option<Executable>,
}

impl EmptyLaunch {
    /// Returns launches of `kernel` on `stream`.
    pub(crate) fn new(kernel: EmptyKernel, stream: CUstream) -> Self {
        Self { kernel, stream, graph: None }
    }

    /// Captures the launch in a graph, so that each launch has the overhead of a graph launch on the stream.
    pub(crate) fn into_graph(mut self) -> Result<Self, Failure> {
        let capture = Capture::begin(self.stream)?;
        self.launch()?;
        self.graph = Some(capture.end()?.instantiate()?);
        Ok(self)
    }
}

impl Work for EmptyLaunch {
    fn launch(&mut self) -> Result<(), Failure> {
        match &self.graph {
            Some(graph) => Ok(graph.launch(self.stream)?),
            None => Ok(self.kernel.launch((1, 32), self.stream)?),
        }
    }
}
