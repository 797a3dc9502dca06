//! Samples two launches that take turns: within the same graphs, or both on the stream if a graph cannot stand for one
//! of them. In: two launches and the user's options; out: a [`PairSampler`].

use crate::device::{PairSampler, SampleOptions, Work};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::flush::persisting::Suspended;
use crate::devices::cuda::flush::proof;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::sampling::graph_path::GraphPath;
use crate::devices::cuda::sampling::samples::{SamplingState, Works};
use crate::devices::cuda::sampling::stream_path::StreamPath;
use crate::devices::cuda::sampling::stream_reason::StreamReason;
use crate::devices::cuda::sampling::timer;
use crate::devices::cuda::sampling::{choose_path, method, suspended};
use gpubench_records::failure::Failure;
use gpubench_records::method::{Method, Timer};
use gpubench_stats::units::Nanoseconds;

/// Prepares to sample both `works` as `wanted`. Both use the open stream.
pub(crate) fn pair_sampler<'a>(
    device: &'a mut Cuda,
    works: [&'a mut dyn Work; 2],
    wanted: &SampleOptions,
) -> Result<Box<dyn PairSampler + 'a>, Failure> {
    let flush = proof::choose(device, wanted)?;
    let [mut a, mut b] =
        works.map(|work| Guarded::held_against(work, device.own, device.stream, &device.checked));
    let both =
        match (choose_path(device.stream, &mut a, wanted)?, choose_path(device.stream, &mut b, wanted)?) {
            (Err(reason), Ok(_)) => [Err(reason.clone()), Err(StreamReason::Partner(Box::new(reason)))],
            (Ok(_), Err(reason)) => [Err(StreamReason::Partner(Box::new(reason.clone()))), Err(reason)],
            (a, b) => [a, b],
        };
    let methods = [method(&flush, &both[0]), method(&flush, &both[1])];
    let suspended = suspended(&flush)?;
    let samples = SamplingState::new(device, Works::Two([a, b]), wanted, flush.flush)?;
    let way = match both {
        [Ok(a), Ok(b)] => {
            let path = GraphPath::new(samples).with_copies(!(a.stands_alone && b.stands_alone));
            // Events end early or late by up to 0.5 µs, depending on the grid, which differs between the two.
            let are_kernels = a.kernels == a.pieces && b.kernels == b.pieces;
            Way::Graph(if are_kernels { path.by_stamps()? } else { path })
        }
        _ => Way::Stream(samples, StreamPath::default()),
    };
    Ok(Box::new(CudaPairSampler { way, methods, flat: Vec::new(), _suspended: suspended }))
}

enum Way<'a> {
    Graph(GraphPath<'a>),
    Stream(SamplingState<'a>, StreamPath),
}

struct CudaPairSampler<'a> {
    way: Way<'a>,
    methods: [Method; 2],
    /// The event times of a group, one after the other.
    flat: Vec<Nanoseconds>,
    _suspended: Option<Suspended>,
}

impl PairSampler for CudaPairSampler<'_> {
    fn group(&mut self, pairs: usize, events: &mut Vec<[Nanoseconds; 2]>) -> Result<Nanoseconds, Failure> {
        self.flat.clear();
        let elapsed = match &mut self.way {
            Way::Graph(path) => path.group(2 * pairs, &mut self.flat)?,
            Way::Stream(samples, path) => path.group(samples, 2 * pairs, &mut self.flat)?,
        };
        events.extend(self.flat.as_chunks().0);
        Ok(elapsed)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        match &mut self.way {
            Way::Graph(path) => timer::of_graph(path),
            Way::Stream(samples, _) => timer::of_stream(samples.device, samples.cache),
        }
    }

    fn methods(&self) -> [Method; 2] {
        self.methods.clone()
    }

    fn clock(&mut self) -> Option<u64> {
        match &mut self.way {
            Way::Graph(path) => path.samples.device.clock.take(),
            Way::Stream(samples, _) => samples.device.clock.take(),
        }
    }
}
