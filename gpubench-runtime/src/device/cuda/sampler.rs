//! Samples of a case, taken on the GPU: reset, flush, event, launch, event, many times over, then one synchronisation. In: a
//! launch; out: event times. The same work is enqueued on either path: captured once into a graph and replayed, or put on
//! the stream behind a delay, so that the GPU never waits for the CPU between an event and the launch.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cust::sys::{self, CUstream};

use super::Cuda;
use super::call::{CallError, check};
use super::event::{Event, Pair};
use super::graph::{Capture, Executable, Node};
use super::timer;
use crate::device::{Cache, Flush, Group, Method, Path, Sampler, Timer, Wanted, Work};
use crate::failure::{Failure, Stage};
use crate::units::Nanoseconds;

/// The stream path enqueues no more at once than the launch queue takes without blocking.
const LONGEST_QUEUE: usize = 64;
/// The longest that a group on the stream path is held back.
const LONGEST_DELAY: Duration = Duration::from_millis(2);

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
    let cache = wanted.cache;
    match (why_not_graph, wanted.path) {
        (None, _) => Ok(Box::new(GraphSampler {
            samples: Samples::new(device, work, cache, flush)?,
            graphs: HashMap::new(),
        })),
        (Some(reason), Some(Path::Graph)) => {
            Err(Failure::new(Stage::Sampling, format_args!("--path graph cannot be had: {reason}")))
        }
        (Some(reason), _) => {
            let samples = Samples::new(device, work, cache, flush)?;
            Ok(Box::new(StreamSampler {
                samples,
                reason,
                enqueueing: Duration::from_micros(200),
                longest: LONGEST_QUEUE,
            }))
        }
    }
}

/// Captures one launch and looks at what it put on the stream. `None` if a graph of it can stand for it.
fn why_not_graph(stream: CUstream, work: &mut dyn Work) -> Result<Option<String>, Failure> {
    let capture = Capture::begin(stream)?;
    // Older failures are not this launch's.
    _ = gpubench_driver::take_failure();
    let launched = work.launch();
    // Ending the capture fails too; what made it fail comes first.
    let refused = gpubench_driver::take_failure().map(|call| call.to_string());
    let nodes = capture.nodes();
    let ended = capture.end();
    let why = match (launched, &ended) {
        (Err(failure), _) => Some(refused.unwrap_or(failure.message)),
        (Ok(()), Err(error)) => Some(refused.unwrap_or_else(|| error.to_string())),
        (Ok(()), Ok(_)) => None,
    };
    if let Some(why) = why {
        return Ok(Some(format!("the launch cannot be captured: {why}")));
    }
    let nodes = nodes?;
    if nodes.is_empty() {
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

/// What both paths share: the work, what goes before it, and the events around it.
pub(super) struct Samples<'a> {
    pub(super) device: &'a mut Cuda,
    work: &'a mut dyn Work,
    cache: Cache,
    pub(super) flush: Flush,
    whole: Pair,
}

impl<'a> Samples<'a> {
    pub(super) fn new(
        device: &'a mut Cuda,
        work: &'a mut dyn Work,
        cache: Cache,
        flush: Flush,
    ) -> Result<Self, Failure> {
        Ok(Self { device, work, cache, flush, whole: Pair::new()? })
    }

    fn stream(&self) -> CUstream {
        self.device.stream
    }

    /// Puts `count` samples on the stream, their events recorded by `record`.
    fn enqueue(
        &mut self,
        count: usize,
        record: fn(&Event, CUstream) -> Result<(), CallError>,
    ) -> Result<(), Failure> {
        let stream = self.stream();
        if self.cache == Cache::Hot {
            self.work.launch()?;
        }
        for pair in &self.device.pairs[..count] {
            self.device.flusher.enqueue(self.flush, &self.device.kernels, stream)?;
            record(&pair.start, stream)?;
            self.work.launch()?;
            record(&pair.stop, stream)?;
        }
        Ok(())
    }

    /// Waits for the stream and reads the first `count` pairs.
    fn read(&self, count: usize) -> Result<Group, Failure> {
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(self.stream()) })?;
        let events = self.device.pairs[..count].iter().map(Pair::read);
        Ok(Group { events: events.collect::<Result<_, _>>()?, elapsed: self.whole.read()? })
    }
}

