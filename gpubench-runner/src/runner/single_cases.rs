//! Cases that are measured or tested one at a time, in the order in which an extension asks for them, and test mode, which launches every
//! job once. One worker of a device does all of them as long as it survives. A case that fails is tried once more in a new worker.

use super::{RunConfig, RunError, lister::device_info, supervisor::Supervisor};
use crate::plan::Plan;
use gpubench_records::{DeviceInfo, Failure, Record, Sampling, Stage};
use gpubench_runtime::worker::{MeasureRequest, Reply, Request};
use gpubench_runtime::{Job, JobStatus};
use gpubench_stats::{Map, format::joined};

/// Measures or tests one case at a time, for extensions and for test mode. Lists of arguments and plans are
/// made elsewhere.
pub struct SingleCases<'a> {
    pub(crate) supervisor: Supervisor<'a>,
    config: &'a RunConfig,
    /// The properties of the devices that were used so far.
    pub devices: Vec<DeviceInfo>,
    /// Notes about stored peaks of these devices that cannot be used.
    pub notes: Vec<String>,
    confirmed: ConfirmedFailures,
}

/// The number of [`ConfirmedFailures`] of a benchmark at one stage after which its failures at this stage are
/// not retried: they probably have the same cause, and each retry costs a process.
const MAX_CONFIRMED_FAILURES: usize = 3;

/// The number of cases that failed again when they were retried, by benchmark and by stage of the first
/// failure.
#[derive(Default)]
pub(super) struct ConfirmedFailures(Map<(String, Stage), usize>);

impl ConfirmedFailures {
    /// Returns true if `failure` is not to be retried, because [`MAX_CONFIRMED_FAILURES`] failures of this
    /// benchmark at the same stage were confirmed.
    pub(super) fn need_no_retry(&self, benchmark: &str, failure: &Failure) -> bool {
        self.0
            .get(&(benchmark.to_owned(), failure.stage))
            .is_some_and(|times| *times >= MAX_CONFIRMED_FAILURES)
    }

    /// Counts a failure that a retry has confirmed.
    pub(super) fn add(&mut self, benchmark: &str, failure: &Failure) {
        *self.0.or_insert((benchmark.to_owned(), failure.stage), 0) += 1;
    }
}

/// The answer of a worker about one case. The outer error ends all measurement; the inner one is the failure
/// of the case.
pub type CaseResult<T> = Result<Result<T, Failure>, RunError>;

impl<'a> SingleCases<'a> {
    /// Uses the workers of `supervisor`, which starts each when it is first needed.
    pub(crate) fn new(supervisor: Supervisor<'a>, config: &'a RunConfig) -> Self {
        let confirmed = ConfirmedFailures::default();
        Self { supervisor, config, devices: Vec::new(), notes: Vec::new(), confirmed }
    }

    /// Returns the properties of a device with its peaks. The first call for a device asks a worker, and adds
    /// to [`devices`](Self::devices) and [`notes`](Self::notes). Returns an error if the device cannot be
    /// used.
    pub fn info(&mut self, device: &str) -> Result<DeviceInfo, RunError> {
        if let Some(known) = self.devices.iter().find(|info| info.device == device) {
            return Ok(known.clone());
        }
        let (info, note) = info_with_peaks(&mut self.supervisor, self.config, device)?;
        self.notes.extend(note);
        self.devices.push(info.clone());
        Ok(info)
    }

    /// Measures a job of one case, interleaved with its comparison target if it has one. Checks neither
    /// outputs nor writes. A record without a usable measurement counts as a failure.
    pub fn measure(&mut self, job: &Job, sampling: Sampling) -> CaseResult<Record> {
        let (limit, info) = (self.config.limit(job), self.info(&job.device)?);
        let request =
            MeasureRequest { job: job.clone(), sampling, info, limit, verify: false, unchecked: true };
        self.ask_with_retry(job, &Request::Measure(Box::new(request)), |reply| match reply {
            Reply::Record(record) => Some(require_usable(*record)),
            _ => None,
        })
    }

    /// Launches a job once and checks its outputs. Returns false if the job has no check, and a failure for
    /// wrong outputs.
    pub fn test(&mut self, job: &Job) -> CaseResult<bool> {
        self.ask_with_retry(job, &Request::Test { job: job.clone() }, |reply| match reply {
            Reply::Tested(outcome) => Some(outcome),
            _ => None,
        })
    }

