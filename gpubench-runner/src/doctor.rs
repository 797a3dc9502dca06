//! Examines what a machine has for measuring and what it lacks, and resets clocks that another program locked.

use std::{io, time::Duration};

use crate::runner::clock_lock::{NO_GPU, clock_control};
use crate::runner::supervisor::{Supervisor, WorkerStarter};
use gpubench_runtime::__private::finding::{Finding, Level};
use gpubench_runtime::device::{Available, DeviceError};
use gpubench_runtime::devices::kinds::KINDS;
use gpubench_runtime::worker::{Reply, Request};

/// The time limit for the driver of one kind of device to answer. If it passes, the findings report a
/// problem. A driver takes a second or two to start, and longer on a machine with many GPUs.
const EXAMINE_LIMIT: Duration = Duration::from_secs(60);

/// Examines this machine for each kind of device, and changes nothing. A worker process asks the drivers: a
/// driver that hangs or ends that process is a finding. The program must call
/// [`run_as_child`](crate::suite::run_as_child) first in its `main`.
///
/// # Errors
/// Returns an error if no worker process can be started.
pub fn examine() -> io::Result<Vec<Finding>> {
    let mut supervisor = Supervisor::new(false, WorkerStarter::default(), &|| false, Box::new(drop));
    let mut findings = Vec::new();
    for kind in &KINDS {
        let (request, mut is_examined) = (Request::Examine { kind: kind.name.to_owned() }, false);
        let lost = supervisor.ask(&request, EXAMINE_LIMIT, &mut |reply| {
            if let Reply::Examined(found) = reply {
                is_examined = true;
                findings.extend(found);
            }
        });
        if let Some(lost) = lost.map_err(io::Error::other)?.filter(|_| !is_examined) {
            findings.push(Finding::with_advice(
                format!("{}s", kind.noun),
                Level::Problem,
                lost.to_string(),
                "the driver does not work on this machine: `dmesg` and its own tools may say why",
            ));
        }
    }
    supervisor.dismiss();
    Ok(findings)
}

/// Returns the devices of this machine that are of a kind whose clocks can be locked.
///
/// # Errors
/// Without such a device, returns the error of the first such kind that could not be listed, or an error that
/// there is no GPU.
pub fn clocked_devices() -> Result<Vec<Available>, DeviceError> {
    let mut reason = None;
    let mut devices = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.clocks.is_some()) {
        match (kind.list)() {
            Ok(found) => devices.extend(found),
            Err(error) => drop(reason.get_or_insert(error)),
        }
    }
    if devices.is_empty() {
        return Err(reason.unwrap_or_else(|| DeviceError::new(NO_GPU)));
    }
    Ok(devices)
}

/// Resets the clocks of a device to the driver's control, even if another program locked them.
///
/// # Errors
/// Returns the reason that they cannot be reset.
pub fn reset_clocks(Available { device, uuid, .. }: &Available) -> Result<(), DeviceError> {
    let silent = || DeviceError::new("the driver lists it and answers nothing");
    (clock_control(device)?.reset)(uuid.as_deref().ok_or_else(silent)?)
}
