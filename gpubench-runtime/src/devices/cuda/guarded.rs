//! Checks each launch of a work: the launch fails if it leaves another context current, ignores an error of the
//! driver, or enqueues different work than the checked launch. Also launches a case for Nsight Compute, which
//! `cargo gpubench verify` starts.

use std::{rc::Rc, time::Instant};

use gpubench_driver::{
    Shape, StreamOp,
    sys::{self, CUstream},
};

use super::Cuda;
use super::driver::{PrimaryContext, check, wait_for_context};
use super::watch::calls::ignored_error;
use crate::device::{Work, check_context_unchanged};
use gpubench_records::{Failure, Stage, verdict::launches};
use gpubench_stats::{Bytes, Nanoseconds, format};

/// An operation that a launch enqueued, as a pair: true if the operation is on the stream that was given to
/// the launch, and the operation.
pub(crate) type LaunchOp = (bool, StreamOp);

/// Work whose resets and launches fail if they leave another context current. After each call, the context of
/// the GPU is current again. If there are checked launches, a launch also fails if its operations differ from
/// those of all checked launches, or if it ignores an error of the driver.
pub(crate) struct Guarded<'a> {
    work: &'a mut dyn Work,
    context: PrimaryContext,
    /// The stream that is given to the launches; null if launches may enqueue anything.
    stream: CUstream,
    /// The operations of each checked launch; `None` if launches may enqueue anything.
    checked: Option<Vec<Rc<[LaunchOp]>>>,
    /// The shortest time so far of a call of the launch function. Stays `None` if launches may enqueue
    /// anything.
    min_host_call_time: Option<Nanoseconds>,
    /// The failure of the last launch whose operations differ from those of all checked launches; `None` if
    /// there was none. Such a launch fails on any path of sampling.
    pub launch_mismatch: Option<Failure>,
}

impl<'a> Guarded<'a> {
    /// Returns work whose launches may enqueue anything, but must leave `context` current.
    pub(crate) fn new(work: &'a mut dyn Work, context: PrimaryContext) -> Self {
        Self {
            work,
            context,
            stream: std::ptr::null_mut(),
            checked: None,
            min_host_call_time: None,
            launch_mismatch: None,
        }
    }

    /// Returns work whose launches must enqueue the same operations as one of the checked launches that
    /// `device` stores for the open case. If it stores none, launches may enqueue anything.
    pub(crate) fn checked(work: &'a mut dyn Work, device: &Cuda) -> Self {
        let checked = Some(device.checked.clone()).filter(|checked| !checked.is_empty());
        Self { stream: device.stream, checked, ..Self::new(work, device.context) }
    }

    /// Runs a step of the work, and makes the context current again, also if the step panics. Returns the
    /// failure of the step, or a failure of `stage` if the step left another context current.
    fn run_step(
        &mut self,
        stage: Stage,
        step: impl FnOnce(&mut dyn Work) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let restored = ContextRestoreGuard(self.context);
        let done = step(self.work);
        std::mem::forget(restored);
        check_context_unchanged(stage, done, self.context.restore().map_err(Into::into))
    }
}

