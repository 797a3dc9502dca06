//! The valid part of an earlier run. A record is valid if the same build measured the same case in the same way on the same device.

use crate::{peaks::PeakSources, plan::Plan};
use gpubench_records::{
    BenchmarkId, Cache, DeviceInfo, EarlierRun, Peak, PeakSource, PlannedCase, Program, Property, Record,
    Run, Sampling, Stage, device_info::OTHER_PROCESSES, record::Resumed,
};
use gpubench_runtime::Job;
use gpubench_stats::{Map, Nanoseconds, Set, format};

/// A case, and the benchmark that it is compared with, if there is one.
type CaseKey = (PlannedCase, Option<BenchmarkId>);

/// The records of an earlier run that are still valid.
#[derive(Debug, Default)]
pub struct ResumedRecords {
    /// The name of the earlier run.
    name: String,
    /// The duration of the earlier run; 0 without one, or if none of its records can be valid.
    pub wall_time: Nanoseconds,
    /// The devices of the earlier run, as it stored them.
    devices: Vec<DeviceInfo>,
    records: Map<Box<CaseKey>, Box<Record>>,
    remarks: Vec<String>,
}

impl ResumedRecords {
    /// Selects the records of `earlier` that are valid for a run of `plan` by `program` with this sampling
    /// and `timeout`.
    pub fn from_earlier(
        earlier: EarlierRun,
        plan: &Plan,
        program: &Program,
        sampling: &Sampling,
        timeout: Nanoseconds,
    ) -> Self {
        let EarlierRun { name, mut run, remarks } = earlier;
        let mut resumed = Self { name, remarks, ..Self::default() };
        if let Some(difference) = sampling_or_build_difference(&run, program, sampling) {
            resumed.remarks.push(format!("{difference}: all cases are measured again"));
            return resumed;
        }
        (resumed.wall_time, resumed.devices) = (run.wall_time, std::mem::take(&mut run.devices));
        let other_limit = run.timeout != Some(timeout);
        let planned: Set<CaseKey> = plan.planned_cases().map(|(job, cache)| key_of_job(job, cache)).collect();
        let (mut again, mut others) = (0, Set::default());
        // A failure does not tell if it happened in a comparison.
        let compared = run.records.iter().any(|record| record.compared.is_some());
        for record in run.records {
            let unclear = compared && record.measurement.is_none();
            let with = record.compared.as_ref().map(|compared| compared.with.clone());
            let case = (record.planned(), with);
            if unclear || may_succeed_now(&record, other_limit) {
                again += 1;
            } else if planned.contains(&case) {
                resumed.records.insert(Box::new(case), Box::new(record));
            } else {
                others.insert(case);
            }
        }
        if again > 0 {
            let cases = format::counted(again, "result");
            resumed
                .remarks
                .push(format!("{cases} that failed for want of a device or of time: measured again"));
        }
        if let Some((case, with)) = others.iter().min() {
            let name = with.as_ref().map_or(case.name(), |with| format!("{} against {with}", case.name()));
            let (cases, cache) = (format::counted(others.len(), "result"), case.cache);
            resumed.remarks.push(format!(
                "{cases} that the filters leave out, such as {name} {cache}, will not be in the new run: for a run with all results, use \
                 --resume={} without filters",
                resumed.name
            ));
        }
        resumed
    }

    /// Returns remarks about the earlier run and about the records that are not kept.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.iter().map(|remark| format!("resuming {}: {remark}", self.name)).collect()
    }

    /// Returns the stored properties of `device`, without the user's peaks, if there is no need to open it:
    /// all of its cases in `plan` have a record, and the user states the same peaks as in the earlier run.
    /// Returns `None` if the device must be opened, or has no case in `plan`.
    pub(crate) fn info_if_complete(
        &self,
        device: &str,
        plan: &Plan,
        peak_sources: &PeakSources,
    ) -> Option<DeviceInfo> {
        let mut ours = plan.planned_cases().filter(|(job, _)| job.device == device).peekable();
        ours.peek()?;
        if !ours.all(|(job, cache)| self.records.get(&key_of_job(job, cache)).is_some()) {
            return None;
        }
        let info = self.info(device)?;
        let mut bare = info.clone();
        bare.peaks.retain(|peak| peak.source != PeakSource::User);
        let mut now = bare.clone();
        peak_sources.add_to(&mut now);
        (user_peaks(&now) == user_peaks(info)).then_some(bare)
    }

    /// Returns the properties to use for a device that reports `info`: those of the earlier run if it
    /// measured on the same device. If the device or the user's peaks for it have changed since, drops its
    /// records, adds a remark and returns `info`. Also returns `info` if the earlier run had no device of
    /// this name.
    pub fn adopt_info(&mut self, info: DeviceInfo) -> DeviceInfo {
        let Some(theirs) = self.info(&info.device).cloned() else { return info };
        let Some(difference) = device_difference(&theirs, &info) else { return theirs };
        let before = self.records.len();
        let records = std::mem::take(&mut self.records).into_iter();
        self.records = records.filter(|(key, _)| key.0.device != info.device).collect();
        let cases = format::counted(before - self.records.len(), "case");
        self.remarks.push(format!("{difference}: {cases} measured again"));
        info
    }

    /// Returns the properties of a device as the earlier run stored them; `None` if it had no such device.
    fn info(&self, device: &str) -> Option<&DeviceInfo> {
        self.devices.iter().find(|info| info.device == device)
    }

    /// Removes and returns the record of a case; `None` if the case must be measured.
    pub fn take(&mut self, job: &Job, cache: Cache) -> Option<Record> {
        self.records.remove(&key_of_job(job, cache)).map(|record| *record)
    }

    /// Returns the records of the cases in `plan`, in the order of the plan. Cases without a record are left
    /// out.
    pub fn for_plan(&self, plan: &Plan) -> Vec<&Record> {
        plan.planned_cases()
            .filter_map(|(job, cache)| self.records.get(&key_of_job(job, cache)).map(|record| &**record))
            .collect()
    }

    /// Returns the note of a run that took `kept` of its `planned` cases from the earlier one; `None` if it
    /// took none.
    pub fn note(&self, kept: usize, planned: usize) -> Option<Resumed> {
        (kept > 0).then(|| Resumed { run: self.name.clone(), kept, planned })
    }
}

