//! The executable graphs that the program under test instantiates. The driver refuses to launch one on a
//! stream that is captured. This module keeps a clone of each graph, and adds the clone to the captured graph
//! as a child, which takes equally long.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::ffi::{c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::{cell::Cell, collections::BTreeMap};

use crate::calls::{Enqueued, PER_THREAD_STREAM, add_enqueued, lock, watched_context};
use crate::forward::forwarders;
use crate::library::{EntryPoint, Function, unrecorded};
use crate::result::{keep_result, missing_function_result, set_detail};
use crate::types::{
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_SUCCESS, CUgraph, CUgraphExec, CUgraphNode, CUresult,
    CUstream,
};

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`: replace the nodes that the next captured work depends on.
const SET_CAPTURE_DEPENDENCIES: c_uint = 1;
/// The status of a stream that is captured, and whose capture is valid: `CU_STREAM_CAPTURE_STATUS_ACTIVE`.
const CAPTURE_IS_ACTIVE: c_uint = 1;
/// The flags of an instantiation that do not change how a child graph runs:
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` and `…_UPLOAD`.
const HARMLESS_FLAGS: c_ulonglong = 1 | 2;

/// The reason that a graph cannot become a child: `cuGraphClone` failed, as it does for graphs with
/// allocations or conditional nodes.
const NOT_CLONED: &str = "it allocates memory or has conditional nodes";
/// The reason that a graph cannot become a child: it was instantiated with flags other than
/// [`HARMLESS_FLAGS`], which a child cannot have.
const HAS_FLAGS: &str = "its flags ask for node priorities or for launches from the device";
/// The reason that a graph cannot become a child: the executable was changed after its instantiation.
const UPDATED: &str = "it was updated after its instantiation";
/// The reason that a graph cannot become a child: the driver returned an error when the child was added, or
/// lacks a function for it.
const REFUSED: &str = "the driver refuses it as one";

/// The types of nodes that write nothing but device memory: `CU_GRAPH_NODE_TYPE_KERNEL`, `…_MEMSET` and
/// `…_EMPTY`.
const MEMORY_WRITING_NODE_TYPES: [c_uint; 3] = [0, 2, 5];

/// The handle of the clone of a graph, or the reason that there is no clone.
type ClonedGraph = Result<usize, &'static str>;

/// The existing executable graphs by handle, each with its number in the order of instantiation and the clone
/// of its graph. `made` is the number of executables instantiated so far, which is the number of the next
/// one.
struct Executables {
    made: usize,
    living: BTreeMap<usize, (usize, ClonedGraph)>,
}

/// The executables of this process.
static EXECUTABLES: Mutex<Executables> = Mutex::new(Executables { made: 0, living: BTreeMap::new() });

thread_local! {
    /// The driver's number of the last capture for which this thread called [`capture_graphs`]; the largest
    /// number if there is none. The driver gives each capture another number.
    static OWN_CAPTURE: Cell<c_ulonglong> = const { Cell::new(c_ulonglong::MAX) };
}

/// Calls `cuGraphInstantiateWithFlags` without adding the executable to the list, which saves the clone. The
/// executable cannot be launched on a captured stream, and [`new_executables`] does not return it. Returns
/// the driver's code.
///
/// # Safety
/// The graph exists, and `out` is valid for the write of a handle.
pub unsafe extern "C" fn instantiate_without_clone(
    out: *mut CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) -> CUresult {
    forwarders! { @body "cuGraphInstantiateWithFlags" (out: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) }
}

/// Makes graphs part of the current capture of `stream`: from now on, each graph that this thread launches on
/// a stream of this capture is added to the captured graph as a child. This ends for the capture of an
/// earlier call. If `stream` is not captured, no graphs are added any more.
///
/// # Safety
/// The stream exists.
pub unsafe fn capture_graphs(stream: CUstream) {
    // SAFETY: the caller's contract.
    let capture = unsafe { ActiveCapture::of_stream(stream) };
    OWN_CAPTURE.set(capture.map_or(c_ulonglong::MAX, |capture| capture.number));
}

/// Runs `body`. Returns its result and the executables that any thread instantiated meanwhile and that still
/// exist.
pub fn new_executables<T>(body: impl FnOnce() -> T) -> (T, Vec<CUgraphExec>) {
    let first = lock(&EXECUTABLES).made;
    let done = body();
    let executables = lock(&EXECUTABLES);
    let new = executables.living.iter().filter(|(_, (number, _))| *number >= first);
    (done, new.map(|(executable, _)| *executable as CUgraphExec).collect())
}

