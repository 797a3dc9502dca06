//! Chooses the path on which a case is sampled: graphs if CUDA graphs can capture its launches, otherwise the
//! stream. The method of the samples contains the reason for the stream.

use std::any::Any;

use gpubench_driver::{StreamOp, sys::CUstream};

use super::flush::PersistingL2Disabled;
use super::graph::{Capture, Node};
use super::{Cuda, guarded::Guarded, watch::calls};
use crate::device::{Clock, LaunchMode, Queue as _, SampleOptions, SamplerResult, Work};
use crate::method::{self, AnyWork, Chosen, choose_flush};
use gpubench_records::{Failure, Method, Path, Stage};

/// The driver result `CUDA_ERROR_STREAM_CAPTURE_UNJOINED`: another stream joined the capture, and the
/// captured stream was not made to wait for it.
const UNJOINED_CAPTURE: u32 = 904;

/// Returns a sampler of `work` with the options `wanted`. Launches `work` under capture to choose the path,
/// except in two cases that are sampled on the stream anyway: `wanted` requests the stream, or the work of
/// the host belongs to the launch.
pub(crate) fn sampler<'a>(
    device: &'a mut Cuda,
    work: &'a mut dyn Work,
    wanted: &SampleOptions,
) -> SamplerResult<'a> {
    let mut work = Guarded::checked(work, device);
    let flush = choose_flush(device, Path::Stream, wanted)?;
    let chosen = choose_path(device.stream, &mut work, wanted)?;
    let mut method = method_with_path(&flush, &chosen);
    let setting = disable_persisting_l2(&method)?;
    let launches_a_graph = matches!(device.checked.first().map(AsRef::as_ref), Some([(_, StreamOp::Graph)]));
    let is_chosen_by_user = wanted.path == Some(Path::Stream) || wanted.host_work;
    let mode = match (&chosen, &mut method.path_reason) {
        (Ok(captured), _) => LaunchMode { copied: !captured.is_single_operation, ..LaunchMode::RECORDED },
        (Err(_), Some(reason)) if launches_a_graph && !is_chosen_by_user => {
            reason.push_str("; the overhead of an empty graph is subtracted");
            LaunchMode { nested: true, ..LaunchMode::AT_ONCE }
        }
        (Err(_), _) => LaunchMode::AT_ONCE,
    };
    method::sampler(device, AnyWork::Owned(Box::new(work)), wanted, Chosen { mode, method, setting })
}

/// Returns a sampler of two interleaved `works` with the options `wanted`. Both are sampled in the same
/// graphs, or both on the stream if graphs cannot capture one of them. Both launch on the stream of the open
/// case.
pub(crate) fn pair_sampler<'a>(
    device: &'a mut Cuda,
    works: [&'a mut dyn Work; 2],
    wanted: &SampleOptions,
) -> SamplerResult<'a> {
    let flush = choose_flush(device, Path::Stream, wanted)?;
    let of_partner = |reason: &str| format!("the benchmark of --compare-with needs it: {reason}");
    let [mut a, mut b] = works.map(|work| Guarded::checked(work, device));
    let both =
        match (choose_path(device.stream, &mut a, wanted)?, choose_path(device.stream, &mut b, wanted)?) {
            (Err(reason), Ok(_)) => [Err(reason.clone()), Err(of_partner(&reason))],
            (Ok(_), Err(reason)) => [Err(of_partner(&reason)), Err(reason)],
            (a, b) => [a, b],
        };
    let [method, partner] = both.each_ref().map(|chosen| method_with_path(&flush, chosen));
    let setting = disable_persisting_l2(&method)?;
    let mode = match &both {
        [Ok(a), Ok(b)] => {
            let copied = !(a.is_single_operation && b.is_single_operation);
            // Events end early or late by up to 0.5 µs, depending on the grid, which differs between the two.
            let are_kernels = a.kernels == a.operations && b.kernels == b.operations;
            if are_kernels && device.stamps()?.is_some() {
                LaunchMode { copied: true, clock: Clock::Stamps, ..LaunchMode::RECORDED }
            } else {
                LaunchMode { copied, ..LaunchMode::RECORDED }
            }
        }
        _ => LaunchMode::AT_ONCE,
    };
    let works = [a, b].map(|work| AnyWork::Owned(Box::new(work)));
    Ok(method::pair_sampler(device, works, wanted, Chosen { mode, method, setting }, partner))
}

/// Disables persisting L2 until the returned value is dropped, if `method` has a flush. Returns `None` if
/// there is nothing to disable.
fn disable_persisting_l2(method: &Method) -> Result<Option<Box<dyn Any>>, Failure> {
    let disabled = PersistingL2Disabled::begin(method.flush)?;
    Ok(disabled.map(|disabled| Box::new(disabled) as Box<dyn Any>))
}

