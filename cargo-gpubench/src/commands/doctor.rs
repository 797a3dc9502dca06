//! `doctor`: checks what this machine has for measuring, and prints what to do about the rest. It changes
//! nothing, unless the user asks it to unlock clocks.

use clap::Args;
use gpubench_records::{Exit, selection::names_device};
use gpubench_runner::__private::{Available, Finding, Level, clocked_devices, examine};
use gpubench_stats::format::counted;
use gpubench_table::text::{Page, plain, wrapped};
use serde_json::json;

use super::verify::find_ncu;
use crate::output::{self, CommandError, PrintOptions, Result, bail};

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    /// Unlock the clocks of these GPUs, such as cuda:0 or 0, or of all, instead of checking; needs root
    #[arg(
        long,
        value_name = "DEVICE",
        num_args = 0..,
        require_equals = true,
        value_delimiter = ',',
        conflicts_with = "json"
    )]
    reset_clocks: Option<Vec<String>>,
}

/// Runs the checks, or resets clocks if the user asks for that. The exit code of the checks is
/// [`Exit::Failed`] if one finds a problem.
pub(super) fn doctor(args: &DoctorArgs, options: PrintOptions) -> Result<Exit> {
    if let Some(devices) = &args.reset_clocks {
        return reset_clocks(devices, options);
    }
    let mut findings = examine().map_err(|error| {
        CommandError::failed(format!("the process that asks the drivers cannot be started: {error}"))
    })?;
    // A machine with a driver has a finding on CUPTI; that on the other tool follows.
    if let Some(tool) = findings.iter().position(|finding| finding.topic == "libcupti") {
        findings.insert(tool + 1, ncu_finding());
    }
    if args.json {
        let answer = json!({ "schema": "gpubench-doctor/1", "findings": findings });
        output::print(&format!("{answer:#}\n"), options)?;
    } else {
        output::print(&findings_text(&findings, options.page()), options)?;
    }
    let has_problem = findings.iter().any(|finding| finding.level == Level::Problem);
    Ok(if has_problem { Exit::Failed } else { Exit::Done })
}

/// Returns the finding on Nsight Compute: its path, or advice if it is missing.
fn ncu_finding() -> Finding {
    match find_ncu() {
        Ok(program) => Finding::good("ncu", program.display().to_string()),
        Err(_) => {
            let advice = "for `cargo gpubench verify`; it comes with Nsight Compute: put its folder on PATH";
            Finding::with_advice("ncu", Level::Note, "not found", advice)
        }
    }
}

/// Unlocks the clocks of the devices in `wanted`, or of all devices if it is empty, and prints a line for
/// each. Returns [`Exit::Failed`] if a device could not be unlocked. No device, or an unknown name in
/// `wanted`, is an error before any device is unlocked.
fn reset_clocks(wanted: &[String], options: PrintOptions) -> Result<Exit> {
    let devices = clocked_devices().map_err(|error| {
        CommandError::new(Exit::NoDevice, format!("there is no GPU whose clocks could be unlocked: {error}"))
    })?;
    let is_called = |device: &Available, name: &String| names_device(name, &device.device, None);
    if let Some(unknown) = wanted.iter().find(|name| !devices.iter().any(|device| is_called(device, name))) {
        let known: Vec<&str> = devices.iter().map(|device| &*device.device).collect();
        bail!(NoDevice, "there is no device `{unknown}`: give one of {}", known.join(", "));
    }
    let mut exit = Exit::Done;
    for device in &devices {
        if !wanted.is_empty() && !wanted.iter().any(|name| is_called(device, name)) {
            continue;
        }
        match gpubench_runner::__private::reset_clocks(device) {
            Ok(()) => {
                let done = format!("{} ({}): clocks reset\n", device.device, device.name);
                options.print_paragraph(&done)?;
            }
            Err(error) => {
                output::error(&CommandError::failed(format!("{}: {error}", device.device)));
                exit = Exit::Failed;
            }
        }
    }
    Ok(exit)
}

/// Returns a line for each finding, with its advice below, and a line with the number of problems and
/// warnings, wrapped to `page`. `!` marks a problem, `?` a warning.
fn findings_text(findings: &[Finding], page: Page) -> String {
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
        let begin = format!("{mark} {:width$}  ", topic(finding));
        let advice = finding.advice.iter().flat_map(|advice| wrapped(&plain(advice), "      ", page));
        wrapped(&plain(&finding.found), &begin, page).into_iter().chain(advice).collect::<Vec<_>>()
    });
    let lines: Vec<String> = lines.flatten().collect();
    let count = |level, what| counted(findings.iter().filter(|finding| finding.level == level).count(), what);
    let (problems, warnings) = (count(Level::Problem, "problem"), count(Level::Warning, "warning"));
    let no_gpu = if findings.iter().any(|finding| finding.device.is_some()) {
        ""
    } else {
        "; only the CPU can be measured"
    };
    format!("{}\n{problems} (!), {warnings} (?){no_gpu}\n", lines.join("\n"))
}