/// Adds a new executable to the list, with a clone of `graph` or the reason that there is none. Does nothing
/// if `code` is not 0. `flags` are the flags of the instantiation.
///
/// # Safety
/// A function that instantiates `graph` and stores the executable at `out` has returned `code`.
pub(crate) unsafe fn list_executable(code: u32, out: *const CUgraphExec, graph: CUgraph, flags: c_ulonglong) {
    if code != CUDA_SUCCESS {
        return;
    }
    let mut copy = null_mut();
    let clone = if flags & !HARMLESS_FLAGS == 0 {
        unrecorded!(cuGraphClone(*mut CUgraph, CUgraph))
            // SAFETY: the driver has just used the graph, and `copy` is a place for a handle.
            .filter(|clone| unsafe { clone(&raw mut copy, graph) } == CUDA_SUCCESS)
            .map(|_| copy as usize)
            .ok_or(NOT_CLONED)
    } else {
        Err(HAS_FLAGS)
    };
    let mut executables = lock(&EXECUTABLES);
    let number = executables.made;
    executables.made += 1;
    // SAFETY: the driver has just written the handle there.
    let before = executables.living.insert(unsafe { *out } as usize, (number, clone));
    drop(executables);
    destroy_clone(before.map(|(_, clone)| clone));
}

/// Adds a new executable of `cuGraphInstantiateWithParams` to the list. Does nothing if `code` is not 0.
///
/// # Safety
/// The arguments are those of `cuGraphInstantiateWithParams`, which has returned `code`.
pub(crate) unsafe fn list_executable_with_params(
    code: u32,
    out: *const CUgraphExec,
    graph: CUgraph,
    params: *mut c_void,
) {
    if code == CUDA_SUCCESS {
        // SAFETY: the driver has just read the parameters, which begin with the flags.
        unsafe { list_executable(code, out, graph, *params.cast()) };
    }
}

/// Destroys the clone of an executable that a call changed, or tried to change: the executable may now do
/// other work than its clone. From then on, launches of the executable cannot be captured. Ignores the result
/// code of the call.
pub(crate) fn forget_clone(_: u32, executable: CUgraphExec) {
    let clone = lock(&EXECUTABLES)
        .living
        .get_mut(&(executable as usize))
        .map(|(_, clone)| std::mem::replace(clone, Err(UPDATED)));
    destroy_clone(clone);
}

/// Implements `cuGraphExecDestroy`: removes the executable from the list, destroys its clone, and then calls
/// the driver. The driver comes last, since the next executable may get the same handle.
///
/// # Safety
/// The executable exists.
pub(crate) unsafe fn destroy_executable(executable: CUgraphExec) -> CUresult {
    let listed = lock(&EXECUTABLES).living.remove(&(executable as usize));
    destroy_clone(listed.map(|(_, clone)| clone));
    forwarders! { @body "cuGraphExecDestroy" (executable: CUgraphExec) }
}

/// Destroys the clone, if there is one.
fn destroy_clone(clone: Option<ClonedGraph>) {
    if let (Some(Ok(clone)), Some(destroy)) = (clone, unrecorded!(cuGraphDestroy(CUgraph))) {
        // SAFETY: nothing else has the clone.
        unsafe { destroy(clone as CUgraph) };
    }
}

/// Implements `cuGraphLaunch`. If gpubench captures `stream` and the executable's graph can become a child,
/// adds the graph to the capture; otherwise calls the driver. Reports the launch to the watch. If the driver
/// fails because the stream is captured, sets the reason against a child as the detail of the failure.
/// Returns the driver's code.
///
/// # Safety
/// The executable and the stream exist.
pub(crate) unsafe fn launch_graph(executable: CUgraphExec, stream: CUstream) -> CUresult {
    static ENTRY: EntryPoint = EntryPoint::new("cuGraphLaunch");
    // SAFETY: this is the C type of the function of that name.
    let launch = unsafe { ENTRY.typed::<unsafe extern "C" fn(CUgraphExec, CUstream) -> u32>() };
    let Some(launch) = launch else { return missing_function_result(&ENTRY) };
    // SAFETY: the caller's contract.
    let child = unsafe { add_as_child(executable, stream) };
    let code = match child {
        Ok(()) => CUDA_SUCCESS,
        // SAFETY: the same.
        Err(_) => unsafe { launch(executable, stream) },
    };
    let code = keep_result(&ENTRY, code);
    if let (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, Err(Some(why))) = (code, child) {
        set_detail(Some(format!("its graph cannot be added as a child: {why}")));
    }
    let writes_memory_alone = watched_context().is_some() && writes_memory_alone(executable) == Some(true);
    add_enqueued(code, stream, Enqueued::Graph { writes_memory_alone });
    code
}

