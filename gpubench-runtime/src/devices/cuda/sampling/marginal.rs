//! The time of one more launch in a row of flushes, by two events around the row. In: a launch, and the memory that it writes; out: a
//! time in which no reading of an event beside a launch has a part, so that it is known independently of the samples.
//!
//! The lines that a launch leaves dirty would be written back by the next flush, within the row. So what it writes is discarded
//! behind it, in each of the rows. Behind each hot launch an event is recorded that nobody reads: before it, what the launch wrote has
//! to be seen by all, which is part of a launch. On an H200, rows without those events are 0.1 to 0.35 µs too short.

use gpubench_driver::sys;

use crate::device::Work;
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::check;
use crate::devices::cuda::driver::event::{Event, EventPair};
use crate::devices::cuda::driver::memory::Span;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::sampling::empty::Empty;
use crate::devices::cuda::sampling::graph::{Capture, Executable};
use crate::devices::cuda::sampling::samples::SPACE;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush, Path};
use gpubench_stats::units::{Bytes, Nanoseconds};
use gpubench_stats::{median, trimmed_error};

/// A launch that writes more than this part of the L2 has no such time. On an H200, discarding that many dirty lines takes 0.3 µs longer
/// than discarding none; and hot ones that write 32 to 64 MiB take 0.3 to 3 µs more or less in rows than by CUPTI and by the samples.
const PART_OF_L2: u64 = 2;
/// So little is written back at once, and may be anywhere.
const LITTLE: Bytes = Bytes(64 << 10);
/// The flushes in a row, if they take no longer than this together with what is launched behind them, and about the time of one, or
/// of the wait in its place. The fewest are enough for a long launch: the steps of a timer are nothing beside it.
pub(crate) const LENGTH: usize = 32;
const SHORTEST: usize = 2;
const LONGEST: Nanoseconds = Nanoseconds(2e6);
const FLUSH: Nanoseconds = Nanoseconds(20e3);
/// Each row is launched and read twice; once more if the results differ by more than this and this part of the time, since now and then
/// something holds up the whole GPU for some microseconds.
const AS_GOOD_AS_EQUAL: Nanoseconds = Nanoseconds(50.0);
const AS_GOOD_PART: f64 = 1e-3;
/// The rows that the time of an empty launch is measured by, of which two may be disturbed on each side; and those before them.
const ROWS: usize = 16;
const UNREAD_ROWS: usize = 3;

/// Returns the time of `work` by rows of launches: by how much a row of them is longer than one of empty launches, and the time of
/// an empty launch. Returns nothing if what it writes is not known, or does not fit, or if it builds on what the launch before left.
pub(crate) fn of(
    device: &mut Cuda,
    work: &mut dyn Work,
    cache: Cache,
) -> Result<Option<Nanoseconds>, Failure> {
    let written = device.outputs.as_ref().and_then(|outputs| outputs.overwritten(LITTLE));
    let Some(written) = written.filter(|_| !work.resets()) else { return Ok(None) };
    let bytes: u64 = written.iter().map(|(_, bytes)| bytes).sum();
    let fits = bytes <= device.flusher.l2() / PART_OF_L2;
    let written = match cache {
        Cache::Hot if fits => Vec::new(),
        Cache::Cold if written.is_empty() || fits && device.kernels.discard.is_some() => written,
        Cache::Hot | Cache::Cold => return Ok(None),
    };
    let mut empty = Empty::beside(device, Path::Graph, cache);
    let one_more = device.one_more.time;
    let behind = match cache {
        Cache::Hot => (0..LENGTH).map(|_| Event::new()).collect::<Result<Vec<_>, _>>()?,
        Cache::Cold => Vec::new(),
    };
    let mut work = Guarded::held_against(work, device.own, device.stream, &device.checked);
    let mut empty = Guarded::new(&mut empty, device.own);
    let mut beyond = |length| {
        let rows = Rows { cache, length, behind: &behind, written: &written };
        rows.apart(device, [Some(&mut work), Some(&mut empty)])
    };
    // A short row tells how long the others may be.
    let short = beyond(SHORTEST)?;
    let length = ((LONGEST / (short + one_more + FLUSH)) as usize).clamp(SHORTEST, LENGTH);
    let time = if length == SHORTEST { short } else { beyond(length)? };
    Ok(Some(time + one_more))
}

