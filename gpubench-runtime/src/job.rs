//! A job: the cases that share one set of inputs. The program that leads a run sends it to the process that measures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use gpubench_records::{Arg, BenchmarkId, Cache, Failure, Link, PlannedCase, id::shown_name};

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
    #[serde(default)]
    pub with: Option<BenchmarkId>,
    /// The resource that the job shares with jobs on other devices.
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
    /// Returns the shared resource of a job that moves its bytes over `link`; `None` is a job without
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
    /// Returns the job of these cases, without a timeout, a comparison or a shared resource.
    #[doc(hidden)]
    pub fn new(benchmark: String, args: Vec<Arg>, device: String, caches: Vec<Cache>) -> Self {
        let (timeout, with, shares) = (None, None, SharedResource::Nothing);
        Self { benchmark, args, device, caches, timeout, with, shares }
    }

    /// Returns the job with these cache states in place of its own.
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

/// Converts a case into a job of one case, without a timeout, a comparison or a shared resource.
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
