//! Which cases a run measures, in which order. In: the registered entries, what the user selected and the devices to
//! measure on; out: a [`Plan`] of jobs, or why there is none. Asks benchmarks for their axes, never for their inputs.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::device::{Cache, Flush, Path};
use crate::failure::{Failure, Stage};
use crate::registry::{Axis, Case, Entry, Variant, Visitor};

/// What the user selected of all that is there.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Parts of names, one of which a benchmark must contain; whole names with `exact`.
    pub filters: Vec<String>,
    /// Whether filters and skips are whole names.
    pub exact: bool,
    /// Parts of names that a benchmark must not contain.
    pub skip: Vec<String>,
    /// Values in place of those an axis lists, by the axis's name.
    pub args: BTreeMap<String, Vec<String>>,
    /// Cache states in place of those that benchmarks ask for.
    pub caches: Option<Vec<Cache>>,
}

/// How a case is sampled. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// The relative half-width that the confidence interval of the median is to reach.
    pub precision: f64,
    /// Exactly so many samples, whatever the interval and however long they take.
    pub samples: Option<usize>,
    /// How long a case is warmed up at least.
    pub warm_up: f64,
    /// How long a case is sampled at least.
    pub min_time: f64,
    /// How long a case is sampled at most.
    pub max_time: f64,
    /// Whether a benchmark's own `max_time` goes before that.
    pub own_max_time: bool,
    /// What cold samples are flushed with, rather than what suits the device.
    pub flush: Option<Flush>,
    /// What times samples, rather than what suits the launch.
    pub path: Option<Path>,
}

/// An argument's name and its value as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arg {
    /// The argument's name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The cases that share one set of inputs: a benchmark with its arguments on a device, hot, cold or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// Its arguments in the order of its axes.
    pub args: Vec<Arg>,
    /// The device in the words of the command line.
    pub device: String,
    /// The cache states to measure, in this order.
    pub caches: Vec<Cache>,
}

impl Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown_name(&self.benchmark, &self.args))
    }
}

/// The name by which a case is known, such as `kernels::saxpy[n=65536]`.
#[must_use]
pub fn shown_name(benchmark: &str, args: &[Arg]) -> String {
    if args.is_empty() {
        return benchmark.to_owned();
    }
    let args: Vec<String> = args.iter().map(|arg| format!("{}={}", arg.name, arg.value)).collect();
    format!("{benchmark}[{}]", args.join(", "))
}

/// The jobs of a run.
#[derive(Debug, Default)]
pub struct Plan {
    /// In the order they are measured.
    pub jobs: Vec<Job>,
    /// Those whose arguments could not even be listed.
    pub broken: Vec<(Job, Failure)>,
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No annotated function is linked.
    #[error(
        "this program has no benchmarks. A crate whose benchmarks are to run must be named, so that it is linked: \
         gpubench::main!(my_kernels)"
    )]
    Empty,
    /// Two benchmarks have one name.
    #[error(
        "two benchmarks are called `{name}`: {first} and {second}. Rename one of them (functions nested in \
         functions share their module's path)"
    )]
    Duplicate {
        /// The name.
        name: String,
        /// Where one stands.
        first: String,
        /// Where the other stands.
        second: String,
    },
    /// Filters, skips or devices leave nothing.
    #[error("no benchmark matches {selection}. --list shows the {available} that are there")]
    Nothing {
        /// The selection in words.
        selection: String,
        /// How many there are.
        available: usize,
    },
    /// `--arg` names an axis that no selected benchmark has.
    #[error("--arg {0}=…: no selected benchmark has an argument of this name. --list shows those they have")]
    NoSuchAxis(String),
    /// `--arg` gives a value that a benchmark cannot take.
    #[error("--arg {axis}: {message} (benchmark {benchmark})")]
    BadArg {
        /// The axis.
        axis: String,
        /// The benchmark that cannot take the value.
        benchmark: String,
        /// Why not.
        message: String,
    },
}

