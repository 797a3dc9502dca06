//! The cases of a benchmark and the jobs that measure them. A job has the cases that share one set of inputs. Its
//! arguments are combinations of the values of the axes, which the user's code lists or the user gives; those of a
//! benchmark that a job is compared with follow from the job's own.

use std::time::Duration;

use gpubench_core::{ArgAxis, Variant, while_listed};
use gpubench_records::{
    Arg, ArgValues, BenchmarkId, Cache, CaseSelection, DeviceId, Failure, Link, PlannedCase, Stage,
    id::shown_name, selection::amount,
};
use gpubench_stats::{Set, format::joined};
use serde::{Deserialize, Serialize};

use crate::catch::catch;
use crate::registry::{self, Entry, select_args, visit_case};

/// The cases of a benchmark's variant that a selection matches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListedCases {
    /// The arguments of each selected case, and whether it is measured. The last axis varies fastest.
    pub combinations: Vec<(Vec<Arg>, JobStatus)>,
    /// The names of the variant's axes, in the order of the sweeps.
    pub axes: Vec<String>,
    /// The name of the first axis for which the user gives an invalid value, and the reason; `None` if all
    /// values are valid.
    pub refused: Option<(String, String)>,
}

/// A variant of a benchmark and the device for which its cases are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantOnDevice {
    /// The benchmark's path.
    pub benchmark: String,
    /// The index of the variant in the benchmark's entry.
    pub variant: usize,
    /// The device's name; only the name of its kind if this machine has no such device.
    pub device: String,
}

impl VariantOnDevice {
    /// Lists the cases of the variant whose names and arguments `cases` selects. Invalid values of the user
    /// are no error: they are in [`ListedCases::refused`].
    ///
    /// # Errors
    /// Returns an error if `entries` lack the variant, if the user's code for the axes panics, if an axis has
    /// no values, or if axes that advance together list different numbers of values.
    pub fn list(&self, entries: &[&Entry], cases: &CaseSelection) -> Result<ListedCases, Failure> {
        let entry = entries.iter().find(|entry| entry.path() == self.benchmark);
        let variant = entry.and_then(|entry| entry.variants.get(self.variant)).ok_or_else(|| {
            Failure::new(Stage::Args, format_args!("`{}` is not in this program", self.benchmark))
        })?;
        let generics = registry::generic_args(variant);
        let wanted = |args: &[Arg]| cases.matches(&shown_name(&self.benchmark, args));
        while_listed(DeviceId::parse(&self.device).ordinal, || {
            list_variant(variant, &generics, &cases.args, &wanted)
        })
    }
}

/// Lists the cases of `variant`. `generics` are its types and constants as arguments, `given` the values that
/// the user gives for axes, and `wanted` returns true for the arguments of a selected case.
///
/// # Errors
/// Returns an error if the user's code for the axes panics, if an axis has no values, or if axes that advance
/// together list different numbers of values.
fn list_variant(
    variant: &Variant,
    generics: &[Arg],
    given: &[ArgValues],
    wanted: &dyn Fn(&[Arg]) -> bool,
) -> Result<ListedCases, Failure> {
    visit_case(variant, |sweeps, case| {
        let rows = sweeps.iter().map(|axes| AxisSteps::new(axes, given)).collect::<Result<Vec<_>, _>>()?;
        let refused = rows.iter().find_map(|rows| rows.refused.clone());
        let status = |args: &[Arg]| {
            if refused.is_some() || !case.0.skips() {
                return JobStatus::Measured;
            }
            let skipped = catch(Stage::Args, || {
                select_args(args, sweeps)?;
                Ok(case.0.skipped())
            });
            match skipped {
                Ok(None) => JobStatus::Measured,
                Ok(Some(why)) => JobStatus::Skipped(why.to_owned()),
                Err(failure) => JobStatus::Broken(failure),
            }
        };
        let combinations = cartesian_product(generics, &rows).into_iter().filter(|args| wanted(args));
        Ok(ListedCases {
            combinations: combinations.map(|args| (args.clone(), status(&args))).collect(),
            axes: axis_names(sweeps),
            refused,
        })
    })
}

/// Returns the names of all axes, in the order of the sweeps.
fn axis_names(sweeps: &[&[&dyn ArgAxis]]) -> Vec<String> {
    sweeps.iter().copied().flatten().map(|axis| axis.name().to_owned()).collect()
}

/// The steps of a sweep over one axis, or over several axes that advance together.
struct AxisSteps {
    names: Vec<&'static str>,
    /// The values of each step, one for each name in `names`.
    rows: Vec<Vec<String>>,
    /// The name of the first axis for which the user gives an invalid value, and the reason; `None` if all
    /// values are valid.
    refused: Option<(String, String)>,
}

