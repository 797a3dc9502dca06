//! Examines what a machine has for measuring and what it lacks. Changes nothing.

use std::{io, time::Duration};

use crate::runner::supervisor::Supervisor;
use gpubench_runtime::__private::finding::{Finding, Level};
use gpubench_runtime::devices::kinds::KINDS;
use gpubench_runtime::worker::{Reply, Request};

/// The time in which every driver answers. One that starts takes a second or two, and longer for each of many GPUs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Examines this machine, kind by kind of device, in a worker process: a driver may hang, or end the process that asks it. The program
/// must call [`run_as_child`](crate::suite::run_as_child) first in its `main`.
///
/// # Errors
/// Returns an error if no process can be started.
pub fn examine() -> io::Result<Vec<Finding>> {
    let mut supervisor = Supervisor::new(false, None, &|| false, Box::new(drop));
    let mut findings = Vec::new();
    for kind in &KINDS {
        let (request, mut is_examined) = (Request::Examine { kind: kind.name.to_owned() }, false);
        let lost = supervisor.ask(&request, PATIENCE, &mut |reply| {
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
