//! The devices of a run. In: those that were found; out: their facts, or the reason that one cannot be used.

use std::time::Duration;

use super::error::{DeviceRefusal, RunError};
use super::lane::{Command, Lane, LaneEvent, Refused};
use super::supervisor::{Ended, Lost, Supervisor};
use super::{RunConfig, Runner};
use crate::device::Available;
use crate::devices::kinds;
use crate::plan::Plan;
use crate::worker::{Reply, Request};
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::id::DeviceId;

/// The limit for the facts of a device. This is no case, and may take longer than a case may.
const FACTS_LIMIT: Duration = Duration::from_secs(60);

/// The number of processes that try to open a device before it is given up. The first may have lost the
/// device itself.
pub(super) const OPENINGS: usize = 2;

impl Runner<'_, '_> {
    /// Asks each device that is still needed for its facts, one after the other: they may measure what they share. An
    /// unusable device costs only its own cases, unless it is the only one.
    pub(super) fn devices(&mut self, devices: &[Available], plan: &Plan) -> Result<(), RunError> {
        let beside_others = |device: &str| kinds::runs_beside_others(DeviceId::parse(device).kind);
        let some_beside = devices.iter().any(|found| beside_others(&found.device));
        for Available { device, .. } in devices {
            let info = match self.resumed.instead_of(device, plan, &self.config.peak_sources) {
                Some(info) => Ok(info),
                None => self.device(device)?,
            };
            if self.lanes.count() > 1 && some_beside && !beside_others(device) {
                // Its cases come behind those of the others, which see every other process on their GPU.
                let lane = self.lanes.of(device);
                self.renew(lane..lane + 1)?;
            }
            match info {
                Ok(mut info) => {
                    self.results.run.notes.extend(self.config.peak_sources.add_to(&mut info));
                    self.results.run.devices.push(self.resumed.on(info));
                }
                Err(why) if devices.len() == 1 => {
                    return Err(RunError::Device { device: device.clone(), why });
                }
                Err(_) => {}
            }
        }
        for remark in self.resumed.remarks() {
            self.results.observer.warning(&remark);
        }
        let resumed = self.resumed.of(plan);
        self.results.run.resumed = self.resumed.note(resumed.len(), plan.cases());
        self.results.observer.run_started(&self.results.run, &resumed);
        Ok(())
    }

    /// Asks the lane of `device` for its facts.
    fn device(&mut self, device: &str) -> Result<Result<DeviceInfo, DeviceRefusal>, RunError> {
        self.lanes.send(self.lanes.of(device), Command::DeviceInfo(device.to_owned()));
        let mut answer = Err(DeviceRefusal::NoFacts);
        loop {
            match self.lanes.wait()?.1 {
                LaneEvent::DeviceInfo(info) => answer = info.map(|info| *info),
                LaneEvent::Done(done) => return done.map(|()| answer).map_err(RunError::from),
                LaneEvent::Warning(warning) => self.results.observer.warning(&warning),
                LaneEvent::Step(_) | LaneEvent::Interval { .. } | LaneEvent::Record(_) => {}
            }
        }
    }
}

impl Lane<'_> {
    /// Sends the facts of `device`. A device that has none is not asked again.
    pub(super) fn info(&mut self, device: &str) -> Result<(), Ended> {
        let answer = info(&mut self.supervisor, self.config, device);
        self.tell_remarks();
        let answer = answer?;
        if let Err(why) = &answer {
            self.refused.insert(device.to_owned(), Refused { why: why.clone(), times: OPENINGS });
        }
        self.tell(LaneEvent::DeviceInfo(answer));
        Ok(())
    }
}

/// Asks a worker for the facts of `device`, and a new one if the first is lost, unless that took its whole limit.
fn info(supervisor: &mut Supervisor<'_>, config: &RunConfig, device: &str) -> Result<InfoAnswer, Ended> {
    let mut asked = ask_info(supervisor, config, device)?;
    if matches!(&asked, Err(lost) if !lost.timed_out()) {
        asked = ask_info(supervisor, config, device)?;
    }
    Ok(asked.unwrap_or_else(|lost| Err(DeviceRefusal::WorkerLost(lost.failure()))))
}

/// Returns the facts of a device with its peaks, and notes on these.
pub(crate) fn facts_with_peaks(
    supervisor: &mut Supervisor<'_>,
    config: &RunConfig,
    device: &str,
) -> Result<(DeviceInfo, Vec<String>), RunError> {
    let answer = info(supervisor, config, device)?;
    let mut info = *answer.map_err(|why| RunError::Device { device: device.to_owned(), why })?;
    let notes = config.peak_sources.add_to(&mut info);
    Ok((info, notes))
}

fn ask_info(
    supervisor: &mut Supervisor<'_>,
    config: &RunConfig,
    device: &str,
) -> Result<Result<InfoAnswer, Lost>, Ended> {
    let ceilings = config.peak_sources.ceilings.clone();
    let request = Request::DeviceInfo { device: device.to_owned(), ceilings };
    let mut answer = Err(DeviceRefusal::NoFacts);
    let limit = FACTS_LIMIT.max(config.timeout);
    let lost = supervisor.ask(&request, limit, &mut |reply| match reply {
        // The name under which its cases ask for it, whatever it calls itself.
        Reply::DeviceInfo(mut info) => {
            device.clone_into(&mut info.device);
            info.properties.extend(config.locked_to(device));
            answer = Ok(Box::new(info));
        }
        Reply::NoDevice(message) => answer = Err(DeviceRefusal::NotOpened(message)),
        _ => {}
    })?;
    Ok(lost.map_or(Ok(answer), Err))
}

/// The facts of a device, or the reason that it cannot be used.
type InfoAnswer = Result<Box<DeviceInfo>, DeviceRefusal>;
