//! The path of launches that are recorded: no host work comes between a reading and the launch, and a group
//! costs one submission.
//!
//! Every slot in a graph has its own small error, the same in each replay, and so has every graph. On an H200
//! the slots of one graph differ by a standard deviation of 0.13 µs, and graphs of the same work by 0.05 µs.
//! So each group is recorded anew, and empty launches between its samples have the same errors. Graphs are
//! short, since long ones read up to 0.1 µs more.
//!
//! While a group runs, the next one is recorded, assuming the same number of samples and the same inputs:
//! otherwise an H200 is idle half of the time.

use std::ops::Range;

use super::group::{GroupRunner, record_batch};
use super::marginal::marginal_launch_times;
use super::relocation::{can_relocate, relocate_inputs};
use crate::device::{Batch, Clock, SampledGroup};
use gpubench_records::Failure;
use gpubench_stats::{Nanoseconds, interpolated_median, median, trimmed_error};

/// The number of groups after the warm-up that are sampled between stamps too. More follow while the error of
/// the correction exceeds [`MAX_CORRECTION_ERROR`].
const STAMPED_GROUPS: usize = 16;
/// The standard error of the correction by stamps that needs no more stamped groups (16 ns), or
/// [`MAX_RELATIVE_CORRECTION_ERROR`] of a launch if that is more. Launches whose times vary by a microsecond
/// have 20 to 120 ns after [`STAMPED_GROUPS`] groups on an H200.
const MAX_CORRECTION_ERROR: Nanoseconds = Nanoseconds(16.0);
/// See [`MAX_CORRECTION_ERROR`].
const MAX_RELATIVE_CORRECTION_ERROR: f64 = 0.001;
/// The longest launch that is sampled between stamps too (200 µs). For longer launches, the error of events
/// is negligible.
const LONGEST_STAMPED_LAUNCH: Nanoseconds = Nanoseconds(2e5);
/// The most launches in a batch of back-to-back launches.
const MOST_LAUNCHES_PER_BATCH: usize = 256;

/// Samples launches in recorded batches: one batch for each group, submitted as a whole.
pub(super) struct RecordedPath<'a> {
    pub groups: GroupRunner<'a>,
    /// The number of groups so far.
    groups_taken: usize,
    /// The number of samples requested for the last group.
    requested: usize,
    /// The slots of the next group, and its batch or the reason why recording it failed. `None` if the next
    /// group was not recorded in advance.
    next: Option<(Range<usize>, Result<Batch, Failure>)>,
    /// The batches of the previous group. Releasing them takes time, so they are released while the device has
    /// work.
    previous: Vec<Batch>,
    /// A recorded batch of back-to-back launches, and the number of launches in it; `None` if there is none.
    back_to_back: Option<(Batch, usize)>,
    /// True if the inputs can be relocated; `None` until that is known.
    can_relocate: Option<bool>,
    /// True if the inputs were relocated before the present group. The next group then gets new inputs too,
    /// so its batch cannot be recorded in advance.
    relocates: bool,
    /// The groups that were sampled between stamps too; `None` if stamps are not enabled.
    stamped: Option<StampedGroups>,
}

/// The groups that were sampled between stamps too.
struct StampedGroups {
    /// The resolution of the stamps.
    step: Nanoseconds,
    groups: usize,
    /// For each group, its overhead according to stamps minus the time of its empty launches.
    corrections: Vec<Nanoseconds>,
}

impl<'a> RecordedPath<'a> {
    /// Starts without recorded batches.
    pub(super) fn new(groups: GroupRunner<'a>) -> Self {
        Self {
            groups,
            groups_taken: 0,
            requested: 0,
            next: None,
            previous: Vec::new(),
            back_to_back: None,
            can_relocate: None,
            relocates: false,
            stamped: None,
        }
    }

