//! The executables of graphs that the program under test makes. The driver refuses to launch one on a stream that is captured. Here a
//! clone of its graph becomes a child of the captured one instead, which takes the same time.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulonglong};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::calls::{Enqueued, enqueued};
use crate::forward::forwarders;
use crate::launches::graph_launched;
use crate::library::{Function, unrecorded};
use crate::types::{CUDA_SUCCESS, CUgraph, CUgraphExec, CUgraphNode, CUresult, CUstream};

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`
const SET: c_uint = 1;
/// `CU_STREAM_CAPTURE_STATUS_ACTIVE`
const ACTIVE: c_uint = 1;

/// The living executables by address: the number of executables before each, and a clone of its graph, unless the driver refused to
/// clone it.
struct Executables {
    made: usize,
    living: BTreeMap<usize, (usize, Option<usize>)>,
}

static EXECUTABLES: Mutex<Executables> = Mutex::new(Executables { made: 0, living: BTreeMap::new() });

thread_local! {
    static UNLISTED: Cell<bool> = const { Cell::new(false) };
}

fn executables() -> MutexGuard<'static, Executables> {
    EXECUTABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body`. Executables that this thread makes meanwhile cost no clone of their graph, and cannot be launched on a captured stream.
pub fn unlisted_executables<T>(body: impl FnOnce() -> T) -> T {
    UNLISTED.set(true);
    let done = body();
    UNLISTED.set(false);
    done
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
pub(crate) unsafe fn instantiated(code: u32, place: *const CUgraphExec, graph: CUgraph) {
    if code != CUDA_SUCCESS || UNLISTED.get() {
        return;
    }
    let mut copy = null_mut();
    let clone = unrecorded!(cuGraphClone(*mut CUgraph, CUgraph))
        // SAFETY: the driver has just used the graph, and `copy` is a place for a handle.
        .filter(|clone| unsafe { clone(&raw mut copy, graph) } == CUDA_SUCCESS)
        .map(|_| copy as usize);
    let mut executables = executables();
    let number = executables.made;
    executables.made += 1;
    // SAFETY: the driver has just written the handle there.
    let before = executables.living.insert(unsafe { *place } as usize, (number, clone));
    drop(executables);
    destroy_clone(before);
}

/// Forgets an executable that was changed or destroyed.
pub(crate) unsafe fn executable_changed(_: u32, executable: CUgraphExec) {
    destroy_clone(executables().living.remove(&(executable as usize)));
}

/// Destroys the clone of an executable that is no longer listed.
fn destroy_clone(listed: Option<(usize, Option<usize>)>) {
    if let (Some((_, Some(clone))), Some(destroy)) = (listed, unrecorded!(cuGraphDestroy(CUgraph))) {
        // SAFETY: nothing else has the clone.
        unsafe { destroy(clone as CUgraph) };
    }
}

/// Answers `cuGraphLaunch`.
///
/// # Safety
/// Both exist.
pub(crate) unsafe fn launch_graph(executable: CUgraphExec, stream: CUstream) -> CUresult {
    // SAFETY: the caller's contract.
    match unsafe { add_as_child(executable, stream) } {
        Some(code) => {
            enqueued(code, stream, Enqueued::Graph);
            code
        }
        None => {
            forwarders! { @body "cuGraphLaunch" (executable: CUgraphExec, stream: CUstream) | graph_launched(stream) }
        }
    }
}

/// Adds the graph of an executable to the graph that is captured from `stream`. Returns `None` if the stream is not captured, or if there
/// is no clone of the graph.
///
/// # Safety
/// The stream exists.
unsafe fn add_as_child(executable: CUgraphExec, stream: CUstream) -> Option<CUresult> {
    let executables = executables();
    let child = executables.living.get(&(executable as usize))?.1? as CUgraph;
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
    let add =
        unrecorded!(cuGraphAddChildGraphNode(*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, CUgraph))?;
    let update = unrecorded!(cuStreamUpdateCaptureDependencies(CUstream, *mut CUgraphNode, usize, c_uint))?;
    let (mut status, mut graph, mut node) = (0, null_mut(), null_mut());
    let (mut before, mut count) = (std::ptr::null(), 0);
    // SAFETY: the stream exists. There are places for the results but the identifier, which is not asked for.
    let asked =
        unsafe { info(stream, &raw mut status, null_mut(), &raw mut graph, &raw mut before, &raw mut count) };
    // Only a capture that goes on has a graph, and dependencies without data of their own.
    if asked != CUDA_SUCCESS || status != ACTIVE || graph.is_null() {
        return None;
    }
    // SAFETY: the clone lives as long as it is listed. `before` are nodes of the captured graph, until that has the new one.
    Some(unsafe {
        match add(&raw mut node, graph, before, count, child) {
            CUDA_SUCCESS => update(stream, &raw mut node, 1, SET),
            refused => refused,
        }
    })
}
