//! The executables of graphs that the program under test makes. The driver refuses to launch one on a stream that is captured. Here a
//! clone of its graph becomes a child of the captured one instead, which takes the same time.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulonglong, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::calls::{Enqueued, PER_THREAD_STREAM, add_enqueued, watched_context};
use crate::forward::forwarders;
use crate::library::{EntryPoint, Function, unrecorded};
use crate::result::{keep_result, missing_function_result, set_detail};
use crate::types::{
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_SUCCESS, CUgraph, CUgraphExec, CUgraphNode, CUresult,
    CUstream,
};

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`
const SET_CAPTURE_DEPENDENCIES: c_uint = 1;
/// `CU_STREAM_CAPTURE_STATUS_ACTIVE`
const CAPTURE_IS_ACTIVE: c_uint = 1;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` and `…_UPLOAD`. They do not change how a child runs.
const HARMLESS_FLAGS: c_ulonglong = 1 | 2;

// Why an executable cannot become a child.
const NOT_CLONED: &str = "it allocates memory or has conditional nodes";
const HAS_FLAGS: &str = "its flags ask for node priorities or for launches from the device";
const UPDATED: &str = "it was updated after its instantiation";
const REFUSED: &str = "the driver refuses it as one";

/// `CU_GRAPH_NODE_TYPE_KERNEL`, `…_MEMSET` and `…_EMPTY`
const MEMORY_WRITING_NODE_TYPES: [c_uint; 3] = [0, 2, 5];

/// A clone of a graph, or the reason why the graph has no clone.
type ClonedGraph = Result<usize, &'static str>;

/// The living executables by address: the number of executables before each, and a clone of its graph.
struct Executables {
    made: usize,
    living: BTreeMap<usize, (usize, ClonedGraph)>,
}

static EXECUTABLES: Mutex<Executables> = Mutex::new(Executables { made: 0, living: BTreeMap::new() });

thread_local! {
    /// The driver's number of the last capture that this thread began for gpubench, which no other capture ever has.
    static OWN_CAPTURE: Cell<c_ulonglong> = const { Cell::new(c_ulonglong::MAX) };
}

fn executables() -> MutexGuard<'static, Executables> {
    EXECUTABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Instantiates a graph without a clone of it: the executable cannot be launched on a captured stream.
///
/// # Safety
/// The graph exists, and `place` is a place for a handle.
pub unsafe extern "C" fn instantiate_without_clone(
    place: *mut CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) -> CUresult {
    forwarders! { @body "cuGraphInstantiateWithFlags" (place: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) }
}

/// From now on, a graph that this thread launches on a stream of the capture of `stream` is added to the captured graph as a child.
///
/// # Safety
/// The stream exists.
pub unsafe fn capture_graphs(stream: CUstream) {
    // SAFETY: the caller's contract.
    let capture = unsafe { ActiveCapture::of_stream(stream) };
    OWN_CAPTURE.set(capture.map_or(c_ulonglong::MAX, |capture| capture.number));
}

/// Runs `body`. Returns the executables that any thread made meanwhile and that still exist.
pub fn new_executables<T>(body: impl FnOnce() -> T) -> (T, Vec<CUgraphExec>) {
    let first = executables().made;
    let done = body();
    let executables = executables();
    let new = executables.living.iter().filter(|(_, (number, _))| *number >= first);
    (done, new.map(|(executable, _)| *executable as CUgraphExec).collect())
}

/// Lists a new executable with a clone of its graph.
///
/// # Safety
/// A function that instantiates this graph has returned `code` for this place.
pub(crate) unsafe fn list_executable(
    code: u32,
    place: *const CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) {
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
    let mut executables = executables();
    let number = executables.made;
    executables.made += 1;
    // SAFETY: the driver has just written the handle there.
    let before = executables.living.insert(unsafe { *place } as usize, (number, clone));
    drop(executables);
    destroy_clone(before.map(|(_, clone)| clone));
}

/// Lists a new executable.
///
/// # Safety
/// The arguments are those of `cuGraphInstantiateWithParams`, which has returned `code`.
pub(crate) unsafe fn list_executable_with_params(
    code: u32,
    place: *const CUgraphExec,
    graph: CUgraph,
    params: *mut c_void,
) {
    if code == CUDA_SUCCESS {
        // SAFETY: the driver has just read the parameters, which begin with the flags.
        unsafe { list_executable(code, place, graph, *params.cast()) };
    }
}

/// Forgets the clone of an executable that was changed.
pub(crate) unsafe fn forget_clone(_: u32, executable: CUgraphExec) {
    let clone = executables()
        .living
        .get_mut(&(executable as usize))
        .map(|(_, clone)| std::mem::replace(clone, Err(UPDATED)));
    destroy_clone(clone);
}

/// Answers `cuGraphExecDestroy`. Forgets the executable first: the next one may have its address.
///
/// # Safety
/// The executable exists.
pub(crate) unsafe fn destroy_executable(executable: CUgraphExec) -> CUresult {
    let listed = executables().living.remove(&(executable as usize));
    destroy_clone(listed.map(|(_, clone)| clone));
    forwarders! { @body "cuGraphExecDestroy" (executable: CUgraphExec) }
}

fn destroy_clone(clone: Option<ClonedGraph>) {
    if let (Some(Ok(clone)), Some(destroy)) = (clone, unrecorded!(cuGraphDestroy(CUgraph))) {
        // SAFETY: nothing else has the clone.
        unsafe { destroy(clone as CUgraph) };
    }
}

/// Answers `cuGraphLaunch`.
///
/// # Safety
/// Both exist.
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
    let writes_memory_alone = watched_context().is_some() && writes_memory_alone(executable);
    add_enqueued(code, stream, Enqueued::Graph { writes_memory_alone });
    code
}

/// Returns true if each node of the executable's graph is known, and writes nothing but the device's memory.
fn writes_memory_alone(executable: CUgraphExec) -> bool {
    let known = || {
        let executables = executables();
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
            unsafe {
                kind_of(node, &raw mut kind) == CUDA_SUCCESS && MEMORY_WRITING_NODE_TYPES.contains(&kind)
            }
        });
        Some(counted == CUDA_SUCCESS && listed == CUDA_SUCCESS && alone)
    };
    known().unwrap_or(false)
}

/// Answers `cuGraphLaunch_ptsz`.
///
/// # Safety
/// Both exist.
pub(crate) unsafe fn launch_graph_ptsz(executable: CUgraphExec, stream: CUstream) -> CUresult {
    let stream = if stream.is_null() { PER_THREAD_STREAM } else { stream };
    // SAFETY: the caller's contract.
    unsafe { launch_graph(executable, stream) }
}

/// A capture that goes on.
struct ActiveCapture {
    number: c_ulonglong,
    graph: CUgraph,
    /// The nodes that the next work of the stream depends on, and their number.
    before: *const CUgraphNode,
    count: usize,
}

impl ActiveCapture {
    /// Returns the capture of a stream. `None` if the stream is not captured, or if its dependencies have data of their own.
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

/// Adds the graph of a listed executable to the graph that gpubench captures from `stream` on this thread. Returns the reason if that
/// is impossible, and no reason if gpubench does not capture it.
///
/// # Safety
/// The stream exists.
unsafe fn add_as_child(executable: CUgraphExec, stream: CUstream) -> Result<(), Option<&'static str>> {
    let executables = executables();
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