/// Returns the key of a job's case in this cache state.
fn key_of_job(job: &Job, cache: Cache) -> CaseKey {
    (job.case(cache), job.with.clone())
}

/// Returns true if a record of an earlier run is not kept, because its failure may not happen again: its
/// device could not be used, or its worker exited or was killed and the time limit has changed since
/// (`other_limit`).
fn may_succeed_now(record: &Record, other_limit: bool) -> bool {
    record.failure().is_some_and(|failure| {
        failure.stage == Stage::Device || (failure.stage == Stage::Worker && other_limit)
    })
}

/// Returns a phrase with the reason if all records of `run` are invalid for a new run: another or an unknown
/// build, or other sampling options. `None` if they may be valid.
fn sampling_or_build_difference(run: &Run, program: &Program, sampling: &Sampling) -> Option<String> {
    // One build is of one commit, even if the commit was not known each time.
    let build = |program: &Program| Program { package: None, ..program.clone() };
    if build(&run.program) != build(program) || program.fingerprint.is_none() {
        return Some("this program was built anew since".to_owned());
    }
    let settings = sampling.differences(&run.sampling);
    (!settings.is_empty()).then(|| format!("it was sampled with other settings ({})", settings.join(", ")))
}

/// Returns a sentence about the first difference between the device `now` and the device `then`, or between
/// the peaks that the user gave for them. `None` if there is none. Ignores measured peaks and the processes
/// of others, which differ from run to run.
fn device_difference(then: &DeviceInfo, now: &DeviceInfo) -> Option<String> {
    let device = &now.device;
    if then.name != now.name {
        return Some(format!("`{device}` was {}, and is {}", then.name, now.name));
    }
    let lasts = |property: &&Property| property.name != OTHER_PROCESSES;
    let differs = |property: &&Property| lasts(property) && !then.properties.contains(property);
    let gone = |property: &&Property| {
        lasts(property) && !now.properties.iter().any(|other| other.name == property.name)
    };
    let property = now.properties.iter().find(differs).or_else(|| then.properties.iter().find(gone));
    if let Some(property) = property {
        return Some(format!("`{device}` is another device now (its {} is another)", property.name));
    }
    (user_peaks(then) != user_peaks(now)).then(|| format!("other peaks are given for `{device}` now"))
}

/// Returns the peaks of a device that the user gave, in `gpubench.toml`.
fn user_peaks(info: &DeviceInfo) -> Vec<&Peak> {
    info.peaks.iter().filter(|peak| peak.source == PeakSource::User).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver may tell more or less of the same device: that is another machine, as far as times go.
    #[test]
    fn another_device_is_told_by_a_property() {
        use gpubench_records::device_info::Value;

        let of = |properties: &[(&str, &str)]| {
            let mut info = DeviceInfo::new("cuda:0", "H200");
            let property =
                |(name, value): &(&str, &str)| Property::new(*name, Value::Text((*value).to_owned()));
            info.properties = properties.iter().map(property).collect();
            info
        };
        let then = of(&[("clock", "1980 MHz"), ("driver", "580")]);
        let told = |name| Some(format!("`cuda:0` is another device now (its {name} is another)"));
        assert_eq!(device_difference(&then, &then), None);
        let busy = of(&[("clock", "1980 MHz"), ("driver", "580"), (OTHER_PROCESSES, "1")]);
        assert_eq!((device_difference(&then, &busy), device_difference(&busy, &then)), (None, None));
        assert_eq!(
            device_difference(&then, &of(&[("clock", "1980 MHz"), ("driver", "590")])),
            told("driver")
        );
        assert_eq!(device_difference(&then, &of(&[("clock", "1980 MHz")])), told("driver"));
        assert_eq!(device_difference(&of(&[("clock", "1980 MHz")]), &then), told("driver"));
    }
}
