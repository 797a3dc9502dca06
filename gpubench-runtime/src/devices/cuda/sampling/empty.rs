//! Empty launches and their time: how much longer a sequence of delays takes with an empty launch after each delay. Empty launches calibrate
//! the timer, and are interleaved with the launches of a case.

use std::time::Duration;

use gpubench_driver::sys::{self, CUstream};

use super::graph::{Capture, Executable};
use crate::devices::cuda::driver::{EventPair, check};
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::kernels::EmptyKernel;
use crate::{device::Work, devices::cuda::Cuda};
use gpubench_records::{Cache, Failure, Path};
use gpubench_stats::{Nanoseconds, median, trimmed_error};

/// The usual delay before each hot sample; a cold sample has its flush instead. Without it the GPU catches up with the submitted
/// commands, and waits between the events: on an H200, some hot launches of 2 µs then read 0.1 to 0.3 µs more.
pub(crate) const PRE_LAUNCH_DELAY: Duration = Duration::from_micros(8);

/// Launches of one block of 32 threads that do nothing.
pub(crate) struct Empty {
    kernel: EmptyKernel,
    stream: CUstream,
    /// The launch as a graph of its own.
    graph: Option<Executable>,
}

impl Empty {
    /// Launches of a kernel that does nothing at all.
    pub(crate) fn bare(device: &Cuda) -> Self {
        Self::new(device.kernels.empty.bare, device.stream)
    }

    /// Empty launches to interleave with samples on this path and in this state of the caches.
    pub(crate) fn matching(device: &Cuda, path: Path, cache: Cache) -> Self {
        Self::new(device.kernels.empty.matching(path, cache), device.stream)
    }

    pub(crate) fn new(kernel: EmptyKernel, stream: CUstream) -> Self {
        Self { kernel, stream, graph: None }
    }

    /// Makes each launch that of a graph, with the overhead that a graph has on the stream.
    pub(crate) fn into_graph(mut self) -> Result<Self, Failure> {
        let capture = Capture::begin(self.stream)?;
        self.launch()?;
        self.graph = Some(capture.end()?.instantiate()?);
        Ok(self)
    }

    pub(crate) fn is_graph(&self) -> bool {
        self.graph.is_some()
    }
}

impl Work for Empty {
    fn launch(&mut self) -> Result<(), Failure> {
        match &self.graph {
            Some(graph) => Ok(graph.launch(self.stream)?),
            None => Ok(self.kernel.launch((1, 32), self.stream)?),
        }
    }
}

/// The number of delays in a sequence.
pub(crate) const SEQUENCE_LENGTH: usize = 32;
/// Each sequence is launched and read twice, and a third time if the results differ by more than this: occasionally the whole GPU stalls for
/// some microseconds.
const TOLERANCE: Nanoseconds = Nanoseconds(50.0);
/// The number of measurements of an empty launch. Two on each side may be disturbed.
const MEASUREMENTS: usize = 16;
/// The number of discarded measurements before them.
const WARM_UP_MEASUREMENTS: usize = 3;

/// The time that one more empty launch adds to a sequence of delays, hot or cold: on an H200, CUPTI reads 545 ns around an empty launch of a
/// stream if it is hot, and 549 if it is cold. In a graph, after a flush, the launch data of a node comes from memory, so that one more node
/// takes 40 to 90 ns longer. Launches of a stream do not wait for that, and the samples and the interleaved empty launches wait equally.
#[derive(Clone, Copy, Default)]
pub(crate) struct MarginalEmptyLaunch {
    pub(crate) time: Nanoseconds,
    /// Its standard error.
    pub(crate) error: Nanoseconds,
}

impl MarginalEmptyLaunch {
    /// Measures the time that one more empty launch adds to a sequence of delays, in a context that has launched kernels on one stream at
    /// most. Once an H200 has run kernels of two streams, every launch of the context, on any stream, begins 0.2 to 0.35 µs later than
    /// before, and takes no longer itself. Pairs of events around empty launches among the samples contain that latency.
    pub(crate) fn measure(device: &Cuda) -> Result<Self, Failure> {
        let mut empty = Empty::bare(device);
        let mut work = Guarded::new(&mut empty, device.context);
        let mut time = || time_per_launch(device, &mut work);
        // An idle GPU's clock takes some milliseconds to rise.
        for _ in 0..WARM_UP_MEASUREMENTS {
            time()?;
        }
        let times = (0..MEASUREMENTS).map(|_| time()).collect::<Result<Vec<_>, _>>()?;
        let time = median(&times).unwrap_or_default().max(Nanoseconds::ZERO);
        Ok(Self { time, error: trimmed_error(&times) })
    }
}

/// Returns the time per launch that launches after each delay of a sequence add to it.
fn time_per_launch(device: &Cuda, work: &mut Guarded<'_>) -> Result<Nanoseconds, Failure> {
    let pair = EventPair::new()?;
    let [with, without] = [capture(device, Some(work), &pair)?, capture(device, None, &pair)?];
    let read = |sequence: &Executable| -> Result<Nanoseconds, Failure> {
        sequence.launch(device.stream)?;
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(device.stream) })?;
        Ok(pair.read()?)
    };
    // The first launch of a graph takes longer for each of its kernels: on an H200, 0.4 µs.
    for sequence in [&with, &without] {
        read(sequence)?;
    }
    let difference =
        || -> Result<Nanoseconds, Failure> { Ok((read(&with)? - read(&without)?) / SEQUENCE_LENGTH as f64) };
    let mut times = vec![difference()?, difference()?];
    if (times[0] - times[1]).abs() > TOLERANCE {
        times.push(difference()?);
    }
    Ok(median(&times).unwrap_or_default())
}

/// Captures a sequence of delays, with a launch of `work` after each delay.
fn capture(
    device: &Cuda,
    mut work: Option<&mut Guarded<'_>>,
    pair: &EventPair,
) -> Result<Executable, Failure> {
    let stream = device.stream;
    let capture = Capture::begin(stream)?;
    if let Some(work) = work.as_deref_mut() {
        work.launch()?;
    }
    pair.start.record_as_node(stream)?;
    for number in 0..SEQUENCE_LENGTH {
        device.delay(PRE_LAUNCH_DELAY, number)?;
        if let Some(work) = work.as_deref_mut() {
            work.launch()?;
        }
    }
    pair.stop.record_as_node(stream)?;
    Ok(capture.end()?.instantiate()?)
}
