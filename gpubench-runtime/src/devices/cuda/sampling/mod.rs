//! Chooses the path on which a case is sampled, and samples it. In: a launch and the user's options; out: a
//! [`Sampler`], on a graph if one can stand for the launch, otherwise on the stream, with the reason.

pub(crate) mod clocks;
pub(crate) mod empty;
pub(crate) mod graph;
pub(crate) mod graph_path;
pub(crate) mod path;
pub(crate) mod samples;
pub(crate) mod timer;

use gpubench_driver::{StreamOp, sys::CUstream};

use self::empty::Empty;
use self::graph::{Capture, Node};
use self::graph_path::GraphPath;
use self::path::{SamplingPath, StreamPath};
use self::samples::{SamplingState, Works};
use super::flush::{Suspended, choose_flush};
use super::{Cuda, guarded::Guarded, watch::calls};
use crate::device::{SampleOptions, SampledGroup, Sampler, Work};
use gpubench_records::{Cache, Failure, Method, Path, Stage, Timer};
use gpubench_stats::{Nanoseconds, format};

/// `CUDA_ERROR_STREAM_CAPTURE_UNJOINED`
const UNJOINED: u32 = 904;

/// Prepares to sample `work` as `wanted`.
pub(crate) fn sampler<'a>(
    device: &'a mut Cuda,
    work: &'a mut dyn Work,
    wanted: &SampleOptions,
) -> Result<Box<dyn Sampler + 'a>, Failure> {
    let mut work = Guarded::compared(work, device);
    let flush = choose_flush(device, wanted)?;
    let chosen = choose_path(device.stream, &mut work, wanted)?;
    let mut method = method(&flush, &chosen);
    let suspended = Suspended::begin(flush.flush)?;
    let mut empty = Empty::beside(device, method.path, wanted.cache);
    let launches_a_graph = matches!(device.checked.first().map(AsRef::as_ref), Some([(_, StreamOp::Graph)]));
    let is_chosen_by_user = wanted.path == Some(Path::Stream) || wanted.host_work;
    if let (Err(_), Some(reason), true, false) =
        (&chosen, &mut method.path_reason, launches_a_graph, is_chosen_by_user)
    {
        empty = empty.into_graph()?;
        reason.push_str("; the overhead of an empty graph is subtracted");
    }
    let samples = SamplingState::new(device, Works::Beside(work, empty), wanted, flush.flush)?;
    let path = match chosen {
        Ok(captured) => SamplingPath::Graph(GraphPath::new(samples).with_copies(!captured.stands_alone)),
        Err(_) => SamplingPath::Stream(samples, StreamPath::default()),
    };
    Ok(Box::new(CudaSampler { path, method, partner: None, moves: wanted.moves, _suspended: suspended }))
}

/// Prepares to sample both `works` as `wanted`: within the same graphs, or both on the stream if a graph cannot stand for one of them. Both
/// use the open stream.
pub(crate) fn pair_sampler<'a>(
    device: &'a mut Cuda,
    works: [&'a mut dyn Work; 2],
    wanted: &SampleOptions,
) -> Result<Box<dyn Sampler + 'a>, Failure> {
    let flush = choose_flush(device, wanted)?;
    let of_partner = |reason: &str| format!("the launch that it is compared with is there: {reason}");
    let [mut a, mut b] = works.map(|work| Guarded::compared(work, device));
    let both =
        match (choose_path(device.stream, &mut a, wanted)?, choose_path(device.stream, &mut b, wanted)?) {
            (Err(reason), Ok(_)) => [Err(reason.clone()), Err(of_partner(&reason))],
            (Ok(_), Err(reason)) => [Err(of_partner(&reason)), Err(reason)],
            (a, b) => [a, b],
        };
    let [method, partner] = both.each_ref().map(|chosen| method(&flush, chosen));
    let suspended = Suspended::begin(flush.flush)?;
    let samples = SamplingState::new(device, Works::Two([a, b]), wanted, flush.flush)?;
    let path = match both {
        [Ok(a), Ok(b)] => {
            let path = GraphPath::new(samples).with_copies(!(a.stands_alone && b.stands_alone));
            // Events end early or late by up to 0.5 µs, depending on the grid, which differs between the two.
            let are_kernels = a.kernels == a.pieces && b.kernels == b.pieces;
            SamplingPath::Graph(if are_kernels { path.by_stamps()? } else { path })
        }
        _ => SamplingPath::Stream(samples, StreamPath::default()),
    };
    Ok(Box::new(CudaSampler { path, method, partner: Some(partner), moves: false, _suspended: suspended }))
}

