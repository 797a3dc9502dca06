//! The interface between the plan and the user's code that lists arguments. That code may hang, exit or crash, so that benchmark
//! binaries ask a worker process.

use serde::{Deserialize, Serialize};

use super::Job;
use super::listing::{Listed, list};
use super::partner::Partner;
use crate::device::while_listed;
use crate::registry::{Entry, Generic};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::{Arg, BenchmarkId, shown_name};
use gpubench_records::selection::CaseSelection;

/// An instance of a benchmark whose cases on a device are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedVariant {
    /// The benchmark's path.
    pub benchmark: String,
    /// The number of the instance in the benchmark's entry.
    pub variant: usize,
    /// The device, or its kind if it is missing.
    pub device: String,
}

impl ListedVariant {
    /// Lists its cases that `cases` selects by their names and arguments.
    ///
    /// # Errors
    /// Returns an error if the user's code for the axes panics, or if an axis has no values.
    pub fn list(&self, entries: &[&Entry], cases: &CaseSelection) -> Result<Listed, Failure> {
        let entry = entries.iter().find(|entry| entry.path() == self.benchmark);
        let variant = entry.and_then(|entry| entry.variants.get(self.variant)).ok_or_else(|| {
            Failure::new(Stage::Args, format_args!("`{}` is not in this program", self.benchmark))
        })?;
        let generics: Vec<Arg> = variant.generics.iter().map(Generic::arg).collect();
        let wanted = |args: &[Arg]| cases.matches(&shown_name(&self.benchmark, args));
        while_listed(&self.device, || list(variant, &generics, &cases.args, &wanted))
    }
}

/// Runs the user's code that lists arguments.
pub(crate) trait Lister {
    /// Lists the cases of each of `variants` that `cases` selects by their names and arguments. If the code of an instance fails,
    /// its result is the failure.
    fn list(&mut self, variants: Vec<ListedVariant>, cases: &CaseSelection) -> Vec<Result<Listed, Failure>>;

    /// Finds the partner of each of `jobs` among the instances of `with`, or the reason that there is none.
    fn pair(&mut self, with: &BenchmarkId, jobs: Vec<Job>) -> Vec<Result<Partner, String>>;
}
