//! A case: a launch function with selected arguments and the inputs that `setup` creates.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{any::Any, borrow::Borrow, mem, rc::Rc};

use crate::{Case, CaseError, Counts, Memory, Restore, UserMetric};

/// The user's `setup`: creates the inputs on a stream.
type Setup<'a, S, T> = Box<dyn Fn(&S) -> Result<T, CaseError> + 'a>;
/// A step that changes the inputs on a stream: the launch, which may return an output, the reset, or the
/// restoring of a copy.
type Enqueue<'a, S, T, O = ()> = Box<dyn Fn(&mut T, &S) -> Result<O, CaseError> + 'a>;
/// Copies one of the inputs, and returns the step that restores the copy.
type CopyInput<'a, S, T> = Box<dyn Fn(&mut T, &S) -> Result<Enqueue<'a, S, T>, CaseError> + 'a>;
/// Computes the work of one launch from the inputs.
type CountWork<'a, T> = Box<dyn Fn(&T) -> Result<Counts, CaseError> + 'a>;
/// Computes the benchmark's own metrics from the inputs.
type ComputeMetrics<'a, T> = Box<dyn Fn(&T) -> Result<Vec<UserMetric>, CaseError> + 'a>;
/// The user's `check`: gets the inputs and the output of a launch.
type CheckOutputs<'a, T, O> = Box<dyn Fn(&T, &O) -> Result<(), CaseError> + 'a>;
/// Calls a function with each range of memory of the inputs. Returns false if the inputs may have other
/// memory.
type VisitMemory<'a, T> = Box<dyn Fn(&T, &mut dyn FnMut(Memory<'_>)) -> bool + 'a>;
/// The stream of a case. Two cases that are compared with each other may share one.
pub(crate) type KeptStream<S> = Rc<dyn Borrow<S>>;
/// Creates a stream on a device, as [`StreamParameter::open_on`](crate::StreamParameter::open_on) does.
type OpenStream<S> = fn(&mut dyn Any) -> Result<KeptStream<S>, CaseError>;
/// The condition of `skip_if`.
type Condition<'a> = Box<dyn Fn() -> bool + 'a>;

/// A launch function with selected arguments, for a stream `S` and the inputs `T` that `setup` creates. The
/// launch function returns an `O` for `check`.
pub struct Bound<'a, S: ?Sized, T, O = ()> {
    open: OpenStream<S>,
    setup: Setup<'a, S, T>,
    launch: Enqueue<'a, S, T, O>,
    reset: Option<Enqueue<'a, S, T>>,
    restore: Vec<CopyInput<'a, S, T>>,
    counts: CountWork<'a, T>,
    metrics: ComputeMetrics<'a, T>,
    check: Option<CheckOutputs<'a, T, O>>,
    memory: Option<VisitMemory<'a, T>>,
    skip_if: Option<(Condition<'a>, &'static str)>,
    /// True if the output of each launch is kept for `check` until the next launch.
    keeps_output: bool,
    // Dropped in this order, because inputs may need their stream's device.
    output: Option<O>,
    inputs: Option<CaseInputs<'a, S, T>>,
    /// The first inputs, from [`Case::stash_inputs`] to [`Case::restore_inputs`]. After that, the inputs that
    /// were current when the first ones were restored.
    stashed: Option<CaseInputs<'a, S, T>>,
    /// True while `stashed` holds the first inputs.
    first_are_stashed: bool,
    stream: Option<KeptStream<S>>,
}

/// The value of `setup`, and the steps that restore the copies of its parts.
struct CaseInputs<'a, S: ?Sized, T> {
    value: T,
    restore: Vec<Enqueue<'a, S, T>>,
}

impl<'a, S: ?Sized, T, O> Bound<'a, S, T, O> {
    /// Returns a case that creates its stream with `open` and its inputs with `setup`, and runs `launch` on
    /// them.
    pub fn new(
        open: OpenStream<S>,
        setup: impl Fn(&S) -> Result<T, CaseError> + 'a,
        launch: impl Fn(&mut T, &S) -> Result<O, CaseError> + 'a,
    ) -> Self {
        Self {
            open,
            setup: Box::new(setup),
            launch: Box::new(launch),
            reset: None,
            restore: Vec::new(),
            counts: Box::new(|_| Ok(Counts::default())),
            metrics: Box::new(|_| Ok(Vec::new())),
            check: None,
            memory: None,
            skip_if: None,
            keeps_output: false,
            output: None,
            inputs: None,
            stashed: None,
            first_are_stashed: false,
            stream: None,
        }
    }