/// The work of a launch in a captured graph.
#[derive(Clone, Copy)]
struct Captured {
    kernels: usize,
    /// Kernels, copies and memsets.
    pieces: usize,
    /// True if it is one of these, and nothing else.
    stands_alone: bool,
}

/// Decides on the path. Returns what a launch consists of if a graph is wanted and can stand for it, otherwise the
/// reason for the stream.
fn choose_path(
    stream: CUstream,
    work: &mut Guarded<'_>,
    wanted: &SampleOptions,
) -> Result<Result<Captured, String>, Failure> {
    let chosen = match wanted.path {
        Some(Path::Stream) => Err("asked for".into()),
        _ if wanted.host_work => Err("the host's part belongs to the launch (`host_work`)".into()),
        _ => inspect_launch(stream, work)?,
    };
    if let (Err(reason), Some(Path::Graph)) = (&chosen, wanted.path) {
        return Err(Failure::new(Stage::Sampling, format_args!("--path graph cannot be had: {reason}")));
    }
    Ok(chosen)
}

/// Returns the method for a launch, from the answer of [`choose_path`].
fn method(of_flush: &Method, chosen: &Result<Captured, String>) -> Method {
    let mut method = of_flush.clone();
    match chosen {
        Ok(Captured { kernels, pieces, .. }) => {
            method.path = Path::Graph;
            (method.kernel_count, method.operations) = (Some(*kernels), Some(*pieces));
        }
        Err(reason) => method.path_reason = Some(reason.clone()),
    }
    method
}

/// Captures one launch and its reset before it, and inspects the captured nodes. Returns what the launch consists of if a
/// graph can stand for it, otherwise the reason.
fn inspect_launch(stream: CUstream, work: &mut Guarded<'_>) -> Result<Result<Captured, String>, Failure> {
    let capture = Capture::begin(stream)?;
    // Older failures do not belong to this launch.
    _ = gpubench_driver::take_failure();
    let reset = work.reset();
    let before = capture.nodes().map_or(0, |nodes| nodes.len());
    let (launched, steps) = gpubench_driver::watch(|| reset.and_then(|()| work.launch()));
    // Ending the capture fails too; the cause comes first.
    let refused = gpubench_driver::take_failure().map(|call| call.to_string());
    let nodes = capture.nodes();
    let ended = capture.end();
    if let (Ok(()), Err(error)) = (&launched, &ended)
        && error.cause.code() == UNJOINED
    {
        let seen = "a stream that was made to wait for the given one is never waited for by it";
        return Err(calls::work_elsewhere(seen));
    }
    let failed = match (launched, &ended) {
        (Err(failure), _) => Some((failure.stage, refused.unwrap_or(failure.message))),
        (Ok(()), Err(error)) => Some((Stage::Launch, refused.unwrap_or_else(|| error.to_string()))),
        (Ok(()), Ok(_)) => None,
    };
    if let Some(failure) = work.take_another() {
        return Err(failure);
    }
    if let Some((stage, cause)) = failed {
        // A binding may keep the error of a refused capture and return it from its next call, as cudarc does. One launch
        // takes it; an error that is not of the capture comes again.
        _ = work.launch();
        _ = gpubench_driver::take_failure();
        return Ok(Err(format!("the {stage} cannot be captured: {cause}")));
    }
    let nodes = nodes?;
    if nodes.len() == before {
        return Err(calls::no_work());
    }
    let escaped = calls::escaped(stream, &steps);
    if escaped > 0 {
        let pieces = format::counted(escaped, "piece");
        let seen =
            format!("{pieces} of the launch's work went to a stream that the given one does not wait for");
        return Err(calls::work_elsewhere(&seen));
    }
    if calls::some_at_once(stream, &steps) {
        return Ok(Err("the host waits for work of the launch on another stream".into()));
    }
    let speaks_against = |node: &Node| match node {
        Node::PageableCopy => Some("the launch copies from or to pageable host memory"),
        Node::HostFunction => Some("the launch calls a function on the host"),
        Node::Kernel | Node::Copy | Node::Memset | Node::Allocation | Node::Free | Node::Other => None,
    };
    if let Some(reason) = nodes.iter().find_map(speaks_against) {
        return Ok(Err(reason.into()));
    }
    let of_launch = &nodes[before..];
    let is_piece = |node: &&Node| matches!(node, Node::Kernel | Node::Copy | Node::Memset);
    let pieces = of_launch.iter().filter(is_piece).count();
    let count = |kind| nodes.iter().filter(|node| **node == kind).count();
    let (allocations, frees) = (count(Node::Allocation), count(Node::Free));
    // A graph runs again only if its memory was freed.
    if allocations != frees {
        return Ok(Err(
            "the launch keeps memory that it allocates on the stream, or frees other memory".into()
        ));
    }
    if allocations > 0 && pieces == 0 {
        return Ok(Err("the launch does nothing but allocate memory".into()));
    }
    Ok(Ok(Captured {
        kernels: of_launch.iter().filter(|node| **node == Node::Kernel).count(),
        pieces,
        // A graph within it is no piece, and may have several.
        stands_alone: pieces == 1 && of_launch.len() == 1,
    }))
}