impl Work for Guarded<'_> {
    fn resets(&self) -> bool {
        self.work.resets()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        self.run_step(Stage::Reset, |work| work.reset())
    }

    fn min_host_call_time(&self) -> Option<Nanoseconds> {
        self.min_host_call_time
    }

    fn keep_output(&mut self, keeps: bool) {
        // Dropping an output runs the user's code.
        let _restored = ContextRestoreGuard(self.context);
        self.work.keep_output(keeps);
    }

    fn relocate_inputs(&mut self, set_allocation_seed: &mut dyn FnMut()) -> bool {
        let moved = self.work.relocate_inputs(set_allocation_seed);
        // `setup` may have left another context current.
        _ = self.context.restore();
        moved
    }

    fn restore_inputs(&mut self) {
        self.work.restore_inputs();
        _ = self.context.restore();
    }

    fn launch(&mut self) -> Result<(), Failure> {
        let Some(checked) = &self.checked else { return self.run_step(Stage::Launch, |work| work.launch()) };
        let checked = checked.clone();
        let begin = Instant::now();
        let (launched, found) =
            gpubench_driver::stream_ops(|| self.run_step(Stage::Launch, |work| work.launch()));
        let took = Nanoseconds::from(begin.elapsed());
        self.min_host_call_time = Some(self.min_host_call_time.map_or(took, |least| least.min(took)));
        launched?;
        if let Some((call, code)) = found.failed {
            // The message contains the driver's error already.
            _ = gpubench_driver::take_failure();
            let ignored = ignored_error(call, code);
            return Err(Failure::new(
                Stage::Launch,
                format_args!("{ignored}: {}", launches::observation_hint(&ignored)),
            ));
        }
        let found: Vec<LaunchOp> =
            found.work.iter().map(|(stream, op)| (*stream == self.stream as u64, *op)).collect();
        check_work_matches(&checked, &found).map_err(|why| {
            let failure = Failure::new(Stage::Launch, why);
            self.launch_mismatch = Some(failure.clone());
            failure
        })
    }
}

/// Returns an error if `found` equals none of the `checked` lists of operations. Accepts anything if
/// `checked` is empty.
fn check_work_matches(checked: &[Rc<[LaunchOp]>], found: &[LaunchOp]) -> Result<(), String> {
    match checked {
        [first, ..] if !checked.iter().any(|checked| **checked == *found) => Err(format!(
            "launches differ: {}: the samples would time other work than the checked launch did (choose and tune kernels in `setup`, and \
             restore the inputs in `reset`)",
            first_difference(first, found)
        )),
        _ => Ok(()),
    }
}

/// Returns a clause on the first difference between the operations of two launches. If the shorter list is
/// the beginning of the longer one, the clause has the numbers of operations.
fn first_difference(checked: &[LaunchOp], found: &[LaunchOp]) -> String {
    let differing = checked.iter().zip(found).enumerate().find(|(_, (checked, found))| checked != found);
    let Some((index, (checked, found))) = differing else {
        let [checked, found] = [checked, found].map(|work| format::counted(work.len(), "operation"));
        return format!("the first launch enqueued {checked}, and a later one {found}");
    };
    let [checked, found] = match (checked, found) {
        // The same configuration: only the function differs.
        ((here, StreamOp::Kernel(one)), (there, StreamOp::Kernel(other)))
            if (here, one.grid, one.block) == (there, other.grid, other.block) =>
        {
            ["one kernel".to_owned(), "another kernel".to_owned()]
        }
        _ => [checked, found].map(|(here, op)| {
            op_phrase(*op) + if *here { " on the given stream" } else { " on another stream" }
        }),
    };
    format!("operation {} was {checked} in the first launch, and {found} in a later one", index + 1)
}

/// Returns a phrase for an operation, such as `a copy of 1.0 MiB`.
fn op_phrase(op: StreamOp) -> String {
    match op {
        StreamOp::Kernel(Shape { grid: [x, y, z], block, .. }) => {
            let threads: u32 = block.iter().product();
            format!("a kernel of {x}×{y}×{z} blocks of {threads} threads")
        }
        StreamOp::Copy(bytes) => format!("a copy of {}", format::bytes(Bytes(bytes))),
        StreamOp::Memset(bytes) => format!("a memset of {}", format::bytes(Bytes(bytes))),
        StreamOp::HostFunction => "a function of the host".to_owned(),
        StreamOp::Graph => "a graph".to_owned(),
    }
}

/// Makes the context current again when it is dropped, also if a launch panics: the events and graphs that
/// are dropped during the panic belong to the context.
struct ContextRestoreGuard(PrimaryContext);

impl Drop for ContextRestoreGuard {
    fn drop(&mut self) {
        // The panic is the error to report.
        _ = self.0.restore();
    }
}

/// The threads per block of the empty kernel that identifies the case.
const MARKER_THREADS: u32 = 32;