/// Captures a group once for each size, and replays it.
pub(super) struct GraphSampler<'a> {
    pub(super) samples: Samples<'a>,
    pub(super) graphs: HashMap<usize, Executable>,
}

impl GraphSampler<'_> {
    fn capture(&mut self, count: usize) -> Result<Executable, Failure> {
        let capture = Capture::begin(self.samples.stream())?;
        self.samples.enqueue(count, Event::record_as_node)?;
        Ok(capture.end()?.instantiate()?)
    }

    /// A graph of one pair around `launches` launches in a row.
    pub(super) fn capture_row(&mut self, launches: usize) -> Result<Executable, Failure> {
        self.samples.device.want_pairs(1)?;
        let stream = self.samples.stream();
        let capture = Capture::begin(stream)?;
        self.samples.work.launch()?;
        let pair = &self.samples.device.pairs[0];
        pair.start.record_as_node(stream)?;
        for _ in 0..launches {
            self.samples.work.launch()?;
        }
        pair.stop.record_as_node(stream)?;
        Ok(capture.end()?.instantiate()?)
    }

    /// Replays `graph` and reads its first `count` pairs.
    pub(super) fn replay(&self, graph: &Executable, count: usize) -> Result<Group, Failure> {
        let stream = self.samples.stream();
        self.samples.whole.start.record(stream)?;
        graph.launch(stream)?;
        self.samples.whole.stop.record(stream)?;
        self.samples.read(count)
    }
}

impl Sampler for GraphSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<Group, Failure> {
        self.samples.device.want_pairs(samples)?;
        if !self.graphs.contains_key(&samples) {
            let graph = self.capture(samples)?;
            self.graphs.insert(samples, graph);
        }
        self.replay(&self.graphs[&samples], samples)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::on(self.samples.device, Path::Graph)
    }

    fn method(&self) -> Method {
        Method { path: Path::Graph, path_reason: None, flush: self.samples.flush }
    }

    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        if self.samples.cache == Cache::Hot { timer::in_a_row(self).map(Some) } else { Ok(None) }
    }
}

/// Puts each group on the stream anew, behind a delay that lasts about as long as that takes.
pub(super) struct StreamSampler<'a> {
    pub(super) samples: Samples<'a>,
    pub(super) reason: String,
    /// What it took to enqueue the last group.
    pub(super) enqueueing: Duration,
    /// The most samples that can be enqueued within the longest delay.
    pub(super) longest: usize,
}

impl StreamSampler<'_> {
    fn delay(&self) -> Result<(), CallError> {
        let mut nanoseconds = (self.enqueueing * 3 / 2).min(LONGEST_DELAY).as_nanos() as u64;
        let arguments = &mut [(&raw mut nanoseconds).cast()];
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.samples.device.kernels.delay.launch((1, 1), self.samples.stream(), arguments) }
    }
}

impl Sampler for StreamSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<Group, Failure> {
        let samples = samples.min(self.longest);
        self.samples.device.want_pairs(samples)?;
        self.delay()?;
        self.samples.whole.start.record(self.samples.stream())?;
        let begin = Instant::now();
        self.samples.enqueue(samples, Event::record)?;
        self.enqueueing = begin.elapsed();
        self.samples.whole.stop.record(self.samples.stream())?;
        let each = self.enqueueing.as_secs_f64() / samples as f64;
        let fitting = LONGEST_DELAY.as_secs_f64() / 1.5 / each.max(1e-9);
        self.longest = (fitting as usize).clamp(1, LONGEST_QUEUE);
        self.samples.read(samples)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::on(self.samples.device, Path::Stream)
    }

    fn method(&self) -> Method {
        Method { path: Path::Stream, path_reason: Some(self.reason.clone()), flush: self.samples.flush }
    }
}
