//! A launch that does nothing, and its time: how much longer a sequence of waits takes with an empty launch after each wait. Empty
//! launches calibrate the timer, and alternate with the launches of a case.

use std::time::Duration;

use gpubench_driver::sys::{self, CUstream};

use super::graph::{Capture, Executable};
use crate::devices::cuda::driver::{EventPair, check};
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::kernels::EmptyKernel;
use crate::{device::Work, devices::cuda::Cuda};
use gpubench_records::{Cache, Failure, Path};
use gpubench_stats::{Nanoseconds, median, trimmed_error};

/// The usual delay before each hot sample, in the place of a cold sample's flush. Without it the GPU catches up with the
/// commands it is fed, and waits between the events: on an H200, hot launches of 2 µs then read 0.1 to 0.3 µs more,
/// some of the time.
pub(crate) const SPACE: Duration = Duration::from_micros(8);

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

    /// Launches beside samples on this path and in this state of the caches.
    pub(crate) fn beside(device: &Cuda, path: Path, cache: Cache) -> Self {
        Self::new(device.kernels.empty.beside(path, cache), device.stream)
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

/// The waits of a sequence.
pub(crate) const LENGTH: usize = 32;
/// Each sequence is launched and read twice; once more if the results differ by more than this, since now and then something holds up the
/// whole GPU for some microseconds.
const AS_GOOD_AS_EQUAL: Nanoseconds = Nanoseconds(50.0);
/// The measurements of an empty launch, of which two may be disturbed on each side; and those before them, which do not count.
const ROWS: usize = 16;
const UNREAD_ROWS: usize = 3;

/// The time of an empty launch itself, behind whatever flush: on an H200, CUPTI reads 545 ns around an empty launch of a stream if it
/// is hot, and 549 if it is cold. In a graph behind a flush the launch data of a node comes from memory, so that one more node takes
/// 40 to 90 ns longer there. Launches of a stream do not wait for that, and the samples and the empty launches among them wait alike.
#[derive(Clone, Copy, Default)]
pub(crate) struct OneMore {
    pub(crate) time: Nanoseconds,
    /// Its standard error.
    pub(crate) error: Nanoseconds,
}

impl OneMore {
    /// Measures what one more empty launch adds to a sequence of waits, in a context that has launched kernels on one stream at most.
    /// Once an H200 has run kernels of two streams, every launch of the context, on any stream, begins 0.2 to 0.35 µs later than
    /// before, and takes no longer by itself. Pairs of events around empty launches among the samples contain that delay.
    pub(crate) fn measure(device: &Cuda) -> Result<Self, Failure> {
        let mut empty = Empty::bare(device);
        let mut work = Guarded::new(&mut empty, device.own);
        let mut time = || beyond_waits(device, &mut work);
        // An idle GPU's clock takes some milliseconds to rise.
        for _ in 0..UNREAD_ROWS {
            time()?;
        }
        let times = (0..ROWS).map(|_| time()).collect::<Result<Vec<_>, _>>()?;
        let time = median(&times).unwrap_or_default().max(Nanoseconds::ZERO);
        Ok(Self { time, error: trimmed_error(&times) })
    }
}

/// Returns how much longer a sequence of waits takes with a launch after each wait than without, for each launch.
fn beyond_waits(device: &Cuda, work: &mut Guarded<'_>) -> Result<Nanoseconds, Failure> {
    let pair = EventPair::new()?;
    let [with, without] = [capture(device, Some(work), &pair)?, capture(device, None, &pair)?];
    let read = |row: &Executable| -> Result<Nanoseconds, Failure> {
        row.launch(device.stream)?;
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(device.stream) })?;
        Ok(pair.read()?)
    };
    // The first launch of a graph takes longer for each of its kernels: on an H200, 0.4 µs.
    for row in [&with, &without] {
        read(row)?;
    }
    let beyond = || -> Result<Nanoseconds, Failure> { Ok((read(&with)? - read(&without)?) / LENGTH as f64) };
    let mut times = vec![beyond()?, beyond()?];
    if (times[0] - times[1]).abs() > AS_GOOD_AS_EQUAL {
        times.push(beyond()?);
    }
    Ok(median(&times).unwrap_or_default())
}

/// Captures a sequence of waits, with a launch of `work` after each wait.
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
    for place in 0..LENGTH {
        device.delay(SPACE, place)?;
        if let Some(work) = work.as_deref_mut() {
            work.launch()?;
        }
    }
    pair.stop.record_as_node(stream)?;
    Ok(capture.end()?.instantiate()?)
}