    /// Sets the function that computes the work of one launch.
    pub fn counts(self, counts: impl Fn(&T) -> Result<Counts, CaseError> + 'a) -> Self {
        Self { counts: Box::new(counts), ..self }
    }

    /// Adds the benchmark's own metrics.
    pub fn metrics(self, metrics: impl Fn(&T) -> Result<Vec<UserMetric>, CaseError> + 'a) -> Self {
        Self { metrics: Box::new(metrics), ..self }
    }

    /// Sets the `reset`, which restores the inputs before each sample.
    pub fn reset(self, reset: impl Fn(&mut T, &S) -> Result<(), CaseError> + 'a) -> Self {
        Self { reset: Some(Box::new(reset)), ..self }
    }

    /// Adds an input to copy once after `setup`; the copy is restored before each sample. `input` selects
    /// this input among all inputs.
    pub fn restore<P: Restore<S, Copy: 'a> + ?Sized>(
        mut self,
        input: impl Fn(&mut T) -> &mut P + Copy + 'a,
    ) -> Self {
        self.restore.push(Box::new(move |inputs, stream| {
            let refused = |error| CaseError::new(format_args!("the copy for `restore`: {error}"));
            let copy = input(inputs).copy(stream).map_err(refused)?;
            Ok(Box::new(move |inputs, stream| input(inputs).restore(&copy, stream)))
        }));
        self
    }

    /// Sets the `check`, which gets the inputs after a launch and the output of that launch.
    pub fn check(self, check: impl Fn(&T, &O) -> Result<(), CaseError> + 'a) -> Self {
        Self { check: Some(Box::new(check)), ..self }
    }

    /// Sets the function that lists the memory of the inputs. This function returns false if not all of their
    /// memory is known. Without it, the inputs have no memory.
    pub fn memory(self, memory: impl Fn(&T, &mut dyn FnMut(Memory<'_>)) -> bool + 'a) -> Self {
        Self { memory: Some(Box::new(memory)), ..self }
    }

    /// Skips the case if `condition` holds for its arguments. `why` is the reason that the user gave.
    pub fn skip_if(self, condition: impl Fn() -> bool + 'a, why: &'static str) -> Self {
        Self { skip_if: Some((Box::new(condition), why)), ..self }
    }

    /// Returns the inputs; an error before `setup`, and after the inputs were dropped or stashed.
    fn inputs(&self) -> Result<&T, CaseError> {
        self.inputs.as_ref().map(|inputs| &inputs.value).ok_or_else(not_set_up)
    }
}

// For any `S`: if it is no stream, `open` has already reported that, and one error is enough.
impl<S: ?Sized + 'static, T, O> Case for Bound<'_, S, T, O> {
    fn skips(&self) -> bool {
        self.skip_if.is_some()
    }

    fn skipped(&self) -> Option<&'static str> {
        self.skip_if.as_ref().filter(|(condition, _)| condition()).map(|(_, why)| *why)
    }

    fn open(&mut self, source: &mut dyn Any) -> Result<(), CaseError> {
        self.stream = Some((self.open)(source)?);
        Ok(())
    }

    fn stream(&self) -> Option<Rc<dyn Any>> {
        self.stream.clone().map(|stream| Rc::new(stream) as Rc<dyn Any>)
    }

    fn open_on(&mut self, stream: Rc<dyn Any>) -> Result<(), CaseError> {
        let stream = stream.downcast::<KeptStream<S>>().map_err(|_| {
            CaseError::new(
                "it is launched on a stream of another type than the benchmark that it is compared with",
            )
        })?;
        self.stream = Some(Rc::clone(&*stream));
        Ok(())
    }

    fn clear(&mut self) {
        self.output = None;
        self.inputs = None;
        self.stashed = None;
        self.first_are_stashed = false;
    }

    fn stash_inputs(&mut self) {
        let inputs = self.inputs.take();
        if !self.first_are_stashed {
            self.first_are_stashed = true;
            // What is replaced is dropped last, since that may panic.
            drop(mem::replace(&mut self.stashed, inputs));
        }
    }

    fn restore_inputs(&mut self) {
        if mem::take(&mut self.first_are_stashed) {
            mem::swap(&mut self.inputs, &mut self.stashed);
        }
    }

    fn setup(&mut self) -> Result<(), CaseError> {
        let stream = self.stream.clone().ok_or_else(|| CaseError::new("there is no stream"))?;
        // Earlier inputs are dropped first, so that no two sets need to fit that way.
        self.inputs = None;
        let stream = (*stream).borrow();
        let mut value = (self.setup)(stream)?;
        let restore = self.restore.iter().map(|copy| copy(&mut value, stream)).collect::<Result<_, _>>()?;
        self.inputs = Some(CaseInputs { value, restore });
        Ok(())
    }

    fn resets(&self) -> bool {
        self.reset.is_some() || !self.restore.is_empty()
    }

    fn reset(&mut self) -> Result<(), CaseError> {
        let (Some(CaseInputs { value, restore }), Some(stream)) = (&mut self.inputs, &self.stream) else {
            return Err(not_set_up());
        };
        restore.iter().chain(&self.reset).try_for_each(|step| step(value, (**stream).borrow()))
    }

    fn launch(&mut self, times: usize, stop: &AtomicBool) -> Result<(), CaseError> {
        let (Some(inputs), Some(stream)) = (&mut self.inputs, &self.stream) else {
            return Err(not_set_up());
        };
        let stream: &S = (**stream).borrow();
        for _ in 0..times {
            let output = (self.launch)(&mut inputs.value, stream)?;
            self.output = self.keeps_output.then_some(output);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    fn keep_output(&mut self, keeps: bool) {
        self.keeps_output = keeps;
        self.output = None;
    }

    fn counts(&self) -> Result<Counts, CaseError> {
        let counts = (self.counts)(self.inputs()?)?;
        let Counts { reads, writes, bytes, intermediates, .. } = counts;
        let bytes = bytes.filter(|_| reads.is_none() && writes.is_none());
        let parts = [reads, writes, bytes, intermediates];
        let sum = parts.into_iter().flatten().try_fold(0, u64::checked_add);
        let sum = sum.ok_or_else(|| CaseError::new("the bytes of a launch together do not fit 64 bits"))?;
        Ok(Counts { bytes: parts.iter().any(Option::is_some).then_some(sum), ..counts })
    }

    fn metrics(&self) -> Result<Vec<UserMetric>, CaseError> {
        (self.metrics)(self.inputs()?)
    }

    fn check(&self) -> Result<bool, CaseError> {
        let Some(check) = &self.check else { return Ok(false) };
        let not_kept = || CaseError::new("the output of the launch was not kept");
        check(self.inputs()?, self.output.as_ref().ok_or_else(not_kept)?)?;
        Ok(true)
    }

    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
        let Ok(inputs) = self.inputs() else { return false };
        let mut size = 0;
        let mut count = |memory: Memory<'_>| {
            size += memory.bytes();
            visit(memory);
        };
        let known = self.memory.as_ref().is_none_or(|memory| memory(inputs, &mut count));
        known && (self.counts)(inputs).is_ok_and(|counts| fits_in_inputs(&counts, size))
    }
}