impl Plan {
    /// The plan for `selection` of `entries` on `devices`, each a name and the kind of device that it is.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn of(
        entries: &[&Entry],
        selection: &Selection,
        devices: &[(String, &str)],
    ) -> Result<Self, PlanError> {
        if entries.is_empty() {
            return Err(PlanError::Empty);
        }
        refuse_duplicates(entries)?;
        let mut plan = Self::default();
        let mut axes_seen = BTreeSet::new();
        for (device, kind) in devices {
            for entry in entries {
                for variant in entry.variants.iter().filter(|variant| variant.device == *kind) {
                    plan.add(entry, variant, device, selection, &mut axes_seen)?;
                }
            }
        }
        if plan.jobs.is_empty() && plan.broken.is_empty() {
            return Err(PlanError::Nothing {
                selection: selection.describe(devices),
                available: entries.len(),
            });
        }
        match selection.args.keys().find(|name| !axes_seen.contains(*name)) {
            Some(name) => Err(PlanError::NoSuchAxis(name.clone())),
            None => Ok(plan),
        }
    }

    /// Every job, those that are broken first.
    pub fn all_jobs(&self) -> impl Iterator<Item = &Job> {
        self.broken.iter().map(|(job, _)| job).chain(&self.jobs)
    }

    /// How many cases the plan has.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.all_jobs().map(|job| job.caches.len()).sum()
    }

    fn add(
        &mut self,
        entry: &Entry,
        variant: &Variant,
        device: &str,
        selection: &Selection,
        axes_seen: &mut BTreeSet<String>,
    ) -> Result<(), PlanError> {
        let benchmark = entry.path();
        let caches = selection.caches.clone().unwrap_or_else(|| match entry.options.cold {
            true => vec![Cache::Hot, Cache::Cold],
            false => vec![Cache::Hot],
        });
        let job = |args| Job {
            benchmark: benchmark.clone(),
            args,
            device: device.to_owned(),
            caches: caches.clone(),
        };
        let mut listing = Listing { replaced: &selection.args, axes: Vec::new() };
        let listed = Failure::catch(Stage::Args, || {
            (variant.visit)(&mut listing);
            Ok(())
        });
        let empty = listing.axes.iter().find(|axis| axis.values.is_empty());
        let listed = listed.and_then(|()| match empty {
            Some(axis) => Err(Failure::new(Stage::Args, format_args!("`{}` lists no values", axis.name))),
            None => Ok(()),
        });
        if let Err(failure) = listed {
            if selection.matches(&benchmark) {
                self.broken.push((job(Vec::new()), failure));
            }
            return Ok(());
        }
        for args in product(&listing.axes) {
            let job = job(args);
            if selection.matches(&job.to_string()) {
                self.jobs.push(job);
                for axis in &listing.axes {
                    axes_seen.insert(axis.name.clone());
                    if let Some(message) = &axis.refused {
                        let (axis, message) = (axis.name.clone(), message.clone());
                        return Err(PlanError::BadArg { axis, benchmark, message });
                    }
                }
            }
        }
        Ok(())
    }
}

impl Selection {
    fn matches(&self, name: &str) -> bool {
        let hit =
            |pattern: &String| if self.exact { name == pattern } else { name.contains(pattern.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    fn describe(&self, devices: &[(String, &str)]) -> String {
        let mut words = Vec::new();
        if !self.filters.is_empty() {
            words.push(format!("`{}`", self.filters.join("` or `")));
        }
        if !self.skip.is_empty() {
            words.push(format!("without `{}`", self.skip.join("` and `")));
        }
        let devices: Vec<&str> = devices.iter().map(|(device, _)| device.as_str()).collect();
        words.push(format!("on {}", devices.join(", ")));
        words.join(" ")
    }
}

fn refuse_duplicates(entries: &[&Entry]) -> Result<(), PlanError> {
    let place = |entry: &Entry| format!("{}:{}:{}", entry.file, entry.line, entry.column);
    let mut seen: BTreeMap<String, &Entry> = BTreeMap::new();
    for entry in entries {
        if let Some(first) = seen.insert(entry.path(), entry) {
            return Err(PlanError::Duplicate {
                name: entry.path(),
                first: place(first),
                second: place(entry),
            });
        }
    }
    Ok(())
}

/// Collects the axes of a variant and leaves its case alone.
struct Listing<'a> {
    replaced: &'a BTreeMap<String, Vec<String>>,
    axes: Vec<Listed>,
}

struct Listed {
    name: String,
    values: Vec<String>,
    refused: Option<String>,
}

impl Visitor for Listing<'_> {
    fn axis(&mut self, axis: &dyn Axis) {
        let replaced = self.replaced.get(axis.name());
        let refused = replaced.and_then(|values| values.iter().find_map(|value| axis.select(value).err()));
        let mut values = replaced.cloned().unwrap_or_else(|| axis.values());
        // Given twice it is one case all the same, since its name is one.
        let mut seen = HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
        self.axes.push(Listed { name: axis.name().to_owned(), values, refused });
    }

    fn case(&mut self, _: &mut dyn Case) {}
}

/// Every combination of the axes' values, the last axis running fastest.
fn product(axes: &[Listed]) -> Vec<Vec<Arg>> {
    axes.iter().fold(vec![Vec::new()], |combinations, axis| {
        let extended = combinations.iter().flat_map(|args: &Vec<Arg>| {
            axis.values.iter().map(move |value| {
                let arg = Arg { name: axis.name.clone(), value: value.clone() };
                args.iter().cloned().chain([arg]).collect()
            })
        });
        extended.collect()
    })
}
