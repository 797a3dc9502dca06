//! Stream capture and graphs: captures the work on a stream in a graph, lists its nodes, and launches it any
//! number of times.

use std::{ffi::c_ulonglong, fmt::Display, marker::PhantomData, ptr};

use gpubench_driver::sys::{self, CUgraph, CUgraphExec, CUgraphNode, CUresult, CUstream};

use super::CudaStream;
use super::driver::{CallError, check, pointer_attribute};
use crate::device::DeviceError;

/// A stream under capture, which records enqueued work instead of running it. Meanwhile the driver rejects
/// calls of this thread that would break the capture; other threads may use the driver freely. Dropping the
/// value discards the capture.
pub(crate) struct Capture {
    stream: CUstream,
    /// True once [`Self::end`] has ended the capture.
    ended: bool,
}

impl Capture {
    /// Begins the capture of `stream`.
    pub(crate) fn begin(stream: CUstream) -> Result<Self, CallError> {
        let mode = sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as its case.
        check(unsafe { sys::cuStreamBeginCapture_v2(stream, mode) })?;
        // SAFETY: the same.
        unsafe { gpubench_driver::capture_graphs(stream) };
        Ok(Self { stream, ended: false })
    }

    /// Returns the kinds of the nodes that were captured so far, in order, with the nodes of a child graph in
    /// its place. The list is empty if the capture was invalidated; [`Self::end`] then returns the reason as
    /// an error.
    pub(crate) fn nodes(&self) -> Result<Vec<Node>, CallError> {
        let mut status = sys::CU_STREAM_CAPTURE_STATUS_NONE;
        let mut graph: CUgraph = ptr::null_mut();
        let null = ptr::null_mut;
        // SAFETY: `status` and `graph` are valid for writing the results; the rest may be null.
        check(unsafe {
            sys::cuStreamGetCaptureInfo_v2(
                self.stream,
                &raw mut status,
                null(),
                &raw mut graph,
                null().cast(),
                null().cast(),
            )
        })?;
        if graph.is_null() {
            // The capture was invalidated; ending it returns the reason.
            return Ok(Vec::new());
        }
        leaf_nodes(graph)
    }

    /// Ends the capture, and returns its graph, or the reason if the capture was invalidated.
    pub(crate) fn end(mut self) -> Result<Graph, CallError> {
        self.ended = true;
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is being captured by this thread; `graph` is valid for writing a handle.
        check(unsafe { sys::cuStreamEndCapture(self.stream, &raw mut graph) })?;
        Ok(Graph(graph))
    }
}

impl Drop for Capture {
    /// Ends a capture that was not ended; otherwise the stream would be unusable.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut graph = ptr::null_mut();
        // SAFETY: as in `end`. A capture that was invalidated gives no graph.
        if unsafe { sys::cuStreamEndCapture(self.stream, &raw mut graph) } == sys::CUDA_SUCCESS {
            drop(Graph(graph));
        }
    }
}

/// A captured graph.
pub(crate) struct Graph(CUgraph);

impl Graph {
    /// Instantiates the graph for launches by gpubench itself. The result must not be launched on a stream
    /// under capture.
    pub(crate) fn instantiate(&self) -> Result<Executable, CallError> {
        self.instantiate_with(gpubench_driver::instantiate_without_clone)
    }

