//! Chooses the path on which a case is sampled, and samples it: in graphs if CUDA graphs can capture the launch, otherwise on the stream,
//! with the reason.

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
use super::flush::{PersistingL2Disabled, choose_flush};
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
    let persisting_l2 = PersistingL2Disabled::begin(flush.flush)?;
    let mut empty = Empty::matching(device, method.path, wanted.cache);
    let launches_a_graph = matches!(device.checked.first().map(AsRef::as_ref), Some([(_, StreamOp::Graph)]));
    let is_chosen_by_user = wanted.path == Some(Path::Stream) || wanted.host_work;
    if let (Err(_), Some(reason), true, false) =
        (&chosen, &mut method.path_reason, launches_a_graph, is_chosen_by_user)
    {
        empty = empty.into_graph()?;
        reason.push_str("; the overhead of an empty graph is subtracted");
    }
    let samples = SamplingState::new(device, Works::InterleavedWithEmpty(work, empty), wanted, flush.flush)?;
    let path = match chosen {
        Ok(captured) => {
            SamplingPath::Graph(GraphPath::new(samples).with_copies(!captured.is_single_operation))
        }
        Err(_) => SamplingPath::Stream(samples, StreamPath::default()),
    };
    Ok(Box::new(CudaSampler {
        path,
        method,
        partner: None,
        relocates_inputs: wanted.relocates_inputs,
        _persisting_l2: persisting_l2,
    }))
}

/// Prepares to sample both `works` as `wanted`: within the same graphs, or both on the stream if graphs cannot capture one of them. Both
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
    let persisting_l2 = PersistingL2Disabled::begin(flush.flush)?;
    let samples = SamplingState::new(device, Works::Two([a, b]), wanted, flush.flush)?;
    let path = match both {
        [Ok(a), Ok(b)] => {
            let path = GraphPath::new(samples).with_copies(!(a.is_single_operation && b.is_single_operation));
            // Events end early or late by up to 0.5 µs, depending on the grid, which differs between the two.
            let are_kernels = a.kernels == a.operations && b.kernels == b.operations;
            SamplingPath::Graph(if are_kernels { path.with_stamps()? } else { path })
        }
        _ => SamplingPath::Stream(samples, StreamPath::default()),
    };
    Ok(Box::new(CudaSampler {
        path,
        method,
        partner: Some(partner),
        relocates_inputs: false,
        _persisting_l2: persisting_l2,
    }))
}

/// The work of a launch in a captured graph.
#[derive(Clone, Copy)]
struct Captured {
    kernels: usize,
    /// The number of kernels, copies and memsets.
    operations: usize,
    /// True if the launch is a single operation.
    is_single_operation: bool,
}

/// Decides on the path. Returns the work of a launch if graphs are wanted and can capture it, otherwise the reason for the stream.
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

/// Returns the method for a launch, from the result of [`choose_path`].
fn method(of_flush: &Method, chosen: &Result<Captured, String>) -> Method {
    let mut method = of_flush.clone();
    match chosen {
        Ok(Captured { kernels, operations, .. }) => {
            method.path = Path::Graph;
            (method.kernel_count, method.operations) = (Some(*kernels), Some(*operations));
        }
        Err(reason) => method.path_reason = Some(reason.clone()),
    }
    method
}

/// Captures one launch and the reset before it, and inspects the captured nodes. Returns the work of the launch if graphs can capture it,
/// otherwise the reason.
fn inspect_launch(stream: CUstream, work: &mut Guarded<'_>) -> Result<Result<Captured, String>, Failure> {
    let capture = Capture::begin(stream)?;
    // Older failures do not belong to this launch.
    _ = gpubench_driver::take_failure();
    let reset = work.reset();
    let reset_nodes = capture.nodes().map_or(0, |nodes| nodes.len());
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
    if let Some(failure) = work.take_launch_mismatch() {
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
    if nodes.len() == reset_nodes {
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
    let of_launch = &nodes[reset_nodes..];
    let is_operation = |node: &&Node| matches!(node, Node::Kernel | Node::Copy | Node::Memset);
    let operations = of_launch.iter().filter(is_operation).count();
    let count = |kind| nodes.iter().filter(|node| **node == kind).count();
    let (allocations, frees) = (count(Node::Allocation), count(Node::Free));
    // A graph runs again only if its memory was freed.
    if allocations != frees {
        return Ok(Err(
            "the launch keeps memory that it allocates on the stream, or frees other memory".into()
        ));
    }
    if allocations > 0 && operations == 0 {
        return Ok(Err("the launch does nothing but allocate memory".into()));
    }
    Ok(Ok(Captured {
        kernels: of_launch.iter().filter(|node| **node == Node::Kernel).count(),
        operations,
        // A child graph is a node of another kind, and may have several operations.
        is_single_operation: operations == 1 && of_launch.len() == 1,
    }))
}

struct CudaSampler<'a> {
    path: SamplingPath<'a>,
    method: Method,
    /// The method of the second of two works.
    partner: Option<Method>,
    relocates_inputs: bool,
    _persisting_l2: Option<PersistingL2Disabled>,
}

impl Sampler for CudaSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        self.path.group(if self.partner.is_some() { 2 * samples } else { samples })
    }

    fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        match &mut self.path {
            // A launch of several kernels is also timed on the stream, and compared with its time in the graph.
            SamplingPath::Graph(path) if self.relocates_inputs && self.method.operations == Some(1) => {
                path.relocate_inputs(allocation_seed)
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
        timer::calibrated(&mut self.path)
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

    fn min_host_call_time(&mut self) -> Option<Nanoseconds> {
        let samples = self.path.samples();
        samples.works.first().min_host_call_time.filter(|_| !samples.host_work)
    }

    fn marginal_launch_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let SamplingPath::Graph(path) = &mut self.path else { return Ok(None) };
        // Inputs that need a reset do not allow back-to-back launches.
        let repeats = path.samples.cache == Cache::Hot && !path.samples.works.first().resets();
        if repeats { timer::marginal_launch_time(path).map(Some) } else { Ok(None) }
    }

    fn prequeued_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let overhead = self.timer()?.overhead;
        let SamplingPath::Stream(samples, path) = &mut self.path else { return Ok(None) };
        Ok(path.prequeued_time(samples)?.map(|event| event - overhead))
    }

    fn stream_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        let several = self.method.operations.is_some_and(|operations| operations > 1);
        match &mut self.path {
            SamplingPath::Graph(path) if several => timer::stream_time(&mut path.samples).map(Some),
            _ => Ok(None),
        }
    }
}