    /// Takes a group of `samples` samples, or of as many as a batch has slots for. While stamps are enabled,
    /// also runs a second batch, of samples between stamps, and stores the overhead that they show in the
    /// group. While the group runs, records the next group, if its inputs and its size are expected to be the
    /// same.
    pub(super) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let slots = self.next_slots(samples);
        self.groups_taken += 1;
        let batch = match self.next.take() {
            Some((same, batch)) if same == slots => batch?,
            other => {
                let batch = self.record_samples(slots.clone())?;
                self.release(other.and_then(|(_, batch)| batch.ok()));
                batch
            }
        };
        self.groups.queue.open_group()?;
        self.groups.queue.submit(&batch)?;
        self.groups.queue.close_group()?;
        let stamped = self.submit_stamped(samples)?;
        let size_changed = std::mem::replace(&mut self.requested, samples) != samples;
        // A batch contains the addresses of its inputs.
        if !size_changed && !self.relocates {
            let slots = self.next_slots(samples);
            self.next = Some((slots.clone(), self.record_samples(slots)));
        }
        let previous = std::mem::replace(&mut self.previous, vec![batch]);
        self.release(previous);
        let mut group = self.groups.read(slots)?;
        if let (Some((batch, slots)), Some(stamped)) = (stamped, &mut self.stamped) {
            let time = self.groups.launch_time_by_stamps(slots, stamped.step)?;
            let overhead = interpolated_median(&group.events, stamped.step).zip(time);
            let overhead = overhead.map(|(event, time)| (event - time).max(Nanoseconds::ZERO));
            group.overhead_by_stamps = overhead.filter(|overhead| overhead.is_finite());
            let empty = interpolated_median(&group.empty_events, stamped.step);
            stamped.corrections.extend(group.overhead_by_stamps.zip(empty).map(|(by, empty)| by - empty));
            stamped.groups += 1;
            self.previous.push(batch);
        }
        Ok(group)
    }

    /// Enables samples between stamps for the next groups, until their correction is precise. Disables them if
    /// the device has no stamps, or if its stamps are too coarse.
    pub(super) fn enable_stamps(&mut self) -> Result<(), Failure> {
        let step = self.groups.queue.stamps()?;
        self.stamped = step.map(|step| StampedGroups { step, groups: 0, corrections: Vec::new() });
        Ok(())
    }

    /// Records and submits a batch of `samples` samples between stamps, interleaved with the same launches as
    /// other samples. Returns the batch and its number of slots. Returns `None` if stamps are not enabled, if
    /// the correction is precise, if the last group's launches are longer than [`LONGEST_STAMPED_LAUNCH`], or if
    /// this is the first group.
    fn submit_stamped(&mut self, samples: usize) -> Result<Option<(Batch, usize)>, Failure> {
        let shortest = self.groups.shortest.filter(|time| *time <= LONGEST_STAMPED_LAUNCH);
        let (Some(shortest), Some(stamped)) = (shortest, &self.stamped) else { return Ok(None) };
        if stamped.is_precise(shortest) {
            return Ok(None);
        }
        let slots = self.groups.slot_count(samples, self.capacity());
        // Kernels directly after another kernel begin late in a graph that was not copied.
        let batch = self.groups.record(true, |groups| groups.enqueue(0..slots, Clock::Stamps))?;
        self.groups.queue.submit(&batch)?;
        Ok(Some((batch, slots)))
    }

    /// Makes new inputs at addresses that depend on `allocation_seed`, and releases recorded batches with the
    /// former addresses. The first call also checks whether relocation works. Returns true if later launches
    /// use the new inputs, and false if the inputs keep their addresses.
    pub(super) fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        self.release_recorded_inputs();
        let GroupRunner { queue, works, .. } = &mut self.groups;
        let can_relocate = match self.can_relocate {
            Some(can_relocate) => can_relocate,
            None => can_relocate(*queue, works.first(), allocation_seed)?,
        };
        self.can_relocate = Some(can_relocate);
        self.relocates = can_relocate && relocate_inputs(*queue, works.first(), allocation_seed)?;
        Ok(self.relocates)
    }

    /// Restores the first inputs, and releases recorded batches with other addresses.
    pub(super) fn restore_inputs(&mut self) {
        self.release_recorded_inputs();
        self.relocates = false;
        self.groups.works.first().restore_inputs();
    }

    /// Releases the batches that were recorded for later launches, since they contain addresses of the
    /// inputs.
    fn release_recorded_inputs(&mut self) {
        let next = self.next.take().and_then(|(_, batch)| batch.ok());
        self.release(next);
        let back_to_back = self.back_to_back.take().map(|(batch, _)| batch);
        self.release(back_to_back);
    }

    /// Releases `batches`.
    fn release(&mut self, batches: impl IntoIterator<Item = Batch>) {
        batches.into_iter().for_each(|batch| self.groups.queue.release(batch));
    }

    /// Returns the most slots of a batch: half of the slots of the queue.
    fn capacity(&self) -> usize {
        self.groups.queue.properties().capacity
    }

    /// Returns the slots of the next group if it has `samples` samples. Groups alternate between the two
    /// halves of the slots of the queue, so that one can be recorded while the other runs.
    fn next_slots(&self, samples: usize) -> Range<usize> {
        let first = self.groups_taken % 2 * self.capacity();
        first..first + self.groups.slot_count(samples, self.capacity())
    }

    /// Records a batch of samples in `slots`. Copies the batch to the device in advance if the launch mode
    /// says so.
    ///
    /// Launches of several operations need the copy. On an H200, in a graph that was not copied, each kernel
    /// of a launch but the first begins 0.37 µs later, and empty launches do not show this error. For
    /// launches of one operation, groups without the copy take less time, and their medians vary only a third
    /// (hot) or two thirds (cold) as much.
    fn record_samples(&mut self, slots: Range<usize>) -> Result<Batch, Failure> {
        let mode = self.groups.mode;
        self.groups.record(mode.copied, |groups| groups.enqueue(slots, mode.clock))
    }

    /// Launches at least `launches` times back-to-back, and waits. Launches in whole batches, whose length
    /// the first call determines. Returns the exact number of launches.
    pub(super) fn back_to_back(&mut self, launches: usize) -> Result<usize, Failure> {
        let GroupRunner { queue, works, .. } = &mut self.groups;
        let replays = queue.properties().replays;
        let length =
            self.back_to_back.as_ref().map_or(launches.clamp(1, MOST_LAUNCHES_PER_BATCH), |(_, it)| *it);
        let submissions = launches.div_ceil(length);
        for _ in 0..submissions {
            let batch = match self.back_to_back.take() {
                Some((batch, _)) => batch,
                None => record_batch(*queue, true, |_| works.first().launch_times(length))?,
            };
            queue.submit(&batch)?;
            if replays {
                self.back_to_back = Some((batch, length));
            } else {
                queue.wait()?;
                queue.release(batch);
            }
        }
        queue.wait()?;
        Ok(submissions * length)
    }

    /// Returns the time that one more hot launch adds to a series of back-to-back launches, as the median of
    /// several measurements. It contains no overhead of the timer. Noise may make it negative.
    pub(super) fn marginal_launch_time(&mut self) -> Result<Nanoseconds, Failure> {
        let GroupRunner { queue, works, .. } = &mut self.groups;
        let launch = &mut |launches: usize| works.first().launch_times(launches);
        Ok(median(&marginal_launch_times(*queue, launch)?).unwrap_or_default())
    }
}

