//! `doctor`: what this machine has for measuring, and what it lacks. In: nothing; out: a line for each thing with what to do, or JSON,
//! and exit code 1 if a device cannot be measured. It changes nothing, unless it is asked to unlock clocks.

use gpubench_records::exit::Exit;
use gpubench_runtime::__private::machine::{ClockedDevice, Finding, Level, clocked_devices, examine};
use gpubench_stats::format::counted;
use gpubench_table::paragraph;
use serde::Serialize;

use crate::error::{CommandError, DeviceCommandError};
use crate::output::{self, PrintOptions};

/// The answer as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    /// The format of this answer.
    schema: &'static str,
    findings: &'a [Finding],
}

pub(super) fn doctor(json: bool, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let findings = examine().map_err(DeviceCommandError::NotExamined)?;
    let text = if json {
        let answer = Answer { schema: "gpubench-doctor/1", findings: &findings };
        serde_json::to_string_pretty(&answer).map_err(DeviceCommandError::NotJson)? + "\n"
    } else {
        paragraph(&text(&findings), print_options.page())
    };
    output::print(&text, print_options)?;
    let has_problem = findings.iter().any(|finding| finding.level == Level::Problem);
    Ok(if has_problem { Exit::Failed } else { Exit::Done })
}

/// Unlocks the clocks of these devices; of all if none is named.
pub(super) fn reset_clocks(wanted: &[String], print_options: PrintOptions) -> Result<Exit, CommandError> {
    let devices = clocked_devices().map_err(DeviceCommandError::NoDevice)?;
    if let Some(unknown) = wanted.iter().find(|name| !devices.iter().any(|device| is_called(device, name))) {
        let known = devices.iter().map(|device| device.device.clone()).collect();
        return Err(DeviceCommandError::Unknown { name: unknown.clone(), known }.into());
    }
    let is_wanted =
        |device: &&ClockedDevice| wanted.is_empty() || wanted.iter().any(|name| is_called(device, name));
    let mut exit = Exit::Done;
    for device in devices.iter().filter(is_wanted) {
        match device.reset() {
            Ok(()) => {
                let done = format!("{} ({}): clocks reset\n", device.device, device.name);
                output::print(&paragraph(&done, print_options.page()), print_options)?;
            }
            Err(error) => {
                output::error(&DeviceCommandError::Refused { device: device.device.clone(), error });
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

/// Returns true if this is a name of the device: `cuda:0`, or `0` for short.
fn is_called(device: &ClockedDevice, name: &str) -> bool {
    device.device == name || device.device.rsplit_once(':').is_some_and(|(_, number)| number == name)
}

/// Returns a line for each finding, with its advice below, and a line for all.
fn text(findings: &[Finding]) -> String {
    let topic = |finding: &Finding| match &finding.device {
        Some(device) => format!("{device} {}", finding.topic),
        None => finding.topic.clone(),
    };
    let width = findings.iter().map(|finding| topic(finding).chars().count()).max().unwrap_or(0);
    let lines = findings.iter().map(|finding| {
        let mark = match finding.level {
            Level::Problem => '!',
            Level::Warning => '?',
            _ => ' ',
        };
        let advice = finding.advice.as_deref().map(|advice| format!("      {advice}\n")).unwrap_or_default();
        format!("{mark} {:width$}  {}\n{advice}", topic(finding), finding.found)
    });
    let lines: String = lines.collect();
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    let counts = format!("{}, {}", counted(problems, "problem"), counted(warnings, "warning"));
    // A paragraph drops the blanks before its first word.
    format!("{}\n{counts}\n", lines.trim_end())
}
