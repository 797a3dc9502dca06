//! The process that measures. In: [`Request`]s, one at a time; out: [`Reply`]s, each sent at once. It is a process of
//! its own, so that a launch function that crashes costs one case and not the run.

mod action;
mod afterwards;
mod comparison;
mod job;
mod leaks;
mod measurement;
mod message;
mod mirrored;
mod pipe;
mod places;
mod planning;
mod prepared;
mod process;
pub(crate) mod profiled;
mod progress;
mod seam;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::catch::ThreadPanics;
use crate::device::{Device, DeviceError};
use crate::devices::kinds;
use crate::peaks::{CeilingCache, device_of};
use crate::plan::Job;
use crate::registry::{self, Entry, Variant};
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::id::Arg;
use gpubench_records::id::DeviceId;
use gpubench_records::method::Cache;
use gpubench_records::record::Record;
use gpubench_records::sampling::Sampling;
use gpubench_records::verification::CuptiPass;
use gpubench_stats::units::Bytes;

pub use self::pipe::serve;
pub(crate) use self::planning::{PlanningReply, PlanningRequest};
pub use self::process::FLAG;
pub(crate) use self::process::Libraries;
pub(crate) use self::process::Process;
pub(crate) use self::seam::{Loss, Worker};

/// A request to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Send the facts of a device.
    DeviceInfo {
        /// The device.
        device: String,
        /// The store of peaks that need not be measured again.
        #[serde(default)]
        ceilings: Option<CeilingCache>,
    },
    /// Measure the cases of a job.
    Measure {
        /// The job.
        job: Job,
        /// The sampling options.
        sampling: Sampling,
        /// The facts of its device.
        info: Box<DeviceInfo>,
        /// The longest wall time of a case.
        limit: Duration,
        /// True if CUPTI traces launches after the samples.
        #[serde(default)]
        verify: bool,
        /// True for a race, which tests by itself what it names: outputs and writes are not checked, and behind the samples there is
        /// neither another launch nor a second method.
        #[serde(default)]
        unchecked: bool,
    },
    /// Launch a job once, check its outputs, and time nothing.
    Test {
        /// The job.
        job: Job,
    },
    /// Detect the writes of a job whose first launch changed less memory than it claims, by launching it on memory that holds
    /// other values. Afterwards this process is of no more use: its other memory may have changed too.
    Writes {
        /// The job.
        job: Job,
        /// The size of the memory that need not be exceeded.
        enough: Bytes,
    },
    /// Launch a job so often between marks that number it, each for a profiler that looks on.
    Profile {
        /// The job.
        job: Job,
        /// Its number, from 0.
        number: usize,
        /// The launches.
        launches: usize,
    },
    /// Find out something for the plan.
    Planning(PlanningRequest),
    /// End: there is nothing more to do.
    End,
}

/// A reply of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The facts of the device in the request.
    DeviceInfo(DeviceInfo),
    /// The current case has reached this step. If the worker is lost, the supervisor knows where.
    Step(Step),
    /// The median of the current case is known to this part of it, as a fraction, from so many samples.
    Interval {
        /// The number of samples so far.
        samples: usize,
        /// Half of the interval over the median.
        half_width: f64,
    },
    /// The samples of the current case are taken. This is its result if the worker is lost before the record comes.
    Sampled(Box<Record>),
    /// A case is done, with a result or a failure.
    Record(Box<Record>),
    /// The launches of a case whose record was sent, as CUPTI traced them.
    Traced {
        /// The state of the cache in the case.
        cache: Cache,
        /// The trace, or the reason that there is none.
        pass: CuptiPass,
    },
    /// A job was launched once: true if its outputs were checked, or the failure.
    Tested(Result<bool, Failure>),
    /// The size of the memory that launches of a job change, whatever that holds; `None` if it cannot be found out.
    Writes(Option<Bytes>),
    /// Something for the plan.
    Planning(PlanningReply),
    /// The device cannot be used.
    NoDevice(String),
    /// Something that the user needs to know and that is no result.
    Remark(String),
    /// The job left another current context, another rounding mode, or running threads: the next job needs a new process.
    Changed,
    /// After an error the device is of no more use to this process; another process may use it. A worker process says
    /// nothing after this: it ends at once, so that nothing is dropped on a lost device.
    DeviceLost,
    /// The request is done; the next one may come.
    Done,
}

impl Request {
    /// Returns the device of the request, if it has one.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::DeviceInfo { device, .. } => Some(device),
            Self::Measure { job, .. }
            | Self::Test { job }
            | Self::Writes { job, .. }
            | Self::Profile { job, .. } => Some(&job.device),
            Self::Planning(_) | Self::End => None,
        }
    }
}