struct CudaSampler<'a> {
    path: SamplingPath<'a>,
    method: Method,
    /// The method of the second of two works.
    partner: Option<Method>,
    moves: bool,
    _suspended: Option<Suspended>,
}

impl Sampler for CudaSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        self.path.group(if self.partner.is_some() { 2 * samples } else { samples })
    }

    fn relocate_inputs(&mut self, place: u64) -> Result<bool, Failure> {
        match &mut self.path {
            // A launch of several kernels is also timed on the stream, and compared with its time in the graph.
            SamplingPath::Graph(path) if self.moves && self.method.operations == Some(1) => {
                path.relocate_inputs(place)
            }
            _ => Ok(false),
        }
    }

    fn restore_inputs(&mut self) {
        if let SamplingPath::Graph(path) = &mut self.path {
            path.restore_inputs();
        }
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::of(&mut self.path)
    }

    fn begin(&mut self, timer: Timer) -> Result<Timer, Failure> {
        self.restart()?;
        Ok(timer)
    }

    fn restart(&mut self) -> Result<(), Failure> {
        match &mut self.path {
            // Stamps are no clock for the start of a copy engine.
            SamplingPath::Graph(path) if self.method.kernel_count == self.method.operations => {
                path.take_stamps()
            }
            _ => Ok(()),
        }
    }

    fn method(&self) -> Method {
        self.method.clone()
    }

    fn partner_method(&self) -> Option<Method> {
        self.partner.clone()
    }

    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        if self.path.samples().works.first().resets() {
            return Ok(None);
        }
        match &mut self.path {
            SamplingPath::Graph(path) => path.back_to_back(launches).map(Some),
            SamplingPath::Stream(samples, _) => {
                (0..launches).try_for_each(|_| samples.works.first().launch())?;
                samples.wait()?;
                Ok(Some(launches))
            }
        }
    }

    fn call(&mut self) -> Option<Nanoseconds> {
        let samples = self.path.samples();
        samples.works.first().call.filter(|_| !samples.host_work)
    }

    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let SamplingPath::Graph(path) = &mut self.path else { return Ok(None) };
        // Inputs that need a reset do not allow back-to-back launches.
        let repeats = path.samples.cache == Cache::Hot && !path.samples.works.first().resets();
        if repeats { timer::in_a_row(path).map(Some) } else { Ok(None) }
    }

    fn held(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let overhead = self.timer()?.overhead;
        let SamplingPath::Stream(samples, path) = &mut self.path else { return Ok(None) };
        Ok(path.held(samples)?.map(|event| event - overhead))
    }

    fn on_stream(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let several = self.method.operations.is_some_and(|pieces| pieces > 1);
        match &mut self.path {
            SamplingPath::Graph(path) if several => timer::on_stream(&mut path.samples).map(Some),
            _ => Ok(None),
        }
    }
}
