//! Graphs and their nodes.

use crate::call::{Out, exports};
use crate::code::{INVALID_HANDLE, INVALID_VALUE};
use crate::driver::Driver;
use crate::work::{Place, Work};

use super::memory::{DEVICE, HOST};

/// One end of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct End {
    x: usize,
    y: usize,
    z: usize,
    lod: usize,
    memory: u32,
    host: usize,
    device: u64,
    array: usize,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`: what a copy's node does.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Copy3D {
    from: End,
    to: End,
    width: usize,
    height: usize,
    depth: usize,
}

const _: () = assert!(size_of::<Copy3D>() == 200, "as C has it");

fn end(place: Place) -> End {
    match place {
        Place::Device(device) => End { memory: DEVICE, device, ..End::default() },
        Place::Host(host) => End { memory: HOST, host, ..End::default() },
    }
}

/// The number of a node's kind.
fn kind(work: &Work) -> u32 {
    match work {
        Work::Kernel(_) => 0,
        Work::Copy { .. } => 1,
        Work::Memset(..) => 2,
        Work::HostFunction(..) => 3,
        Work::Child(_) => 4,
        Work::Wait(_) => 6,
        Work::Record(_) => 7,
        Work::Allocation => 10,
        Work::Free => 11,
    }
}

exports! {
    fn cuGraphGetNodes(driver, graph: usize, nodes: Out<usize>, count: Out<usize>) {
        let there = driver.graph(graph)?.nodes.len();
        if nodes.is_null() {
            return count.set(there);
        }
        for index in 0..count.get()?.min(there) {
            nodes.at(index).set(Driver::node_of(graph, index))?;
        }
        count.set(there)
    }

    fn cuGraphNodeGetType(driver, node: usize, place: Out<u32>) { place.set(kind(driver.node(node)?)) }

    fn cuGraphMemcpyNodeGetParams(driver, node: usize, place: Out<Copy3D>) {
        let Work::Copy { to, from, bytes } = driver.node(node)? else { return Err(INVALID_VALUE) };
        place.set(Copy3D { from: end(*from), to: end(*to), width: *bytes as usize, height: 1, depth: 1 })
    }

    fn cuGraphInstantiateWithFlags(driver, executable: Out<usize>, graph: usize, _flags: u64) {
        executable.set(driver.instantiate(graph)?)
    }

    fn cuGraphUpload(driver, executable: usize, _stream: usize) {
        driver.copy_graph(executable)
    }

    fn cuGraphLaunch(driver, executable: usize, stream: usize) { driver.replay(executable, stream) }

    fn cuGraphDestroy(driver, graph: usize) { driver.destroy_graph(graph) }

    fn cuGraphClone(driver, place: Out<usize>, graph: usize) { place.set(driver.clone_graph(graph)?) }

    // The nodes of a graph run one after the other, so that what a child depends on is known.
    fn cuGraphAddChildGraphNode(
        driver,
        node: Out<usize>,
        graph: usize,
        _dependencies: *const usize,
        _count: usize,
        child: usize,
    ) {
        let child = driver.clone_graph(child)?;
        let nodes = &mut driver.graphs.get_mut(&graph).ok_or(INVALID_HANDLE)?.nodes;
        nodes.push(Work::Child(child));
        let index = nodes.len() - 1;
        node.set(Driver::node_of(graph, index))
    }

    fn cuGraphChildGraphNodeGetGraph(driver, node: usize, place: Out<usize>) {
        let Work::Child(child) = driver.node(node)? else { return Err(INVALID_VALUE) };
        place.set(*child)
    }

    // Whether the graphs are alike is not looked at.
    fn cuGraphExecUpdate(driver, executable: usize, graph: usize, _node: *mut usize, result: Out<u32>) {
        let new = driver.instantiate(graph)?;
        let new = driver.executables.remove(&new).ok_or(INVALID_HANDLE)?;
        driver.executables.insert(executable, new).ok_or(INVALID_HANDLE)?;
        result.set(0)
    }

    fn cuGraphExecDestroy(driver, executable: usize) {
        driver.executables.remove(&executable).map(drop).ok_or(INVALID_HANDLE)
    }
}