/// Returns true if inputs of `size` bytes can hold the bytes that one launch reads, and those that it writes,
/// according to `counts`; if false, the launch uses other memory too. Half of the `bytes` count must fit,
/// since a byte may be both read and written.
fn fits_in_inputs(counts: &Counts, size: u64) -> bool {
    let [reads, writes, bytes] = [counts.reads, counts.writes, counts.bytes].map(Option::unwrap_or_default);
    reads.max(writes).max(bytes / 2) <= size
}

/// Returns the error for a step before `setup`.
fn not_set_up() -> CaseError {
    CaseError::new("the inputs are not set up")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{StreamParameter as _, host::Stream};

    /// A copy of the process that a launch forks must not launch again.
    #[test]
    fn launches_end_after_the_one_that_stops_them() {
        let (launches, stop) = (Cell::new(0), AtomicBool::new(false));
        let launch = |(): &mut (), _: &Stream| {
            launches.set(launches.get() + 1);
            stop.store(launches.get() == 3, Ordering::Relaxed);
            Ok(())
        };
        let mut case = Bound::new(Stream::open_on, |_| Ok(()), launch);
        case.open(&mut Stream::new(1)).and_then(|()| case.setup()).expect("nothing fails");
        case.launch(2, &stop).expect("nothing fails");
        case.launch(5, &stop).expect("nothing fails");
        assert_eq!(launches.get(), 3);
    }

    #[test]
    fn a_launch_that_reads_more_than_its_inputs_has_other_memory() {
        let counts = |reads, writes, bytes| Counts { reads, writes, bytes, ..Counts::default() };
        for (counts, size, expected) in [
            (counts(None, None, None), 0, true),
            (counts(Some(8), Some(4), Some(12)), 8, true),
            (counts(Some(9), None, Some(9)), 8, false),
            (counts(None, Some(9), Some(9)), 8, false),
            (counts(None, None, Some(16)), 8, true),
            (counts(None, None, Some(18)), 8, false),
        ] {
            assert_eq!(fits_in_inputs(&counts, size), expected, "{counts:?} in {size}");
        }
    }
}