    /// Instantiates the graph with the driver function `instantiate`, which takes flags.
    fn instantiate_with(
        &self,
        instantiate: unsafe extern "C" fn(*mut CUgraphExec, CUgraph, c_ulonglong) -> CUresult,
    ) -> Result<Executable, CallError> {
        let mut executable = ptr::null_mut();
        // SAFETY: the graph lives, and `executable` is valid for writing a handle.
        check(unsafe { instantiate(&raw mut executable, self.0, 0) })?;
        Ok(Executable(executable))
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle; executables made of it do not need it.
        _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

/// An instantiated graph, which can be launched.
pub(crate) struct Executable(CUgraphExec);

impl Executable {
    /// Copies the graph to the device, so that its first launch takes no longer than later ones.
    pub(crate) fn upload(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the executable and the stream live.
        check(unsafe { sys::cuGraphUpload(self.0, stream) })
    }

    /// Launches the graph on `stream`. Does not wait.
    pub(crate) fn launch(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the executable and the stream live; what its nodes use lives as long as the case.
        check(unsafe { sys::cuGraphLaunch(self.0, stream) })
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle, and the stream was synchronised after every launch.
        _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

/// Work that was captured on a stream once, and can be launched as one graph any number of times. Borrows
/// everything that the work uses.
///
/// ```no_run
/// # use gpubench_runtime::devices::cuda::RawStream;
/// # fn run(stream: &RawStream, launch: fn(&RawStream) -> std::io::Result<()>) -> Result<(), Box<dyn std::error::Error>> {
/// let replay = gpubench_runtime::devices::cuda::Replay::capture(stream, || (0..100).try_for_each(|_| launch(stream)))?;
/// replay.launch()?; // a hundred launches
/// # Ok(())
/// # }
/// ```
pub struct Replay<'a> {
    executable: Executable,
    stream: CUstream,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Replay<'a> {
    /// Captures the work that `enqueue` puts on `stream`, without running it.
    ///
    /// # Errors
    /// Returns an error if `enqueue` fails, or does something that cannot be captured.
    pub fn capture<E: Display>(
        stream: &'a impl CudaStream,
        enqueue: impl FnOnce() -> Result<(), E> + 'a,
    ) -> Result<Self, DeviceError> {
        let capture = Capture::begin(stream.handle().cast())?;
        enqueue().map_err(|error| DeviceError::new(error.to_string()))?;
        Ok(Self {
            // A launch function may launch it.
            executable: capture.end()?.instantiate_with(sys::cuGraphInstantiateWithFlags)?,
            stream: stream.handle().cast(),
            borrowed: PhantomData,
        })
    }

    /// Launches the captured work on its stream. Does not wait.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&self) -> Result<(), DeviceError> {
        Ok(self.executable.launch(self.stream)?)
    }
}

impl Drop for Replay<'_> {
    /// Waits for the stream, since the things that the work uses may be dropped next.
    fn drop(&mut self) {
        // SAFETY: the stream lives. After a sticky error this fails, and nothing runs any more.
        _ = unsafe { sys::cuStreamSynchronize(self.stream) };
    }
}

/// The kind of a captured graph node, as far as it affects a measurement.
#[derive(PartialEq, Eq)]
pub(crate) enum Node {
    Kernel,
    Copy,
    /// A copy from or to host memory that the driver does not know: each replay would access that memory
    /// again, even if it was freed.
    PageableCopy,
    Memset,
    HostFunction,
    Allocation,
    Free,
    Other,
}

/// Returns the kinds of the nodes of a graph. Replaces a child graph by the nodes in it.
fn leaf_nodes(graph: CUgraph) -> Result<Vec<Node>, CallError> {
    let mut count = 0;
    // SAFETY: without a buffer for nodes the driver only counts them.
    check(unsafe { sys::cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) })?;
    let mut handles = vec![ptr::null_mut(); count];
    if count > 0 {
        // SAFETY: the buffer has space for `count` handles.
        check(unsafe { sys::cuGraphGetNodes(graph, handles.as_mut_ptr(), &raw mut count) })?;
    }
    let mut found = Vec::with_capacity(count);
    for node in handles {
        let mut kind = sys::CUgraphNodeType::MAX;
        // SAFETY: the node belongs to a graph that lives, and `kind` is valid for writing its kind.
        check(unsafe { sys::cuGraphNodeGetType(node, &raw mut kind) })?;
        found.push(match kind {
            0 => Node::Kernel,
            1 if touches_pageable_memory(node)? => Node::PageableCopy,
            1 => Node::Copy,
            2 => Node::Memset,
            3 => Node::HostFunction,
            4 => {
                let mut child = ptr::null_mut();
                // SAFETY: the node is a child graph, and `child` is valid for writing a handle.
                check(unsafe { sys::cuGraphChildGraphNodeGetGraph(node, &raw mut child) })?;
                found.extend(leaf_nodes(child)?);
                continue;
            }
            10 => Node::Allocation,
            11 => Node::Free,
            _ => Node::Other,
        });
    }
    Ok(found)
}

/// Returns true if `node`, a copy, reads or writes host memory that the driver does not know.
fn touches_pageable_memory(node: CUgraphNode) -> Result<bool, CallError> {
    let mut copy = std::mem::MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
    // SAFETY: this is a copy's node, and `copy` is valid for writing its parameters.
    check(unsafe { sys::cuGraphMemcpyNodeGetParams(node, copy.as_mut_ptr()) })?;
    // SAFETY: the driver has filled it; all zeros are a value of it too.
    let copy = unsafe { copy.assume_init() };
    let host = sys::CU_MEMORYTYPE_HOST;
    let pageable = |kind, pointer: *const std::ffi::c_void| kind == host && !is_known_to_driver(pointer);
    Ok(pageable(copy.srcMemoryType, copy.srcHost) || pageable(copy.dstMemoryType, copy.dstHost.cast_const()))
}

/// Returns true if the driver has allocated or registered the memory at `pointer`.
fn is_known_to_driver(pointer: *const std::ffi::c_void) -> bool {
    // SAFETY: the kind of memory is an enumeration.
    let kind = unsafe { pointer_attribute::<u32>(sys::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer as u64) };
    kind.is_some_and(|kind| kind != 0)
}