    /// Sends a request for `job`. After a failure, sends it once more to a new worker; if that fails too,
    /// returns the first failure. Does not retry with `--in-process`, or if
    /// [`ConfirmedFailures::need_no_retry`] returns true. Does not retry either if the time limit passed in a
    /// worker that had not run a benchmark before.
    fn ask_with_retry<T>(
        &mut self,
        job: &Job,
        request: &Request,
        read: impl Fn(Reply) -> Option<Result<T, Failure>>,
    ) -> CaseResult<T> {
        let limit = self.config.limit(job);
        let is_used = self.supervisor.has_run_benchmark(&job.device);
        let (first, timed_out) = self.supervisor.ask_once(request, limit, &read)?;
        let Err(failure) = first else { return Ok(first) };
        let is_known = self.confirmed.need_no_retry(&job.benchmark, &failure);
        if self.config.settings.in_process || is_known || (timed_out && !is_used) {
            return Ok(Err(failure));
        }
        self.supervisor.dismiss_worker_of(&job.device);
        let (second, _) = self.supervisor.ask_once(request, limit, &read)?;
        if second.is_err() {
            self.confirmed.add(&job.benchmark, &failure);
        }
        Ok(second.or(Err(failure)))
    }
}

/// Returns the record if it has a usable measurement, else the failure of the case: its own, or the reasons
/// that its time is invalid.
fn require_usable(record: Record) -> Result<Record, Failure> {
    if let Some(failure) = record.failure() {
        return Err(failure.clone());
    }
    if record.usable_measurement().is_some() {
        return Ok(record);
    }
    let reasons = joined(&record.verdict.reasons, "; ");
    Err(Failure::new(Stage::Sampling, format_args!("its time is invalid: {reasons}")))
}

/// Returns the properties of a device with its peaks, and a note if its stored peaks cannot be used. Returns
/// an error if the device cannot be used.
pub(crate) fn info_with_peaks(
    supervisor: &mut Supervisor<'_>,
    config: &RunConfig,
    device: &str,
) -> Result<(DeviceInfo, Option<String>), RunError> {
    let info = device_info(supervisor, config, device)?;
    let mut info = info.map_err(|why| RunError::Device(format!("device `{device}`: {why}")))?;
    let notes = config.peak_sources.add_to(&mut info);
    Ok((info, notes))
}

/// A job in test mode.
pub(crate) struct Trial {
    /// Its name, with its device if it is tried on several.
    pub name: String,
    /// Its outcome.
    pub outcome: TrialOutcome,
}

/// The outcome of a job in test mode.
#[derive(PartialEq, Eq)]
pub(crate) enum TrialOutcome {
    /// It launched and passed its check.
    Passed,
    /// It launched; it has no check.
    Launched,
    /// It is left out, for the reason that its benchmark gives.
    Skipped(String),
    /// It needs a missing device.
    Ignored(String),
    /// Its launch, its check or the list of its arguments failed, or the device that the user demanded is
    /// missing.
    Failed(Failure),
}

/// Launches each job of `plan` once, except skipped and failed ones, and checks its outputs. Calls
/// `job_started` before each launch. Ends early if the user wants to stop, at an error, and with `fail_fast`
/// after the first failure. Returns the outcomes so far, and an error if it ended early for another reason
/// than `fail_fast`.
pub(crate) fn run_trials(
    cases: &mut SingleCases<'_>,
    plan: &Plan,
    fail_fast: bool,
    job_started: &mut dyn FnMut(&Job),
) -> (Vec<Trial>, Result<(), RunError>) {
    let mut trials = Vec::with_capacity(plan.jobs.len());
    let mut jobs_by_name: Map<String, usize> = Map::default();
    plan.jobs.iter().for_each(|(job, _)| *jobs_by_name.or_insert(job.to_string(), 0) += 1);
    for (job, status) in &plan.jobs {
        let outcome = match status {
            JobStatus::Skipped(why) => TrialOutcome::Skipped(why.clone()),
            JobStatus::Broken(failure) => TrialOutcome::Failed(failure.clone()),
            _ if cases.supervisor.is_stopped() => return (trials, Err(RunError::Interrupted)),
            _ => {
                job_started(job);
                match cases.test(job) {
                    Ok(Ok(true)) => TrialOutcome::Passed,
                    Ok(Ok(false)) => TrialOutcome::Launched,
                    Ok(Err(failure)) => TrialOutcome::Failed(failure),
                    Err(error) => return (trials, Err(error)),
                }
            }
        };
        let is_last = fail_fast && matches!(outcome, TrialOutcome::Failed(_));
        let name = job.to_string();
        let name =
            if jobs_by_name.get(&name) > Some(&1) { format!("{name} on {}", job.device) } else { name };
        trials.push(Trial { name, outcome });
        if is_last {
            break;
        }
    }
    cases.supervisor.dismiss();
    (trials, Ok(()))
}

/// Returns a trial for each job of `plan` that needs a missing device: failed if the user `demanded` ignored
/// benchmarks, else ignored.
pub(crate) fn trials_without_device(plan: &Plan, demanded: bool) -> impl Iterator<Item = Trial> {
    plan.absent.iter().map(move |(job, why)| {
        let outcome = match demanded {
            true => TrialOutcome::Failed(Failure::new(Stage::Device, why)),
            false => TrialOutcome::Ignored(why.clone()),
        };
        Trial { name: job.to_string(), outcome }
    })
}
