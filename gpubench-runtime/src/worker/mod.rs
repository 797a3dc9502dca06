//! The process that measures: it answers [`Request`]s, one at a time, by [`Reply`]s. It is a process of its own, so that a launch
//! function that crashes costs one case and not the run.

mod between_jobs;
mod comparison;
mod follow_up;
mod job;
mod pipe;
mod prepared;

use std::collections::hash_map::Entry as Slot;
use std::{collections::HashMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::cases::{ComparisonTarget, Job, ListedCases, VariantOnDevice, find_comparison_target};
use crate::catch;
use crate::device::{Available, Device};
use crate::devices::kinds;
use crate::measured_peaks::{PeakCache, info_with_peaks};
use crate::registry::{self, Entry};
use crate::worker::{job::JobInProgress, prepared::run_action};
use gpubench_core::{Variant, while_listed};
use gpubench_records::{
    Arg, BenchmarkId, Cache, CaseSelection, CuptiPass, DeviceId, DeviceInfo, Failure, Record, Sampling,
    Stage, Step,
};
use gpubench_stats::Bytes;

pub use self::pipe::{PROFILED_FLAG, ProfiledCases, read_reply, send_request, serve, serve_profiled};

/// The first argument of a worker process, by which a benchmark binary recognises that it is one.
pub const FLAG: &str = "--gpubench-worker";

/// A request that the supervisor sends to a worker. The worker answers one request at a time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Send the properties of a device.
    DeviceInfo {
        /// The device.
        device: String,
        /// The cache of measured peaks. Peaks that it lacks are measured and stored in it; without a cache,
        /// peaks are measured and only sent.
        peaks: Option<PeakCache>,
    },
    /// Measure the cases of a job.
    Measure(Box<MeasureRequest>),
    /// Launch a job once, check its outputs, and time nothing.
    Test {
        /// The job.
        job: Job,
    },
    /// Detect the writes of a job whose first launch changed less memory than the benchmark declares, by
    /// launches on memory that holds other values. Afterwards this process cannot be used: its other memory
    /// may have changed too.
    Writes {
        /// The job.
        job: Job,
        /// The size at which the search for written memory may stop.
        enough: Bytes,
    },
    /// Launch a job for a profiler, with a numbered marker before each launch.
    Profile {
        /// The job.
        job: Job,
        /// The number in the markers, which identifies the job; the first job has 0.
        number: usize,
        /// The number of launches.
        launches: usize,
    },
    /// List the selected cases of each of these variants.
    List {
        /// The variants.
        variants: Vec<VariantOnDevice>,
        /// The selection.
        cases: CaseSelection,
    },
    /// For each of these jobs, find the arguments with which the benchmark `with` is compared with the job.
    Pair {
        /// The benchmark, with the arguments that the user gives.
        with: BenchmarkId,
        /// The jobs.
        jobs: Vec<Job>,
    },
    /// List the devices of each of these kinds.
    Devices {
        /// The kinds.
        kinds: Vec<String>,
    },
    /// Examine what this machine has, and what it lacks, for measurements on this kind of device.
    #[cfg(feature = "doctor")]
    Examine {
        /// The kind.
        kind: String,
    },
    /// End the worker process.
    End,
}

/// A job to measure, with everything that the worker needs for it. The supervisor sends it in
/// [`Request::Measure`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasureRequest {
    /// The job.
    pub job: Job,
    /// The sampling options.
    #[serde(with = "gpubench_records::raw")]
    pub sampling: Sampling,
    /// The properties of the job's device.
    #[serde(with = "gpubench_records::raw")]
    pub info: DeviceInfo,
    /// The longest wall time of a case.
    pub limit: Duration,
    /// True if CUPTI traces launches after the samples.
    pub verify: bool,
    /// True for a race, which tests each variant itself: the worker checks no outputs and no writes, and
    /// after the samples makes no further launches and uses no second method.
    pub unchecked: bool,
}

