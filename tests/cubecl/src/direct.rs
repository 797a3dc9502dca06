//! Kernels of a recorded graph, launched one by one.

use std::ptr::null_mut;

use cudarc::driver::sys::{
    self, CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphNode, CUgraphNodeType, CUstream, CUstreamCaptureMode,
};
use gpubench::cuda::{RawStream, Recorded};

use crate::Error;

/// The kernels of a recorded launch with their parameters: the functions, grids and addresses that the library chose.
pub struct Direct<T> {
    kernels: Vec<CUDA_KERNEL_NODE_PARAMS>,
    // The parameters are in the graph.
    _graph: Graph,
    recorded: Recorded<T>,
}

// SAFETY: the handles may be used on any thread.
unsafe impl<T: Send> Send for Direct<T> {}

impl<T> Direct<T> {
    /// Reads the kernels of a recorded launch.
    ///
    /// # Errors
    /// Returns the driver's error. Fails if the launch is more than kernels.
    pub fn new(recorded: Recorded<T>, stream: &RawStream) -> Result<Self, Error> {
        let graph = Graph::capture(&recorded, stream)?;
        let kernels = graph.kernels()?;
        Ok(Self { kernels, _graph: graph, recorded })
    }

    /// Launches the kernels.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&self, stream: &RawStream) -> Result<(), Error> {
        for kernel in &self.kernels {
            // SAFETY: the library launched this function with these parameters, and what they point to is kept.
            unsafe {
                sys::cuLaunchKernel(
                    if kernel.func.is_null() { kernel.kern.cast() } else { kernel.func },
                    kernel.gridDimX,
                    kernel.gridDimY,
                    kernel.gridDimZ,
                    kernel.blockDimX,
                    kernel.blockDimY,
                    kernel.blockDimZ,
                    kernel.sharedMemBytes,
                    stream.stream().cast(),
                    kernel.kernelParams,
                    kernel.extra,
                )
            }
            .result()?;
        }
        Ok(())
    }

    /// Returns the result of the library.
    pub fn kept(&self) -> &T {
        self.recorded.kept()
    }
}

/// A graph of one node, whose child is the recorded graph.
struct Graph(CUgraph);

impl Graph {
    /// Captures a recorded launch.
    fn capture<T>(recorded: &Recorded<T>, stream: &RawStream) -> Result<Self, Error> {
        let raw: CUstream = stream.stream().cast();
        let mut graph = null_mut();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive, and the handle has a place.
        unsafe {
            sys::cuStreamBeginCapture_v2(raw, mode).result()?;
            gpubench_driver::capture_graphs(raw.cast());
            let launched = recorded.launch(stream);
            sys::cuStreamEndCapture(raw, &raw mut graph).result()?;
            let graph = Self(graph);
            launched?;
            Ok(graph)
        }
    }

    /// Returns the kernels of the child, in their order.
    fn kernels(&self) -> Result<Vec<CUDA_KERNEL_NODE_PARAMS>, Error> {
        let [child] = nodes(self.0)?[..] else { return Err("one child was expected".into()) };
        let mut graph = null_mut();
        // SAFETY: the node exists, and the handle has a place.
        unsafe { sys::cuGraphChildGraphNodeGetGraph(child, &raw mut graph) }.result()?;
        nodes(graph)?.into_iter().map(kernel).collect()
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing else has it.
        _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

/// Returns the nodes of a graph. Those of a captured stream are in the order of their capture.
fn nodes(graph: CUgraph) -> Result<Vec<CUgraphNode>, Error> {
    let mut count = 0;
    // SAFETY: the graph exists. Without a place for nodes the driver counts them.
    unsafe { sys::cuGraphGetNodes(graph, null_mut(), &raw mut count) }.result()?;
    let mut nodes = vec![null_mut(); count];
    // SAFETY: there is a place for as many.
    unsafe { sys::cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) }.result()?;
    Ok(nodes)
}

/// Returns the parameters of a kernel node.
fn kernel(node: CUgraphNode) -> Result<CUDA_KERNEL_NODE_PARAMS, Error> {
    let mut kind = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
    // SAFETY: the node exists, and the kind has a place.
    unsafe { sys::cuGraphNodeGetType(node, &raw mut kind) }.result()?;
    if kind != CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL {
        return Err(format!("{kind:?} is no kernel").into());
    }
    let mut parameters = std::mem::MaybeUninit::zeroed();
    // SAFETY: the node is a kernel, and the driver writes all parameters.
    unsafe {
        sys::cuGraphKernelNodeGetParams_v2(node, parameters.as_mut_ptr()).result()?;
        Ok(parameters.assume_init())
    }
}