/// Returns true if the nodes of the executable's graph write nothing but device memory. Returns `None` if the
/// graph has no clone, and `None` or false if the driver cannot list the nodes.
fn writes_memory_alone(executable: CUgraphExec) -> Option<bool> {
    let executables = lock(&EXECUTABLES);
    let graph = executables.living.get(&(executable as usize))?.1.ok()? as CUgraph;
    let nodes = unrecorded!(cuGraphGetNodes(CUgraph, *mut CUgraphNode, *mut usize))?;
    let kind_of = unrecorded!(cuGraphNodeGetType(CUgraphNode, *mut c_uint))?;
    let mut count = 0;
    // SAFETY: the clone lives as long as it is listed. Without a place for nodes the driver only counts them.
    let counted = unsafe { nodes(graph, null_mut(), &raw mut count) };
    let mut found = vec![null_mut(); count];
    // SAFETY: there is a place for `count` nodes.
    let listed = unsafe { nodes(graph, found.as_mut_ptr(), &raw mut count) };
    let alone = found.into_iter().all(|node| {
        let mut kind = c_uint::MAX;
        // SAFETY: the node belongs to the clone, and `kind` is a place for its kind.
        unsafe { kind_of(node, &raw mut kind) == CUDA_SUCCESS && MEMORY_WRITING_NODE_TYPES.contains(&kind) }
    });
    Some(counted == CUDA_SUCCESS && listed == CUDA_SUCCESS && alone)
}

/// Implements `cuGraphLaunch_ptsz` like [`launch_graph`], except that a null stream means the calling
/// thread's default stream.
///
/// # Safety
/// The executable and the stream exist.
pub(crate) unsafe fn launch_graph_ptsz(executable: CUgraphExec, stream: CUstream) -> CUresult {
    let stream = if stream.is_null() { PER_THREAD_STREAM } else { stream };
    // SAFETY: the caller's contract.
    unsafe { launch_graph(executable, stream) }
}

/// The active capture of a stream: the driver's number of the capture and the captured graph.
struct ActiveCapture {
    number: c_ulonglong,
    graph: CUgraph,
    /// The nodes that the next work of the stream depends on.
    before: *const CUgraphNode,
    /// The number of nodes at `before`.
    count: usize,
}

impl ActiveCapture {
    /// Returns the active capture of a stream. `None` if the stream is not captured, if its capture is
    /// invalid, or if the driver returns an error, as it does if a dependency of the next work has edge data.
    ///
    /// # Safety
    /// The stream exists.
    unsafe fn of_stream(stream: CUstream) -> Option<Self> {
        let info = unrecorded!(
            cuStreamGetCaptureInfo_v2(
                CUstream,
                *mut c_uint,
                *mut c_ulonglong,
                *mut CUgraph,
                *mut *const CUgraphNode,
                *mut usize,
            )
        )?;
        let (mut status, mut number, mut graph) = (0, 0, null_mut());
        let (mut before, mut count) = (null(), 0);
        // SAFETY: the stream exists, and there are places for the results.
        let asked = unsafe {
            info(stream, &raw mut status, &raw mut number, &raw mut graph, &raw mut before, &raw mut count)
        };
        let goes_on = asked == CUDA_SUCCESS && status == CAPTURE_IS_ACTIVE && !graph.is_null();
        goes_on.then_some(Self { number, graph, before, count })
    }
}

/// Adds the clone of the executable's graph as a child to the graph that gpubench captures from `stream` on
/// this thread. The error `None` means that gpubench does not capture `stream`, or that the executable is not
/// listed; otherwise the error is the reason why the graph cannot become a child.
///
/// # Safety
/// The stream exists.
unsafe fn add_as_child(executable: CUgraphExec, stream: CUstream) -> Result<(), Option<&'static str>> {
    let executables = lock(&EXECUTABLES);
    let (_, clone) = executables.living.get(&(executable as usize)).ok_or(None)?;
    // SAFETY: the caller's contract.
    let capture =
        unsafe { ActiveCapture::of_stream(stream) }.filter(|capture| capture.number == OWN_CAPTURE.get());
    let ActiveCapture { graph, before, count, .. } = capture.ok_or(None)?;
    let child = (*clone)? as CUgraph;
    let add =
        unrecorded!(cuGraphAddChildGraphNode(*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, CUgraph));
    let update = unrecorded!(cuStreamUpdateCaptureDependencies(CUstream, *mut CUgraphNode, usize, c_uint));
    let (add, update) = add.zip(update).ok_or(Some(REFUSED))?;
    let mut node = null_mut();
    // SAFETY: the clone lives as long as it is listed. `before` are nodes of the captured graph, until that has the new one.
    let added = unsafe {
        add(&raw mut node, graph, before, count, child) == CUDA_SUCCESS
            && update(stream, &raw mut node, 1, SET_CAPTURE_DEPENDENCIES) == CUDA_SUCCESS
    };
    if added { Ok(()) } else { Err(Some(REFUSED)) }
}