impl AxisSteps {
    /// Returns the steps of `axes`, each step once. If the user gives values for all of the axes in `given`,
    /// the steps consist of these values. Otherwise they are the listed steps, or if the user gives values
    /// for some of the axes, the listed steps that have one of these values.
    ///
    /// Returns an error if an axis has no values, or if the listed values of several axes differ in number.
    /// Stores invalid values of the user in `refused`.
    fn new(axes: &[&dyn ArgAxis], given: &[ArgValues]) -> Result<Self, Failure> {
        let names: Vec<&'static str> = axes.iter().map(|axis| axis.name()).collect();
        let of_user = |axis: &&dyn ArgAxis| -> Option<Vec<String>> {
            let given = given.iter().find(|given| given.name == axis.name())?;
            Some(given.values.iter().map(|value| axis_value(*axis, value)).collect())
        };
        let given: Vec<Option<Vec<String>>> = axes.iter().map(of_user).collect();
        // If all are replaced, the listed values are not needed.
        let replaced: Option<Vec<Vec<String>>> = given.iter().cloned().collect();
        let columns = replaced.clone().unwrap_or_else(|| axes.iter().map(|axis| axis.values()).collect());
        if let Some((name, _)) = names.iter().zip(&columns).find(|(_, values)| values.is_empty()) {
            return Err(Failure::new(Stage::Args, format_args!("`{name}` lists no values")));
        }
        let steps = columns.first().map_or(1, Vec::len);
        if let Some(other) = columns.iter().position(|values| values.len() != steps) {
            let (one, other, values) = (names[0], names[other], columns[other].len());
            let message = format!(
                "`{one}` and `{other}` go together, and `{one}` has {steps} values where `{other}` has {values}"
            );
            if given[0].is_none() {
                return Err(Failure::new(Stage::Args, message));
            }
            return Ok(Self {
                rows: vec![columns.concat()],
                names,
                refused: Some((one.to_owned(), message)),
            });
        }
        let row = |step: usize| columns.iter().map(|values| values[step].clone()).collect();
        let mut rows: Vec<Vec<String>> = (0..steps).map(row).collect();
        // A value given twice makes one case, because a case is identified by its name.
        let mut seen = Set::default();
        rows.retain(|row| seen.insert(row.clone()));
        let refused = axes.iter().zip(replaced.iter().flatten()).find_map(|(axis, values)| {
            let refused = values.iter().find_map(|value| axis.select(value).err())?;
            Some((axis.name().to_owned(), refused.to_string()))
        });
        let mut rows = Self { names, rows, refused };
        if replaced.is_none() {
            rows.keep_requested(&given);
        }
        Ok(rows)
    }

    /// Keeps the steps whose values are among those in `given`, which has `None` for an axis without values
    /// of the user. If no step has a given value, stores an error in `refused` and keeps all steps: the
    /// values of the other axes that belong to the given value are unknown.
    fn keep_requested(&mut self, given: &[Option<Vec<String>>]) {
        for (column, values) in given.iter().enumerate() {
            let Some(values) = values else { continue };
            if let Some(value) =
                values.iter().find(|value| self.rows.iter().all(|row| row[column] != **value))
            {
                let name = self.names[column];
                let others = self.names.iter().filter(|other| **other != name);
                let message = format!(
                    "`{value}` is not listed: `{name}` goes together with {}, which must be given too",
                    joined(others.map(|other| format!("`{other}`")), " and ")
                );
                self.refused = Some((name.to_owned(), message));
                return;
            }
        }
        self.rows.retain(|row| {
            let mut steps = row.iter().zip(given);
            steps.all(|(value, given)| given.as_ref().is_none_or(|values| values.contains(value)))
        });
    }
}

/// Returns the text of the value of `axis` that the user writes as `text`. That is the number written out, if
/// `text` is a number such as `1M` and the axis accepts only the number; otherwise it is `text`.
fn axis_value(axis: &dyn ArgAxis, text: &str) -> String {
    let number = || amount(text).filter(|number| axis.select(text).is_err() && axis.select(number).is_ok());
    number().unwrap_or_else(|| text.to_owned())
}

/// Returns the arguments of every combination of steps of `sweeps`: first the arguments `same`, then those of
/// the steps. The last sweep varies fastest.
fn cartesian_product(same: &[Arg], sweeps: &[AxisSteps]) -> Vec<Vec<Arg>> {
    sweeps.iter().fold(vec![same.to_vec()], |combinations, sweep| {
        let extended = combinations.iter().flat_map(|args: &Vec<Arg>| {
            sweep.rows.iter().map(move |row| {
                let step = sweep.names.iter().zip(row);
                let step = step.map(|(name, value)| Arg { name: (*name).to_owned(), value: value.clone() });
                args.iter().cloned().chain(step).collect()
            })
        });
        extended.collect()
    })
}

/// The arguments with which a benchmark is compared with a job, and the reason if the benchmark skips these
/// arguments.
pub type ComparisonTarget = (Vec<Arg>, Option<String>);

