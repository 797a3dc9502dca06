//! The axes of a partner. In: an instance, and combinations of arguments; out: the names of its axes, and what it makes of each
//! combination.

use serde::{Deserialize, Serialize};

use super::Arg;
use crate::catch::catch;
use crate::registry::{ArgAxis, Case, UnknownValue, Variant, Visitor};
use gpubench_records::failure::{Failure, Stage};

/// The axes of an instance, and what it makes of combinations of arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerAxes {
    /// The names of its axes.
    pub names: Vec<String>,
    /// For each combination the reason if the benchmark leaves it out, or the reason that it does not take it.
    pub outcomes: Vec<Result<Option<String>, String>>,
}

/// Reads the axes of an instance. Finds out if it takes each of these combinations, and its reason if it leaves one out.
pub(super) struct Axes<'a> {
    combinations: &'a [Vec<Arg>],
    seen: PartnerAxes,
}

impl<'a> Axes<'a> {
    /// Visits `variant`.
    ///
    /// # Errors
    /// Returns an error if the user's code for the axes panics.
    pub(super) fn of(variant: &Variant, combinations: &'a [Vec<Arg>]) -> Result<PartnerAxes, Failure> {
        let mut axes = Axes { combinations, seen: PartnerAxes::default() };
        catch(Stage::Args, || {
            (variant.visit)(&mut axes);
            Ok(())
        })?;
        Ok(axes.seen)
    }
}

impl Visitor for Axes<'_> {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        let axes = || sweeps.iter().copied().flatten();
        let select = |args: &[Arg]| -> Result<(), UnknownValue> {
            axes().try_for_each(|axis| {
                let arg = args.iter().find(|arg| arg.name == axis.name());
                arg.map_or(Ok(()), |arg| axis.select(&arg.value))
            })
        };
        let outcome = |args: &Vec<Arg>| {
            select(args).map_err(|error| error.to_string())?;
            Ok(if case.skips() { case.skipped().map(str::to_owned) } else { None })
        };
        let outcomes = self.combinations.iter().map(outcome).collect();
        self.seen = PartnerAxes { names: axes().map(|axis| axis.name().to_owned()).collect(), outcomes };
    }
}