/// The numbers of kernels and of all operations that the capture of a launch contains.
struct CapturedWork {
    /// The number of kernels of the launch, without its reset.
    kernels: usize,
    /// The number of kernels, copies and memsets of the launch, without its reset.
    operations: usize,
    /// True if the launch, without its reset, is a single operation and nothing else.
    is_single_operation: bool,
}

/// Chooses the path of samples. In the inner result, `Ok` means graphs, with the operations of a launch, and
/// `Err` means the stream, with the reason as a phrase; both are normal. The outer result is a failure if the
/// user requests graphs and they cannot capture the launch, or if the launch cannot be sampled on any path.
fn choose_path(
    stream: CUstream,
    work: &mut Guarded<'_>,
    wanted: &SampleOptions,
) -> Result<Result<CapturedWork, String>, Failure> {
    let chosen = match wanted.host_work {
        true => Err("the host's part belongs to the launch (`host_work`)".into()),
        false => inspect_launch(stream, work)?,
    };
    if wanted.path == Some(Path::Stream) {
        return Ok(Err("asked for".into()));
    }
    if let (Err(reason), Some(Path::Graph)) = (&chosen, wanted.path) {
        return Err(Failure::new(Stage::Sampling, format_args!("--path graph cannot be had: {reason}")));
    }
    Ok(chosen)
}

/// Returns a copy of `with_flush`, the method of the stream with the chosen flush, completed for the path
/// that [`choose_path`] chose. For graphs, sets the path and the numbers of kernels and operations. For the
/// stream, sets the reason.
fn method_with_path(with_flush: &Method, chosen: &Result<CapturedWork, String>) -> Method {
    let mut method = with_flush.clone();
    match chosen {
        Ok(CapturedWork { kernels, operations, .. }) => {
            method.path = Path::Graph;
            (method.kernel_count, method.operations) = (Some(*kernels), Some(*operations));
        }
        Err(reason) => method.path_reason = Some(reason.clone()),
    }
    method
}

/// Captures a reset and one launch, and inspects the captured nodes. In the inner result, `Ok` has the
/// operations of the launch if graphs can capture it and run it again, and `Err` has the reason why they
/// cannot, as a phrase; both are normal. If the capture fails, launches twice more without capture.
///
/// The outer result is a failure if the launch cannot be sampled on any path: it enqueues nothing, other work
/// than the checked launch, or work on streams that the given stream does not wait for.
fn inspect_launch(stream: CUstream, work: &mut Guarded<'_>) -> Result<Result<CapturedWork, String>, Failure> {
    let capture = Capture::begin(stream)?;
    // Older failures do not belong to this launch.
    _ = gpubench_driver::take_failure();
    let reset = work.reset();
    let reset_nodes = capture.nodes().map_or(0, |nodes| nodes.len());
    let (launched, steps) = gpubench_driver::watch(|| reset.and_then(|()| work.launch()));
    // Ending the capture fails too; the cause comes first.
    let refused = gpubench_driver::take_failure();
    let (nodes, ended) = (capture.nodes(), capture.end());
    let is_unjoined =
        launched.is_ok() && ended.as_ref().is_err_and(|error| error.cause.code == UNJOINED_CAPTURE);
    let refused_or = |other: String| refused.as_ref().map_or(other, ToString::to_string);
    let failed = match (launched, &ended) {
        (Err(failure), _) => Some((failure.stage, refused_or(failure.message))),
        (Ok(()), Err(error)) => Some((Stage::Launch, refused_or(error.to_string()))),
        (Ok(()), Ok(_)) => None,
    };
    if let Some(failure) = work.launch_mismatch.take() {
        return Err(failure);
    }
    if let Some((stage, cause)) = failed {
        // A binding may keep the error of a refused capture and return it from its next call, as cudarc does.
        // One launch takes it; an error that is not of the capture comes again. The next shows the order of streams,
        // which may not be that of the checked launch.
        _ = work.launch();
        let (launched, steps) = gpubench_driver::watch(|| work.launch());
        _ = gpubench_driver::take_failure();
        return match is_unjoined || launched.is_ok() && calls::has_unordered_work(stream, &steps) {
            true => Err(calls::unordered_work_failure()),
            false => Ok(Err(format!("the {stage} cannot be captured: {cause}"))),
        };
    }
    let nodes = nodes?;
    if nodes.len() == reset_nodes {
        return Err(calls::no_work_failure());
    }
    if calls::has_unordered_work(stream, &steps) {
        return Err(calls::unordered_work_failure());
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
        return Ok(Err("the launch keeps memory allocated on the stream, or frees other memory".into()));
    }
    if allocations > 0 && operations == 0 {
        return Ok(Err("the launch does nothing but allocate memory".into()));
    }
    Ok(Ok(CapturedWork {
        kernels: of_launch.iter().filter(|node| **node == Node::Kernel).count(),
        operations,
        // A child graph is a node of another kind, and may have several operations.
        is_single_operation: operations == 1 && of_launch.len() == 1,
    }))
}