impl Request {
    /// Returns true if it runs a benchmark.
    #[must_use]
    pub fn is_job(&self) -> bool {
        matches!(self, Self::Measure { .. } | Self::Test { .. } | Self::Writes { .. })
    }
}

/// The reason why a worker cannot do what a request asks for.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// The benchmark is not in this program.
    #[error("there is no benchmark `{0}` in this program")]
    InvalidBenchmarkId(String),
    /// The benchmark is written for another kind of device.
    #[error("`{benchmark}` does not run on `{device}`")]
    OtherDevice {
        /// The benchmark's path.
        benchmark: String,
        /// The device of the request.
        device: String,
    },
    /// No benchmark is written for this kind of device.
    #[error("no benchmark runs on `{device}`")]
    NoneRuns {
        /// The device of the request.
        device: String,
    },
    /// The worker has another device open.
    #[error("a worker process opens one device, and this one has {open} open: `{device}` needs another")]
    Full {
        /// The open devices.
        open: String,
        /// The device of the request.
        device: String,
    },
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The open devices and the linked entries: the state that a worker keeps between requests.
pub(crate) struct WorkerState {
    entries: Vec<&'static Entry>,
    devices: HashMap<String, Box<dyn Device>>,
    /// The largest number of open devices.
    most: usize,
}

impl WorkerState {
    /// Returns a worker for one device at a time, none open yet, so that one device's failures reach no other.
    #[must_use]
    pub(crate) fn for_one_device() -> Self {
        Self::with_room_for(1)
    }

    /// Returns a worker for any number of devices. Each request makes its own device current.
    #[must_use]
    pub(crate) fn for_all_devices() -> Self {
        Self::with_room_for(usize::MAX)
    }

    fn with_room_for(most: usize) -> Self {
        let entries = registry::entries().into_iter().chain(kinds::ceilings()).collect();
        Self { entries, devices: HashMap::new(), most }
    }

    /// Answers a request: passes every reply to `reply`, [`Reply::Done`] last.
    pub(crate) fn answer(&mut self, request: &Request, reply: &mut dyn FnMut(Reply)) {
        match request {
            Request::DeviceInfo { device, ceilings } => {
                let opened = self.variant_on(device).and_then(|variant| self.open(device, variant));
                let info = opened.and_then(|device| Ok(device_of(device, ceilings.as_ref())?));
                reply(info.map_or_else(|error| Reply::NoDevice(error.to_string()), Reply::DeviceInfo));
            }
            Request::Measure { job, sampling, info, limit, verify, unchecked } => {
                let with =
                    job.with.as_ref().map(|with| (with, self.find(&with.benchmark, &with.args, &job.device)));
                self.on_device(job, reply, |found, device, reply| match with {
                    None => {
                        let (limit, verify, unchecked) = (*limit, *verify, *unchecked);
                        let task = job::JobTask { job, found, sampling, info, limit, verify, unchecked };
                        job::run(&task, device, reply);
                    }
                    Some((_, Err(error))) => job::fail(job, &Failure::new(Stage::Args, error), reply),
                    Some((with, Ok(partner))) => {
                        let (found, limit, unchecked) = ([found, partner], *limit, *unchecked);
                        comparison::run(
                            &comparison::ComparisonTask {
                                job,
                                with,
                                found,
                                sampling,
                                info,
                                limit,
                                unchecked,
                            },
                            device,
                            reply,
                        );
                    }
                });
            }
            Request::Test { job } => {
                self.on_device(job, reply, |found, device, reply| action::test(job, found, device, reply));
            }
            Request::Writes { job, enough } => {
                self.on_device(job, reply, |(_, variant), device, reply| {
                    action::writes(job, *enough, variant, device, reply);
                });
            }
            Request::Profile { job, number, launches } => {
                self.on_device(job, reply, |(_, variant), device, reply| {
                    action::profile(job, (*number, *launches), variant, device, reply);
                });
            }
            Request::Planning(request) => {
                planning::answer(request, &self.entries, &mut |answer| reply(Reply::Planning(answer)));
            }
            Request::End => {}
        }
        reply(Reply::Done);
    }

