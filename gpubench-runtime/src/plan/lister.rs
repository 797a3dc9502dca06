//! The seam between the plan and the user's code that lists arguments. In: variants of benchmarks; out: their cases, and whether
//! given arguments suit them. That code may hang, exit or crash, so that the suite asks a worker process; tests and debuggers ask
//! [`InProcess`].

use serde::{Deserialize, Serialize};

use super::listing::{Listed, list};
use super::partner_axes::{Axes, PartnerAxes};
use crate::device::while_listed;
use crate::registry::{Entry, Generic, Variant};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::{Arg, shown_name};
use gpubench_records::selection::CaseSelection;

/// An instance of a benchmark whose cases on a device are listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedVariant {
    /// The benchmark's path.
    pub benchmark: String,
    /// The number of the instance in the benchmark's entry.
    pub variant: usize,
    /// The device, or its kind if it is missing.
    pub device: String,
}

impl ListedVariant {
    /// Finds the instance among `entries`.
    fn of<'e>(&self, entries: &[&'e Entry]) -> Result<&'e Variant, Failure> {
        let entry = entries.iter().find(|entry| entry.path() == self.benchmark);
        let variant = entry.and_then(|entry| entry.variants.get(self.variant));
        variant.ok_or_else(|| {
            Failure::new(Stage::Args, format_args!("`{}` is not in this program", self.benchmark))
        })
    }

    /// Lists its cases that `cases` selects by their names and arguments.
    ///
    /// # Errors
    /// Returns an error if the user's code for the axes panics, or if an axis has no values.
    pub fn list(&self, entries: &[&Entry], cases: &CaseSelection) -> Result<Listed, Failure> {
        let variant = self.of(entries)?;
        let generics: Vec<Arg> = variant.generics.iter().map(Generic::arg).collect();
        let wanted = |args: &[Arg]| cases.matches(&shown_name(&self.benchmark, args));
        while_listed(&self.device, || list(variant, &generics, &cases.args, &wanted))
    }

    /// Names its axes, and finds out if it takes each of `args`.
    ///
    /// # Errors
    /// Returns an error if the user's code for the axes panics.
    pub fn axes(&self, entries: &[&Entry], args: &[Vec<Arg>]) -> Result<PartnerAxes, Failure> {
        let variant = self.of(entries)?;
        while_listed(&self.device, || Axes::of(variant, args))
    }
}

/// Runs the user's code that lists arguments.
pub(crate) trait Lister {
    /// Lists the cases of each of `variants` that `cases` selects by their names and arguments. Those of an instance whose code
    /// fails are replaced by the failure.
    fn list(&mut self, variants: &[ListedVariant], cases: &CaseSelection) -> Vec<Result<Listed, Failure>>;

    /// Names the axes of an instance, and finds out if it takes each of `args`.
    ///
    /// # Errors
    /// Returns the failure of the user's code.
    fn axes(&mut self, variant: &ListedVariant, args: &[Vec<Arg>]) -> Result<PartnerAxes, Failure>;
}

/// Lists in this process.
#[derive(Clone, Copy)]
pub(crate) struct InProcess<'a>(pub &'a [&'a Entry]);

impl Lister for InProcess<'_> {
    fn list(&mut self, variants: &[ListedVariant], cases: &CaseSelection) -> Vec<Result<Listed, Failure>> {
        variants.iter().map(|variant| variant.list(self.0, cases)).collect()
    }

    fn axes(&mut self, variant: &ListedVariant, args: &[Vec<Arg>]) -> Result<PartnerAxes, Failure> {
        variant.axes(self.0, args)
    }
}