/// The time of an empty launch itself, behind whatever flush: on an H200, CUPTI reads 545 ns around an empty launch of a stream if it
/// is hot, and 549 if it is cold. In a graph behind a flush the launch data of a node comes from memory, so that one more node takes
/// 40 to 90 ns longer there. Launches of a stream do not wait for that, and the samples and the empty launches among them wait alike.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OneMore {
    pub(crate) time: Nanoseconds,
    /// Its standard error.
    pub(crate) error: Nanoseconds,
}

impl OneMore {
    /// Measures what one more empty launch adds to a row of waits, in a context that has launched kernels on one stream at most.
    /// Once an H200 has run kernels of two streams, every launch of the context, on any stream, begins 0.2 to 0.35 µs later than
    /// before, and takes no longer by itself. Pairs of events around empty launches among the samples contain that delay.
    pub(crate) fn measure(device: &Cuda) -> Result<Self, Failure> {
        let mut empty = Empty::bare(device);
        let mut work = Guarded::new(&mut empty, device.own);
        let rows = Rows { cache: Cache::Hot, length: LENGTH, behind: &[], written: &[] };
        let mut time = || rows.apart(device, [Some(&mut work), None]);
        // An idle GPU's clock takes some milliseconds to rise.
        for _ in 0..UNREAD_ROWS {
            time()?;
        }
        let times = (0..ROWS).map(|_| time()).collect::<Result<Vec<_>, _>>()?;
        let time = median(&times).unwrap_or_default().max(Nanoseconds::ZERO);
        Ok(Self { time, error: trimmed_error(&times) })
    }
}

/// Rows of flushes with a launch behind each.
struct Rows<'a> {
    cache: Cache,
    /// The flushes in a row.
    length: usize,
    /// The events that are recorded behind the launches, if any.
    behind: &'a [Event],
    /// The memory that a launch writes.
    written: &'a [Span],
}

impl Rows<'_> {
    /// Captures a row of each of the works, or of flushes alone in the place of none, and returns by how much one of the first
    /// takes longer than one of the second.
    fn apart(&self, device: &Cuda, works: [Option<&mut Guarded<'_>>; 2]) -> Result<Nanoseconds, Failure> {
        let pair = EventPair::new()?;
        let [first, second] = works.map(|work| self.capture(device, work, &pair));
        let (first, second) = (first?, second?);
        let read = |row: &Executable| -> Result<Nanoseconds, Failure> {
            row.launch(device.stream)?;
            // SAFETY: the stream is the open case's.
            check(unsafe { sys::cuStreamSynchronize(device.stream) })?;
            Ok(pair.read()?)
        };
        // The first launch of a graph takes longer for each of its kernels: on an H200, 0.4 µs.
        for row in [&first, &second] {
            read(row)?;
        }
        let apart =
            || -> Result<Nanoseconds, Failure> { Ok((read(&first)? - read(&second)?) / self.length as f64) };
        let mut times = vec![apart()?, apart()?];
        if (times[0] - times[1]).abs() > AS_GOOD_AS_EQUAL.max(AS_GOOD_PART * times[0]) {
            times.push(apart()?);
        }
        Ok(median(&times).unwrap_or_default())
    }

    fn capture(
        &self,
        device: &Cuda,
        mut work: Option<&mut Guarded<'_>>,
        pair: &EventPair,
    ) -> Result<Executable, Failure> {
        let (stream, kernels) = (device.stream, &device.kernels);
        let flush = if self.cache == Cache::Hot { Flush::None } else { device.usual_flush() };
        let capture = Capture::begin(stream)?;
        if let (Cache::Hot, Some(work)) = (self.cache, work.as_deref_mut()) {
            work.launch()?;
        }
        pair.start.record_as_node(stream)?;
        for place in 0..self.length {
            if self.cache == Cache::Hot {
                device.delay(SPACE, place)?;
            }
            device.flusher.enqueue(flush, kernels, stream)?;
            if let Some(work) = work.as_deref_mut() {
                work.launch()?;
            }
            if let Some(event) = self.behind.get(place) {
                event.record_as_node(stream)?;
            }
            for span in self.written {
                device.flusher.drop_lines(*span, kernels, stream)?;
            }
        }
        pair.stop.record_as_node(stream)?;
        Ok(capture.end()?.instantiate()?)
    }
}
