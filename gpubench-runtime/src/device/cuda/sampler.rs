//! Chooses the path on which a case is sampled, and samples it. In: a launch and what is wanted; out: a [`Sampler`], on a
//! graph where one can stand for the launch, else on the stream with the reason.

use cust::sys::CUstream;

use super::Cuda;
use super::graph::{Capture, Node};
use super::graph_path::GraphPath;
use super::samples::Samples;
use super::stream_path::StreamPath;
use super::timer;
use crate::device::{Cache, Flush, Group, Method, Path, Sampler, Timer, Wanted, Work};
use crate::failure::{Failure, Stage};
use crate::units::Nanoseconds;

/// Prepares to sample `work` as `wanted`.
pub(super) fn sampler<'a>(
    device: &'a mut Cuda,
    work: &'a mut dyn Work,
    wanted: &Wanted,
) -> Result<Box<dyn Sampler + 'a>, Failure> {
    let flush = match wanted.cache {
        Cache::Hot => Flush::None,
        Cache::Cold => wanted.flush.unwrap_or_else(|| device.usual_flush()),
    };
    if flush == Flush::Discard && device.kernels.discard.is_none() {
        let message = "this GPU cannot discard lines of its L2 (compute capability 8.0 can): --flush read, write or none";
        return Err(Failure::new(Stage::Device, message));
    }
    let why_not_graph = match wanted.path {
        Some(Path::Stream) => Some("asked for".to_owned()),
        _ => why_not_graph(device.stream, work)?,
    };
    if let (Some(reason), Some(Path::Graph)) = (&why_not_graph, wanted.path) {
        return Err(Failure::new(Stage::Sampling, format_args!("--path graph cannot be had: {reason}")));
    }
    let samples = Samples::new(device, work, wanted.cache, flush)?;
    Ok(match why_not_graph {
        None => Box::new(OnGraph(GraphPath::new(samples))),
        Some(reason) => Box::new(OnStream { path: StreamPath::new(samples), reason }),
    })
}

/// Captures one launch, its reset before it, and looks at what they put on the stream. `None` if a graph of it can stand for it.
fn why_not_graph(stream: CUstream, work: &mut dyn Work) -> Result<Option<String>, Failure> {
    let capture = Capture::begin(stream)?;
    // Older failures are not this launch's.
    _ = gpubench_driver::take_failure();
    let reset = work.reset();
    let before = capture.nodes().map_or(0, |nodes| nodes.len());
    let launched = reset.and_then(|()| work.launch());
    // Ending the capture fails too; what made it fail comes first.
    let refused = gpubench_driver::take_failure().map(|call| call.to_string());
    let nodes = capture.nodes();
    let ended = capture.end();
    let why = match (launched, &ended) {
        (Err(failure), _) => Some((failure.stage, refused.unwrap_or(failure.message))),
        (Ok(()), Err(error)) => Some((Stage::Launch, refused.unwrap_or_else(|| error.to_string()))),
        (Ok(()), Ok(_)) => None,
    };
    if let Some((stage, why)) = why {
        return Ok(Some(format!("the {stage} cannot be captured: {why}")));
    }
    let nodes = nodes?;
    if nodes.len() == before {
        let message = "no work on its stream: the launch enqueued nothing on the stream that it was given";
        return Err(Failure::new(Stage::Launch, message));
    }
    let speaks_against = |node: &Node| match node {
        Node::PageableCopy => Some("the launch copies from or to pageable host memory"),
        Node::HostFunction => Some("the launch calls a function on the host"),
        Node::Allocation => Some("the launch allocates or frees memory"),
        Node::Kernel | Node::Copy | Node::Memset | Node::Other => None,
    };
    Ok(nodes.iter().find_map(speaks_against).map(str::to_owned))
}

struct OnGraph<'a>(GraphPath<'a>);

impl Sampler for OnGraph<'_> {
    fn group(&mut self, samples: usize) -> Result<Group, Failure> {
        self.0.group(samples)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::of_graphs(self.0.samples.device)
    }

    fn method(&self) -> Method {
        Method { path: Path::Graph, path_reason: None, flush: self.0.samples.flush }
    }

    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        // What must be reset cannot be launched again and again.
        let samples = &self.0.samples;
        let repeats = samples.cache == Cache::Hot && !samples.work.resets();
        if repeats { timer::in_a_row(&mut self.0).map(Some) } else { Ok(None) }
    }
}

struct OnStream<'a> {
    path: StreamPath<'a>,
    reason: String,
}

impl Sampler for OnStream<'_> {
    fn group(&mut self, samples: usize) -> Result<Group, Failure> {
        self.path.group(samples)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::of_streams(self.path.samples.device)
    }

    fn method(&self) -> Method {
        Method { path: Path::Stream, path_reason: Some(self.reason.clone()), flush: self.path.samples.flush }
    }
}