/// Returns the arguments with which the benchmark `with` is compared with `job`. Each argument is the one
/// that `with` gives, or else the job's argument of the same name.
///
/// # Errors
/// Returns a phrase with the reason that `with` cannot be compared with the job, such as ``that has no
/// argument `n` ``.
pub fn find_comparison_target(
    job: &Job,
    with: &BenchmarkId,
    entries: &[&Entry],
) -> Result<ComparisonTarget, String> {
    let entry = |path: &str| entries.iter().find(|entry| entry.path() == path);
    let all = entry(&with.benchmark).ok_or_else(|| format!("`{with}` is not in this program"))?.variants;
    let (device, kind) = (&job.device, DeviceId::parse(&job.device).kind);
    let variants: Vec<&Variant> = all.iter().filter(|variant| variant.device == kind).collect();
    let first = variants
        .first()
        .ok_or_else(|| format!("that does not run on {device}; only what runs on one device is compared"))?;
    let refused = |failure: Failure| format!("that does not take these arguments: {}", failure.message);
    let axes = visit_case(first, |sweeps, _| Ok(axis_names(sweeps)));
    let generics = first.generics.iter().map(|generic| generic.name.to_owned());
    let names: Vec<String> = generics.chain(axes.map_err(refused)?).collect();
    if let Some(arg) = with.args.iter().find(|arg| !names.contains(&arg.name)) {
        return Err(format!("that has no argument `{}`", arg.name));
    }
    let value = |name: &String| {
        let arg = with.args.iter().chain(&job.args).find(|arg| arg.name == *name).cloned();
        arg.ok_or_else(|| {
            format!(
                "`{}` has an argument `{name}`: give its value, as in --compare-with '{}[{name}=…]'",
                with.benchmark, with.benchmark
            )
        })
    };
    let args = names.iter().map(value).collect::<Result<Vec<Arg>, String>>()?;
    // Types and constants select the code to measure, so only one side may have them. Any other argument that only one side has
    // may change the work.
    let own = entry(&job.benchmark).map_or(&[][..], |entry| entry.variants);
    let is_generic = |name: &str| own.iter().flat_map(|variant| variant.generics).any(|one| one.name == name);
    if let Some(arg) = job.args.iter().find(|arg| !names.contains(&arg.name) && !is_generic(&arg.name)) {
        return Err(format!("only this has the argument `{}`", arg.name));
    }
    let variant =
        variants.iter().find(|variant| registry::matches_generics(variant, &args)).ok_or_else(|| {
            let generics = joined(args.iter().take(first.generics.len()), ", ");
            format!("there is no `{generics}` of that; another is chosen by --compare-with 'NAME[…]'")
        })?;
    let skipped = visit_case(variant, |sweeps, case| {
        select_args(&args, sweeps)?;
        Ok(case.0.skipped().map(str::to_owned))
    });
    Ok((args, skipped.map_err(refused)?))
}

/// The cases that share one set of inputs: a benchmark with its arguments on a device, hot, cold or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", shown_name(benchmark, args))]
#[non_exhaustive]
pub struct Job {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// The benchmark's arguments, in the order of its axes.
    pub args: Vec<Arg>,
    /// The device, as the command line names it.
    pub device: String,
    /// The cache states to measure, in this order.
    pub caches: Vec<Cache>,
    /// The benchmark's own limit on the wall time of each case, if it has one.
    pub timeout: Option<Duration>,
    /// The benchmark to compare the cases with.
    pub with: Option<BenchmarkId>,
    /// The resource that the job shares with jobs on other devices.
    pub shares: SharedResource,
}

/// The resource that a job shares with jobs on other devices. It decides which jobs run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SharedResource {
    /// Nothing: the job runs at the same time as all jobs that do not need the machine alone.
    #[default]
    Nothing,
    /// The bus to the host, and the host's memory: no other job with this resource runs at the same time.
    Link,
    /// The CPU, another device that the job copies to or from, or something that is not known: the job runs
    /// alone.
    Machine,
}

impl SharedResource {
    /// Returns the shared resource of a job whose launches transfer data over `link`; `None` is a job without
    /// transfers.
    #[doc(hidden)]
    pub fn of_link(link: Option<Link>) -> Self {
        match link {
            Some(Link::H2d | Link::D2h) => Self::Link,
            // The worker also has a context on the other device, which results of that device would be blamed
            // for.
            Some(Link::P2p) => Self::Machine,
            None | Some(Link::D2d | Link::L2) => Self::Nothing,
        }
    }
}

impl Job {
    /// Returns the job with these cache states, without a timeout, a comparison or a shared resource.
    #[doc(hidden)]
    pub fn new(benchmark: String, args: Vec<Arg>, device: String, caches: Vec<Cache>) -> Self {
        let (timeout, with, shares) = (None, None, SharedResource::Nothing);
        Self { benchmark, args, device, caches, timeout, with, shares }
    }

    /// Returns the job with `caches` in place of its cache states.
    #[doc(hidden)]
    #[must_use]
    pub fn with_caches(self, caches: Vec<Cache>) -> Self {
        Self { caches, ..self }
    }

    /// Returns the job's case with this cache state.
    pub fn case(&self, cache: Cache) -> PlannedCase {
        let Self { benchmark, args, device, .. } = self;
        PlannedCase { benchmark: benchmark.clone(), args: args.clone(), device: device.clone(), cache }
    }
}

/// Whether a case is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JobStatus {
    /// The case is measured.
    Measured,
    /// The case is left out, for the reason that its benchmark gives.
    Skipped(String),
    /// The case cannot be measured: an axis does not have one of its arguments, or the code that decides
    /// whether to skip it failed.
    Broken(Failure),
}