impl StampedGroups {
    /// Returns true if more groups would not make the time of a launch, about `launch`, more precise.
    fn is_precise(&self, launch: Nanoseconds) -> bool {
        let enough = MAX_CORRECTION_ERROR.max(MAX_RELATIVE_CORRECTION_ERROR * launch);
        self.groups >= STAMPED_GROUPS && trimmed_error(&self.corrections) <= enough
    }
}

impl Drop for RecordedPath<'_> {
    fn drop(&mut self) {
        self.release_recorded_inputs();
        let previous = std::mem::take(&mut self.previous);
        self.release(previous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_stamped_until_the_correction_is_precise() {
        let is_precise = |groups: usize, distance: f64, launch: f64| {
            let corrections = [2000.0 - distance, 2000.0 + distance].map(Nanoseconds).repeat(groups / 2);
            let step = Nanoseconds(32.0);
            StampedGroups { step, groups, corrections }.is_precise(Nanoseconds(launch))
        };
        assert!(!is_precise(14, 1.0, 5e3) && is_precise(16, 1.0, 5e3));
        // Standard errors of about 52, 13 and 52 ns.
        assert!(!is_precise(16, 150.0, 5e3) && is_precise(256, 150.0, 5e3) && is_precise(16, 150.0, 1e5));
    }
}