    /// Does `work` for `job` on its device, and reports the device if it is lost.
    fn on_device(
        &mut self,
        job: &Job,
        reply: &mut dyn FnMut(Reply),
        work: impl FnOnce((&Entry, &Variant), &mut dyn Device, &mut dyn FnMut(Reply)),
    ) {
        let found = self
            .find(&job.benchmark, &job.args, &job.device)
            .and_then(|found| Ok((found, self.open(&job.device, found.1)?)));
        match found {
            Ok((found, device)) => {
                let arithmetic = leaks::arithmetic();
                watched(reply, |reply| work(found, device, reply));
                let left_context = matches!(device.make_current(), Ok(Some(_)));
                if device.synchronize().is_err() {
                    reply(Reply::DeviceLost);
                } else if left_context || leaks::arithmetic() != arithmetic {
                    reply(Reply::Changed);
                } else if leaks::threads_run() {
                    reply(Reply::Remark(format!(
                        "`{job}` left threads running: later cases get a new process"
                    )));
                    reply(Reply::Changed);
                }
            }
            Err(error) => reply(Reply::NoDevice(error.to_string())),
        }
    }

    /// Finds the benchmark of this path, and its variant with these arguments on a device.
    fn find(
        &self,
        benchmark: &str,
        args: &[Arg],
        device: &str,
    ) -> Result<(&'static Entry, &'static Variant), WorkerError> {
        let entry = self.entries.iter().find(|entry| entry.path() == benchmark);
        let entry = entry.ok_or_else(|| WorkerError::InvalidBenchmarkId(benchmark.to_owned()))?;
        let kind = DeviceId::parse(device).kind;
        let chosen = |variant: &Variant| variant.generics.iter().all(|generic| args.contains(&generic.arg()));
        let variant = entry.variants.iter().find(|variant| variant.device == kind && chosen(variant));
        let other_device =
            || WorkerError::OtherDevice { benchmark: benchmark.to_owned(), device: device.to_owned() };
        Ok((entry, variant.ok_or_else(other_device)?))
    }

    fn variant_on(&self, device: &str) -> Result<&'static Variant, WorkerError> {
        let kind = DeviceId::parse(device).kind;
        let mut variants = self.entries.iter().flat_map(|entry| entry.variants);
        variants
            .find(|variant| variant.device == kind)
            .ok_or_else(|| WorkerError::NoneRuns { device: device.to_owned() })
    }

    /// Opens the device of this name if needed, and makes it current.
    fn open(&mut self, device: &str, variant: &Variant) -> Result<&mut dyn Device, WorkerError> {
        if !self.devices.contains_key(device) && self.devices.len() >= self.most {
            let open: Vec<String> = self.devices.keys().map(|open| format!("`{open}`")).collect();
            return Err(WorkerError::Full { open: open.join(", "), device: device.to_owned() });
        }
        let slot = match self.devices.entry(device.to_owned()) {
            Slot::Occupied(open) => open.into_mut(),
            Slot::Vacant(slot) => {
                let ordinal = DeviceId::parse(device).ordinal;
                slot.insert((variant.open)(ordinal)?)
            }
        };
        // Earlier jobs have already been told if they left another device current.
        slot.make_current()?;
        Ok(slot.as_mut())
    }
}

/// Does the work of a job, and fails its cases if a thread panics that it has started and does not wait for. A panic of a thread
/// that was there before is a remark: it is no fault of this job.
fn watched(reply: &mut dyn FnMut(Reply), work: impl FnOnce(&mut dyn FnMut(Reply))) {
    let (panics, late) = ThreadPanics::watch();
    let remark = |panic: String| {
        Reply::Remark(format!(
            "a thread that an earlier benchmark had started panicked at {panic}: it ended no row"
        ))
    };
    late.into_iter().for_each(|panic| reply(remark(panic)));
    work(&mut |answer| {
        reply(match (answer, panics.failure()) {
            (Reply::Record(record), Some(failure)) if record.failure().is_none() => {
                let failed = Record::failed(record.planned(), failure);
                Reply::Record(Box::new(failed))
            }
            (Reply::Tested(Ok(_)), Some(failure)) => Reply::Tested(Err(failure)),
            (answer, _) => answer,
        });
    });
    panics.end().into_iter().for_each(|panic| reply(remark(panic)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Visitor;

    fn visit(_: &mut dyn Visitor) {}

    #[test]
    fn a_worker_opens_one_device() {
        let variant = Variant::of::<crate::devices::host::Stream>(&[], visit);
        let mut worker = WorkerState::for_one_device();
        assert!(worker.open("host", &variant).is_ok() && worker.open("host", &variant).is_ok());
        let refused = worker.open("other", &variant).err().map(|error| error.to_string());
        let expected =
            "a worker process opens one device, and this one has `host` open: `other` needs another";
        assert_eq!(refused.as_deref(), Some(expected));
        let mut worker = WorkerState::for_all_devices();
        assert!(worker.open("host", &variant).is_ok() && worker.open("other", &variant).is_ok());
    }
}
