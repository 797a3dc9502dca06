//! Empty launches. They calibrate the timer, and are interleaved with the launches of a case.

use gpubench_driver::sys::CUstream;

use super::graph::{Capture, Executable};
use super::kernels::{EmptyKernel, EmptyKernels};
use crate::device::Work;
use gpubench_records::Failure;

/// Launches of one block of 32 threads that do nothing.
pub(crate) struct EmptyLaunch {
    kernel: EmptyKernel,
    stream: CUstream,
    /// The launch as a graph of its own.
    graph: Option<Executable>,
    /// The kernel's module, if nothing else keeps it.
    _kernels: Option<EmptyKernels>,
}

impl EmptyLaunch {
    pub(crate) fn new(kernel: EmptyKernel, stream: CUstream) -> Self {
        Self { kernel, stream, graph: None, _kernels: None }
    }

    /// Keeps the module of the kernel.
    pub(crate) fn keeping_module(self, kernels: EmptyKernels) -> Self {
        Self { _kernels: Some(kernels), ..self }
    }

    /// Makes each launch that of a graph, with the overhead that a graph has on the stream.
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