/// Launches `work` `launches` times, each after a reset if `work` has one. The profiler switch of the driver
/// is on during each launch, so that Nsight Compute counts what runs, and off during resets. An empty kernel
/// with `number` + 1 blocks precedes each launch and identifies the case.
pub(crate) fn profile(
    device: &Cuda,
    work: &mut dyn Work,
    number: usize,
    launches: usize,
) -> Result<(), Failure> {
    let mut work = Guarded::new(work, device.context);
    let blocks = u32::try_from(number + 1).unwrap_or(u32::MAX);
    for _ in 0..launches {
        if work.resets() {
            work.reset()?;
        }
        wait_for_context()?;
        // SAFETY: takes nothing.
        check(unsafe { sys::cuProfilerStart() })?;
        device.kernels.empty.bare.launch((blocks, MARKER_THREADS), device.stream)?;
        let launched = work.launch();
        let done = wait_for_context();
        // SAFETY: takes nothing.
        check(unsafe { sys::cuProfilerStop() })?;
        launched?;
        done?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(blocks: u32, function: u64) -> StreamOp {
        StreamOp::Kernel(Shape { function, grid: [blocks, 1, 1], block: [128, 1, 1], dynamic_shared: 0 })
    }

    /// Puts work on the given stream.
    fn here(work: &[StreamOp]) -> Vec<LaunchOp> {
        work.iter().map(|op| (true, *op)).collect()
    }

    fn mismatch(checked: &[StreamOp], found: &[StreamOp]) -> String {
        mismatch_of(&here(checked), &here(found))
    }

    fn mismatch_of(checked: &[LaunchOp], found: &[LaunchOp]) -> String {
        let mismatch = check_work_matches(&[checked.into()], found).err().unwrap_or_default();
        mismatch.split(": the samples").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_launch_mismatch_contains_the_difference() {
        let all = [kernel(512, 5), StreamOp::Copy(4096)];
        assert_eq!(mismatch(&all, &all), "");
        assert_eq!(
            mismatch(&[kernel(1, 5); 50], &[kernel(1, 5)]),
            "launches differ: the first launch enqueued 50 operations, and a later one 1 operation"
        );
        assert_eq!(
            mismatch(&all, &[]),
            "launches differ: the first launch enqueued 2 operations, and a later one 0 operations"
        );
        assert_eq!(
            mismatch(&all, &[kernel(64, 5), StreamOp::Copy(4096)]),
            "launches differ: operation 1 was a kernel of 512×1×1 blocks of 128 threads on the given stream in the first \
             launch, and a kernel of 64×1×1 blocks of 128 threads on the given stream in a later one"
        );
        assert_eq!(
            mismatch(&all, &[kernel(512, 5), StreamOp::Copy(1024)]),
            "launches differ: operation 2 was a copy of 4 KiB on the given stream in the first launch, and a copy of 1 KiB \
             on the given stream in a later one"
        );
        assert_eq!(
            mismatch(&all, &[kernel(512, 6), StreamOp::Copy(4096)]),
            "launches differ: operation 1 was one kernel in the first launch, and another kernel in a later one"
        );
    }

    #[test]
    fn work_that_moves_to_another_stream_is_another_launch() {
        assert_eq!(
            mismatch_of(&[(true, kernel(1, 5))], &[(false, kernel(1, 5))]),
            "launches differ: operation 1 was a kernel of 1×1×1 blocks of 128 threads on the given stream in the first \
             launch, and a kernel of 1×1×1 blocks of 128 threads on another stream in a later one"
        );
    }

    #[test]
    fn work_of_either_of_two_checked_launches_will_do() {
        let (one, other): (Rc<[LaunchOp]>, Rc<[LaunchOp]>) =
            (Rc::from(here(&[kernel(1, 5)])), Rc::from(here(&[kernel(2, 6)])));
        for work in [&one, &other] {
            assert_eq!(check_work_matches(&[one.clone(), other.clone()], work), Ok(()));
        }
    }
}
