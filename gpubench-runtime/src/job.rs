//! A job: the cases that share one set of inputs. The program that leads a run sends it to the process that measures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use gpubench_records::{Arg, BenchmarkId, Cache, Failure, PlannedCase, id::shown_name, work::Link};

/// The cases that share one set of inputs: a benchmark with its arguments on a device, hot, cold or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", shown_name(benchmark, args))]
#[non_exhaustive]
pub struct Job {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// Its arguments, in the order of its axes.
    pub args: Vec<Arg>,
    /// The device, as the command line names it.
    pub device: String,
    /// The cache states to measure, in this order.
    pub caches: Vec<Cache>,
    /// The limit on the wall time of each, if the benchmark overrides the run's.
    pub timeout: Option<Duration>,
    /// The benchmark to compare them with.
    #[serde(default)]
    pub with: Option<BenchmarkId>,
    /// What it shares with jobs on other devices.
    #[serde(default)]
    pub shares: SharedResource,
}

/// The resource that a job shares with jobs on other devices. It decides which jobs run at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SharedResource {
    /// Nothing: it runs at the same time as all jobs that do not share the machine.
    #[default]
    Nothing,
    /// A bus to the host and its memory: no other such job runs meanwhile.
    Link,
    /// The CPU, another device that it copies to or from, or something that is not known: it runs alone.
    Machine,
}

impl SharedResource {
    /// The part of the machine that a job shares whose bytes move over `link`.
    #[doc(hidden)]
    pub fn of_link(link: Option<Link>) -> Self {
        match link {
            Some(Link::H2d | Link::D2h) => Self::Link,
            // The other device has the context of this process too, which its own rows would be blamed for.
            Some(Link::P2p) => Self::Machine,
            None | Some(Link::D2d | Link::L2) => Self::Nothing,
        }
    }
}

impl Job {
    /// Returns the job of these cases, with nothing that its benchmark declares.
    #[doc(hidden)]
    pub fn new(benchmark: String, args: Vec<Arg>, device: String, caches: Vec<Cache>) -> Self {
        let (timeout, with, shares) = (None, None, SharedResource::Nothing);
        Self { benchmark, args, device, caches, timeout, with, shares }
    }

    /// Returns the same job with these cases.
    #[doc(hidden)]
    #[must_use]
    pub fn with_caches(self, caches: Vec<Cache>) -> Self {
        Self { caches, ..self }
    }

    /// Returns its case of this cache state.
    pub fn case(&self, cache: Cache) -> PlannedCase {
        let Self { benchmark, args, device, .. } = self;
        PlannedCase { benchmark: benchmark.clone(), args: args.clone(), device: device.clone(), cache }
    }
}

/// The job of one case, with nothing that its benchmark declares.
impl From<PlannedCase> for Job {
    fn from(PlannedCase { benchmark, args, device, cache }: PlannedCase) -> Self {
        Self::new(benchmark, args, device, vec![cache])
    }
}

/// Whether a job is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JobStatus {
    /// It is measured.
    Measured,
    /// It is left out, for the reason that its benchmark gives.
    Skipped(String),
    /// Listing its arguments failed.
    Broken(Failure),
}