/// A reply of a worker to its supervisor, which the worker sends at once. One request may have several
/// replies; [`Self::Done`] is the last, unless the worker exits before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The properties of the device in the request.
    DeviceInfo(#[serde(with = "gpubench_records::raw")] DeviceInfo),
    /// The current case has reached this step. If the worker exits, the supervisor knows where.
    Step(Step),
    /// The samples of the current case are taken. Its record comes after the samples of all cases of the job. If the worker
    /// exits in launches after the samples, this record is the result, with a reason.
    Sampled(#[serde(with = "gpubench_records::raw")] Box<Record>),
    /// A case is done, with a result or a failure.
    Record(#[serde(with = "gpubench_records::raw")] Box<Record>),
    /// The launches of a case whose record was sent, as CUPTI traced them.
    Traced {
        /// The state of the cache in the case.
        cache: Cache,
        /// The trace, or the reason that there is none.
        #[serde(with = "gpubench_records::raw")]
        pass: CuptiPass,
    },
    /// A job was launched once as a test, or several times for a profiler. True if its outputs were checked,
    /// or the failure.
    Tested(Result<bool, Failure>),
    /// The size of the memory that launches of a job write, whatever values that memory held before; `None`
    /// if the size is unknown.
    Writes(Option<Bytes>),
    /// The cases of the next variant in the request.
    Listed(Result<ListedCases, Failure>),
    /// The arguments with which `with` is compared with the next job in the request, or the reason why it
    /// cannot be.
    Paired(Result<ComparisonTarget, String>),
    /// The path of the driver's library, for other workers; `None` if the library could not be loaded, or if
    /// its path is not UTF-8.
    Library(Option<PathBuf>),
    /// The devices of the next kind in the request, or the reason that there are none.
    Devices(Result<Vec<Available>, String>),
    /// The findings about a kind of device.
    #[cfg(feature = "doctor")]
    Examined(Vec<crate::devices::doctor::Finding>),
    /// The device cannot be used, or the benchmark does not exist for it; with the reason.
    NoDevice(String),
    /// A message for the user, in addition to the results.
    Remark(String),
    /// The job left another context current, another rounding mode, or busy threads. The next job needs a new
    /// process.
    Changed,
    /// An error made the device unusable for this process; another process may still use it. The worker
    /// process exits right after this reply, so that nothing is dropped on a lost device.
    DeviceLost,
    /// The request is done; the next one may come.
    Done,
}

impl Request {
    /// Returns the name of the device that the request uses; empty if it uses none.
    pub fn device(&self) -> &str {
        match self {
            Self::DeviceInfo { device, .. } => device,
            Self::Measure(request) => &request.job.device,
            Self::Test { job } | Self::Writes { job, .. } | Self::Profile { job, .. } => &job.device,
            _ => "",
        }
    }

    /// Returns true if the request runs launches of a benchmark, which may change the worker's process.
    /// Returns false for [`Profile`](Self::Profile), which supervisors do not send.
    pub fn is_job(&self) -> bool {
        matches!(self, Self::Measure(_) | Self::Test { .. } | Self::Writes { .. })
    }
}

impl Reply {
    /// Returns true if the supervisor's time limit starts again at this reply: after the samples of a case, at the
    /// end of a case or a trace, after each item of a list, and while a case waits until the device is cool.
    pub fn restarts_time_limit(&self) -> bool {
        matches!(
            self,
            Self::Record(_)
                | Self::Sampled(_)
                | Self::Traced { .. }
                | Self::Listed(_)
                | Self::Paired(_)
                | Self::Library(_)
                | Self::Devices(_)
                // The wait for a cool device does not count as time of the case.
                | Self::Step(Step::CoolDown)
        )
    }
}

/// The state that a worker keeps between requests: the linked benchmarks, and the open devices by name.
pub struct WorkerState {
    entries: Vec<&'static Entry>,
    devices: HashMap<String, Box<dyn Device>>,
}

impl WorkerState {
    /// Returns the state of a new worker, without open devices. A request opens its device if needed, and
    /// makes it current.
    pub fn begin() -> Self {
        let entries = registry::entries().into_iter().chain(kinds::peaks::entries()).collect();
        Self { entries, devices: HashMap::new() }
    }

    /// Answers a request: passes every reply to `reply`, [`Reply::Done`] last.
    pub fn answer(&mut self, request: &Request, reply: &mut dyn FnMut(Reply)) {
        if request.device().is_empty() {
            reply(Reply::Step(Step::Preparation));
        }
        match request {
            Request::DeviceInfo { device, peaks } => {
                let opened = self.open_device(device);
                let info = opened.and_then(|device| {
                    info_with_peaks(device, peaks.as_ref()).map_err(|error| error.to_string())
                });
                reply(info.map_or_else(Reply::NoDevice, Reply::DeviceInfo));
            }
            Request::Measure(request) => {
                let job = &request.job;
                let with = job
                    .with
                    .as_ref()
                    .map(|with| (with, self.find_variant(&with.benchmark, &with.args, &job.device)));
                self.run_on_device(job, reply, |found, device, reply| match with {
                    None => job::run(request, found, device, reply),
                    Some((_, Err(error))) => {
                        JobInProgress::new(request, device, reply)
                            .fail_remaining(&Failure::new(Stage::Args, error));
                    }
                    Some((with, Ok(partner))) => {
                        comparison::run(request, with, [found, partner], device, reply);
                    }
                });
            }
            Request::Test { job } | Request::Writes { job, .. } | Request::Profile { job, .. } => {
                self.run_on_device(job, reply, |found, device, reply| {
                    run_action(request, job, found, device, reply);
                });
            }
            Request::List { variants, cases } => {
                variants.iter().for_each(|variant| reply(Reply::Listed(variant.list(&self.entries, cases))));
            }
            Request::Pair { with, jobs } => {
                for job in jobs {
                    let partner = || find_comparison_target(job, with, &self.entries);
                    reply(Reply::Paired(while_listed(DeviceId::parse(&job.device).ordinal, partner)));
                }
            }
            Request::Devices { kinds } => {
                // Opens the library, which need not be there.
                reply(Reply::Library(
                    // A path that is not UTF-8 cannot be sent.
                    gpubench_driver::load()
                        .ok()
                        .and_then(|_| gpubench_driver::library_path())
                        .filter(|path| path.to_str().is_some()),
                ));
                kinds.iter().for_each(|kind| reply(Reply::Devices(list_devices(kind))));
            }
            #[cfg(feature = "doctor")]
            Request::Examine { kind } => reply(Reply::Examined(crate::devices::doctor::examine(kind))),
            Request::End => {}
        }
        reply(Reply::Done);
    }

    /// Calls `work` with the benchmark and the variant for `job`, and with its open device. Replies
    /// [`Reply::NoDevice`] instead if there is no such variant, or if the device cannot be opened. If another
    /// process must serve the next request after `work`, replies [`Reply::DeviceLost`] or [`Reply::Changed`].
    fn run_on_device(
        &mut self,
        job: &Job,
        reply: &mut dyn FnMut(Reply),
        work: impl FnOnce((&Entry, &Variant), &mut dyn Device, &mut dyn FnMut(Reply)),
    ) {
        let found = self
            .find_variant(&job.benchmark, &job.args, &job.device)
            .and_then(|found| Ok((found, self.open_device(&job.device)?)));
        match found {
            Ok((found, device)) => {
                let arithmetic = between_jobs::arithmetic_fingerprint();
                fail_on_detached_panic(reply, |reply| work(found, device, reply));
                let left_context = matches!(device.make_current(), Ok(Some(_)));
                if device.synchronize().is_err() {
                    reply(Reply::DeviceLost);
                } else if left_context || between_jobs::arithmetic_fingerprint() != arithmetic {
                    reply(Reply::Changed);
                } else if between_jobs::has_busy_threads() {
                    reply(Reply::Remark(format!(
                        "`{job}` left threads running: later cases get a new process"
                    )));
                    reply(Reply::Changed);
                }
            }
            Err(error) => reply(Reply::NoDevice(error)),
        }
    }

    /// Returns the benchmark with this path, and its variant for the kind of `device` that has the types and
    /// constants in `args`. The error is a sentence that says which of the two is missing.
    fn find_variant(
        &self,
        benchmark: &str,
        args: &[Arg],
        device: &str,
    ) -> Result<(&'static Entry, &'static Variant), String> {
        let entry = self.entries.iter().find(|entry| entry.path() == benchmark);
        let entry = entry.ok_or_else(|| format!("there is no benchmark `{benchmark}` in this program"))?;
        let kind = DeviceId::parse(device).kind;
        let variant = entry
            .variants
            .iter()
            .find(|variant| variant.device == kind && registry::matches_generics(variant, args));
        Ok((entry, variant.ok_or_else(|| format!("`{benchmark}` does not run on `{device}`"))?))
    }

    /// Returns the open device of this name, such as `cuda:0`. Opens the device if needed, and makes it
    /// current. The error is a sentence with the reason.
    fn open_device(&mut self, device: &str) -> Result<&mut dyn Device, String> {
        let slot = match self.devices.entry(device.to_owned()) {
            Slot::Occupied(open) => open.into_mut(),
            Slot::Vacant(slot) => {
                let id = DeviceId::parse(device);
                let kind =
                    kinds::kind(id.kind).ok_or_else(|| format!("no known kind of device: `{}`", id.kind))?;
                slot.insert((kind.open)(id.ordinal).map_err(|error| error.to_string())?)
            }
        };
        // The reply to an earlier job says so if that left another device current.
        slot.make_current().map_err(|error| error.to_string())?;
        Ok(slot.as_mut())
    }
}

/// Returns the devices of a kind such as `cuda`. The error is the reason: the kind is unknown, or it has no
/// devices.
fn list_devices(kind: &str) -> Result<Vec<Available>, String> {
    let kind = kinds::kind(kind).ok_or_else(|| "unknown to this program".to_owned())?;
    (kind.list)().map_err(|error| error.to_string())
}

/// Runs `work`, and passes its replies on. If a detached thread has panicked before a reply with a successful
/// result, replaces that result by a failure. The thread may be one of an earlier job; then a retry of the
/// case succeeds, since it runs in a new process without the thread.
fn fail_on_detached_panic(reply: &mut dyn FnMut(Reply), work: impl FnOnce(&mut dyn FnMut(Reply))) {
    catch::forget_panics();
    work(&mut |answer| {
        reply(match (answer, catch::panic_in_detached_thread()) {
            (Reply::Record(record), Some(failure)) if record.failure().is_none() => {
                Reply::Record(Box::new(Record::failed(record.planned(), failure)))
            }
            (Reply::Tested(Ok(_)), Some(failure)) => Reply::Tested(Err(failure)),
            (answer, _) => answer,
        });
    });
}
