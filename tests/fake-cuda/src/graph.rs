//! Graphs: captured work that can be launched repeatedly.

use std::sync::Arc;

use crate::code::{Code, INVALID_HANDLE, NOT_SUPPORTED};
use crate::driver::{Answer, Driver};
use crate::model::GRAPH;
use crate::stream::named;
use crate::work::Work;

/// Handles of graphs are multiples of this; those of their nodes lie between.
const SPACING: usize = 1 << 24;

/// A graph. Its nodes run one after the other.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Work>,
}

/// A graph that is ready to run.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    nodes: Arc<[Work]>,
    /// True if it lies on the device: it was copied there, or has run.
    copied: bool,
    /// The error of each node's place.
    errors: Arc<[f64]>,
}

impl Driver {
    /// A new graph's handle.
    pub(crate) fn new_graph(&mut self) -> usize {
        let handle = self.handle() * SPACING;
        self.graphs.insert(handle, Graph::default());
        handle
    }

    pub(crate) fn graph(&self, graph: usize) -> Result<&Graph, Code> {
        self.graphs.get(&graph).ok_or(INVALID_HANDLE)
    }

    /// The handle of a graph's node.
    pub(crate) fn node_of(graph: usize, index: usize) -> usize {
        graph + index + 1
    }

    /// The work of a node.
    pub(crate) fn node(&self, node: usize) -> Result<&Work, Code> {
        let graph = self.graph(node / SPACING * SPACING)?;
        (node % SPACING).checked_sub(1).and_then(|index| graph.nodes.get(index)).ok_or(INVALID_HANDLE)
    }

    /// Copies a graph and its children. The driver clones none that allocates memory.
    pub(crate) fn clone_graph(&mut self, graph: usize) -> Result<usize, Code> {
        let mut nodes = self.graph(graph)?.nodes.clone();
        for node in &mut nodes {
            match node {
                Work::Allocation | Work::Free => return Err(NOT_SUPPORTED),
                Work::Child(child) => *child = self.clone_graph(*child)?,
                _ => {}
            }
        }
        let copy = self.new_graph();
        self.graphs.insert(copy, Graph { nodes });
        Ok(copy)
    }

    /// Removes a graph and its children.
    pub(crate) fn destroy_graph(&mut self, graph: usize) -> Answer {
        let Graph { nodes } = self.graphs.remove(&graph).ok_or(INVALID_HANDLE)?;
        nodes.iter().try_for_each(|node| match node {
            Work::Child(child) => self.destroy_graph(*child),
            _ => Ok(()),
        })
    }

    /// The work of a graph, with that of each child in its place.
    fn flat(&self, graph: usize) -> Result<Vec<Work>, Code> {
        let mut flat = Vec::new();
        for node in &self.graph(graph)?.nodes {
            match node {
                Work::Child(child) => flat.append(&mut self.flat(*child)?),
                work => flat.push(work.clone()),
            }
        }
        Ok(flat)
    }

    pub(crate) fn instantiate(&mut self, graph: usize) -> Result<usize, Code> {
        let nodes: Arc<[Work]> = self.flat(graph)?.into();
        let errors = self.config.delays.of_places(&nodes, &mut self.unrest);
        let executable = Executable { nodes, copied: false, errors };
        let handle = self.handle();
        self.executables.insert(handle, executable);
        Ok(handle)
    }

    pub(crate) fn replay(&mut self, executable: usize, stream: usize) -> Answer {
        let stream = named(stream);
        let Executable { nodes, copied, errors } =
            self.executables.get(&executable).ok_or(INVALID_HANDLE)?.clone();
        self.refuse_if_captured(stream)?;
        self.refuse_null(stream)?;
        let begin = self.begin(stream);
        self.log.add(begin, GRAPH, Some(stream), format_args!("graph {}", nodes.len()));
        self.stream(stream)?.done = begin + GRAPH;
        self.delayed.is_cold = false;
        self.copy_graph(executable)?;
        let replayed = nodes.iter().zip(errors.iter()).try_for_each(|(node, error)| {
            self.delayed.place = *error;
            self.perform(stream, node)?;
            self.delayed.is_cold |= self.config.delays.is_flush(node, self.config.l2);
            self.delayed.waits_for_copy = !copied && matches!(node, Work::Kernel(_));
            Ok(())
        });
        self.delayed.place = 0.0;
        (self.delayed.is_cold, self.delayed.waits_for_copy) = (false, false);
        replayed
    }

    /// Copies a graph to the device.
    pub(crate) fn copy_graph(&mut self, executable: usize) -> Answer {
        self.executables.get_mut(&executable).ok_or(INVALID_HANDLE)?.copied = true;
        Ok(())
    }
}
