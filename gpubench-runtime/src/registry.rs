//! The benchmarks of this program, and the steps of a case with the user's errors and panics as failures of their stage.

use std::any::Any;

use gpubench_core::{ArgAxis, Case, CaseError, Counts, Generic, UserMetric, Variant, inventory};
use gpubench_records::{Arg, Failure, Stage};

pub(crate) use gpubench_core::{BenchmarkOptions, Entry};

use crate::catch::{catch, catch_panic};
use crate::device::{Device, Memory, Work};
use crate::system::exit_if_forked_child;

/// Returns the entries of all annotated functions that this program links, in the order of crate, file, line
/// and column. Functions from one macro call have the same source location; they are ordered by module and
/// name.
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&Entry> = inventory::iter::<Entry>().collect();
    gpubench_stats::sort_by_key(&mut entries, |entry| {
        let krate = entry.module.split("::").next();
        (krate, entry.file, entry.line, entry.column, entry.module, entry.name)
    });
    entries
}

/// Returns the types and constants of `variant` as arguments of a job, such as `T=f32`.
pub fn generic_args(variant: &Variant) -> Vec<Arg> {
    let arg = |generic: &Generic| Arg { name: generic.name.to_owned(), value: (generic.value)() };
    variant.generics.iter().map(arg).collect()
}

/// Returns true if `args` contain all types and constants of `variant`, and thus for any `args` if it has
/// none. Other arguments do not matter.
pub(crate) fn matches_generics(variant: &Variant, args: &[Arg]) -> bool {
    generic_args(variant).iter().all(|arg| args.contains(arg))
}

/// Calls `visit` with the axes and the case of `variant`, and returns its result.
///
/// # Errors
/// Returns an error if the user's code for the axes panics, if it shows no case, or if `visit` fails.
pub(crate) fn visit_case<T>(
    variant: &Variant,
    visit: impl FnOnce(&[&[&dyn ArgAxis]], &mut CaughtCase<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (mut visit, mut shown) = (Some(visit), None);
    let mut visitor = |sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case| {
        shown = visit.take().map(|visit| visit(sweeps, &mut CaughtCase(case)));
    };
    catch_panic(Stage::Args, || (variant.visit)(&mut visitor))?;
    shown.unwrap_or_else(|| Err(Failure::new(Stage::Args, "the benchmark shows no case")))
}

/// Selects the value of each of `args` on its axis. Ignores arguments without an axis, such as types. Returns
/// an error if an axis does not have the value.
pub(crate) fn select_args(args: &[Arg], sweeps: &[&[&dyn ArgAxis]]) -> Result<(), Failure> {
    for axis in sweeps.iter().copied().flatten() {
        if let Some(arg) = args.iter().find(|arg| arg.name == axis.name()) {
            axis.select(&arg.value).map_err(|error| Failure::new(Stage::Args, error))?;
        }
    }
    Ok(())
}

/// A [`Case`] with steps that return a [`Failure`] of their stage if the user's code returns an error or
/// panics. Only panics of a launch are not caught: the worker catches them together with errors of the
/// device. Steps that cannot fail are called on the [`Case`] inside.
pub(crate) struct CaughtCase<'a>(pub &'a mut (dyn Case + 'a));

impl CaughtCase<'_> {
    /// Returns the same case with a shorter borrow.
    pub(crate) fn reborrow(&mut self) -> CaughtCase<'_> {
        CaughtCase(self.0)
    }

    /// Creates the stream for the launches on `device`, and notifies the device that a case begins.
    pub(crate) fn open_stream(&mut self, device: &mut dyn Device) -> Result<(), Failure> {
        let opened = match device.stream_source() {
            Some(source) => self.0.open(source),
            None => self.0.open(device as &mut dyn Any),
        };
        opened.map_err(|error| Failure::new(Stage::Device, error))?;
        device.begin_case();
        Ok(())
    }

    /// Creates new inputs.
    pub(crate) fn setup(&mut self) -> Result<(), Failure> {
        catch_step(Stage::Setup, || self.0.setup())
    }

    /// Returns the values of the benchmark's own metrics for one launch on the present inputs.
    pub(crate) fn metrics(&self) -> Result<Vec<UserMetric>, Failure> {
        catch_step(Stage::Counts, || self.0.metrics())
    }

    /// Returns the bytes, operations and items of one launch on the present inputs.
    pub(crate) fn counts(&self) -> Result<Counts, Failure> {
        catch_step(Stage::Counts, || self.0.counts())
    }

    /// Checks the outputs. Returns false if the benchmark has no check, true if the check passes, and a
    /// failure if it does not.
    pub(crate) fn check(&self) -> Result<bool, Failure> {
        catch_step(Stage::Check, || self.0.check())
    }

    /// Drops the kept return value of the launch function, if there is one, and keeps no later ones. A panic
    /// of the value's `drop` is a failure.
    pub(crate) fn drop_output(&mut self) -> Result<(), Failure> {
        catch_panic(Stage::Check, || self.0.keep_output(false))
    }
}

/// The launches of a case, as work to be sampled.
impl Work for CaughtCase<'_> {
    fn resets(&self) -> bool {
        self.0.resets()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        let reset = catch_step(Stage::Reset, || self.0.reset());
        exit_if_forked_child();
        reset
    }

    fn launch(&mut self) -> Result<(), Failure> {
        self.launch_times(1)
    }

    fn launch_times(&mut self, times: usize) -> Result<(), Failure> {
        let launched = self.0.launch(times, &gpubench_driver::IS_FORKED_COPY);
        exit_if_forked_child();
        launched.map_err(|error| Failure::new(Stage::Launch, error))
    }

    fn keep_output(&mut self, keeps: bool) {
        self.0.keep_output(keeps);
    }

    fn relocate_inputs(&mut self, set_allocation_seed: &mut dyn FnMut()) -> bool {
        let moved = catch(Stage::Setup, || {
            let counts = self.counts()?;
            self.0.stash_inputs();
            set_allocation_seed();
            self.setup()?;
            Ok(self.counts()? == counts)
        });
        // Inputs of another size would make this another case.
        let moved = moved.unwrap_or(false);
        if !moved {
            self.restore_inputs();
        }
        moved
    }

    fn restore_inputs(&mut self) {
        // Ignore a panic in the `drop` of the inputs.
        _ = catch_panic(Stage::Setup, || self.0.restore_inputs());
    }

    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
        catch_panic(Stage::Counts, || self.0.memory(visit)).unwrap_or(false)
    }
}

/// Runs a step of the user's code. An error or a panic becomes a failure of `stage`.
fn catch_step<T>(stage: Stage, step: impl FnOnce() -> Result<T, CaseError>) -> Result<T, Failure> {
    catch(stage, || step().map_err(|error| Failure::new(stage, error)))
}
