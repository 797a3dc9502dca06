//! The interface of a sampler: its options, the groups of readings that it takes, and the order of interleaved
//! launches.

use gpubench_records::{Cache, Failure, Flush, Method, Path, Timer};
use gpubench_stats::{Hertz, Nanoseconds};

/// The options for taking samples of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// The state of the cache before each sample.
    pub cache: Cache,
    /// The flush before cold samples; `None` for the choice of the device.
    pub flush: Option<Flush>,
    /// The path on which launches are timed; `None` for the choice of the device.
    pub path: Option<Path>,
    /// True if the time of a launch includes the host's work in the launch function. A sample then begins
    /// with the call of that function, on an idle device.
    pub host_work: bool,
    /// True if the sampler may relocate the inputs between groups.
    pub relocates_inputs: bool,
}

impl SampleOptions {
    /// Returns the options for samples in this state of the cache, with the path and the flush that the
    /// device chooses.
    pub fn new(cache: Cache) -> Self {
        Self { cache, flush: None, path: None, host_work: false, relocates_inputs: false }
    }
}

/// The readings of a group of samples.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SampledGroup {
    /// The event times of the samples, in the order in which they ran. A pair sampler has two event times for
    /// each pair: first that of the first work, even if the second work ran first.
    pub events: Vec<Nanoseconds>,
    /// The event times of interleaved empty launches. Either all groups have them or none does; without them,
    /// the overhead of the timer applies to all groups.
    pub empty_events: Vec<Nanoseconds>,
    /// The start times of the samples on the device's clock, measured from a moment that is the same for all
    /// groups. Empty if they are unknown.
    pub starts: Vec<Nanoseconds>,
    /// The overhead of the events according to a second clock, which also timed launches of this group;
    /// `None` if no second clock did.
    pub overhead_by_stamps: Option<Nanoseconds>,
    /// The time of the whole group on the device, including flushes.
    pub elapsed: Nanoseconds,
    /// The GPU clock right after the group, according to the counters of the device; `None` if it is unknown.
    pub clock: Option<Hertz>,
}

impl SampledGroup {
    /// Returns a group with these event times, which took the time `elapsed` on the device.
    pub fn new(events: Vec<Nanoseconds>, elapsed: impl Into<Nanoseconds>) -> Self {
        Self { events, elapsed: elapsed.into(), ..Self::default() }
    }
}

/// Times the launches of one case, or the interleaved launches of two.
#[expect(unused_variables, reason = "defaults use none")]
pub trait Sampler {
    /// Takes a group of `samples` samples or pairs, or of as many as can be submitted at once. Waits once,
    /// after the last one, and then reads all of them.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure>;

    /// Makes new inputs for the launches, at addresses that depend on `allocation_seed`, as described at
    /// [`Device::set_allocation_seed`](super::Device::set_allocation_seed). Returns true if later launches
    /// use them, and false, the default, if the inputs keep their addresses. Called between groups of
    /// samples.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Makes later launches use the first inputs again. The default does nothing.
    fn restore_inputs(&mut self) {}

    /// Measures the timer on the path of these samples: its resolution, its overhead, and the errors of both.
    ///
    /// # Errors
    /// Returns an error if the timer does not work.
    fn timer(&mut self) -> Result<Timer, Failure>;

    /// Begins the samples: called after the warm-up, before the first sample. Returns the timer of the
    /// samples. That is `timer`, the default, or `timer` with corrections that the sampler measures now; for
    /// example, several launches of one sample share its overhead.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn begin(&mut self, timer: Timer) -> Result<Timer, Failure> {
        Ok(timer)
    }

    /// Begins the samples again: called if the samples so far turned out to be part of the warm-up and are
    /// discarded. The default does nothing.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    fn restart(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the part of the time since the first sample in which the threads of the launches waited for a
    /// processor: wait ÷ (run + wait). Returns `None`, the default, if no processor of this machine runs
    /// launches, or if the operating system does not count waits.
    fn processor_wait(&mut self) -> Option<f64> {
        None
    }

    /// Returns one mark per sample, in the order in which the samples ran: true if a thread of the launch
    /// waited for a processor that other programs used. Marked samples are left out. Returns `None`, the
    /// default, if other programs did not use the processors, if no processor of this machine runs launches,
    /// or if the operating system does not count waits.
    fn interrupted(&mut self) -> Option<&[bool]> {
        None
    }

    /// Returns the method of the samples: the path, the flush, and the reasons for them. For a pair, this is
    /// the method of the first work.
    fn method(&self) -> Method;

    /// Returns the method of the second work of a pair, with the same path and flush as the first. Returns
    /// `None`, the default, if the sampler has only one work.
    fn partner_method(&self) -> Option<Method> {
        None
    }

    /// Launches about `launches` times back-to-back, waits, and returns the exact number of launches. Returns
    /// `None`, the default, if launches cannot run back-to-back, for example because each needs a reset.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        Ok(None)
    }

    /// Times the launch in other ways than by samples, as far as these have a meaning for a launch that takes
    /// `time`. Called after the samples. The default measures nothing.
    ///
    /// # Errors
    /// Returns an error if a launch or the device fails.
    fn other_times(&mut self, time: Nanoseconds) -> Result<OtherTimes, Failure> {
        Ok(OtherTimes::default())
    }
}

/// A new sampler, or the reason that launches cannot be sampled.
pub type SamplerResult<'a> = Result<Box<dyn Sampler + 'a>, Failure>;

/// The times of a launch that were measured in other ways than by samples. Each is `None` if it has no
/// meaning for the launch, or could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct OtherTimes {
    /// The time that one more launch adds to a series of back-to-back launches without events between them.
    pub back_to_back: Option<Nanoseconds>,
    /// The time of a launch that is enqueued completely before the device begins with it. Measured only if
    /// the samples may contain waits for the host.
    pub prequeued: Option<Nanoseconds>,
    /// The time of a launch of several kernels on a stream, including the gaps between them that a graph does
    /// not have.
    pub stream: Option<Nanoseconds>,
    /// The shortest host time of a call of the launch function so far. `None` if the samples already include
    /// the work of the host.
    pub host_call: Option<Nanoseconds>,
}

/// Returns true if A/B pair number `pair`, counted from zero, is in the order BA: the second launch goes
/// first.
///
/// The order of the pairs is the Thue–Morse sequence AB BA BA AB BA AB AB BA …, not an alternation of odd and
/// even pairs. So a steady drift over a group affects both launches equally. The errors of slots do so too:
/// in two successive groups of 2ⁿ pairs, each launch has in the second group exactly the slots that the other
/// launch had in the first.
pub const fn swapped(pair: usize) -> bool {
    pair.count_ones() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaving_begins_as_abba() {
        let order: String = (0..4).map(|pair| if swapped(pair) { "BA" } else { "AB" }).collect();
        assert_eq!(order, "ABBABAAB");
    }

    /// Checks the sums of the slots, and of their squares, over 64 samples; and that each graph of 64 swaps
    /// the slots of the previous one.
    #[test]
    fn both_have_the_same_slots() {
        let (mut sums, mut squares) = ([0, 0], [0, 0]);
        for slot in 0..64_usize {
            let launch = usize::from(swapped(slot / 2) != (slot % 2 == 1));
            sums[launch] += slot;
            squares[launch] += slot * slot;
        }
        assert_eq!((sums[0], squares[0]), (sums[1], squares[1]));
        assert!((0..32).all(|pair| swapped(pair) != swapped(32 + pair)));
    }
}
