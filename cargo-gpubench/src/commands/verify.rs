//! `verify`: measures benchmarks, counts their launches with Nsight Compute, and compares the counters with the
//! declared bytes and flops.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use clap::Args;
use gpubench_records::{Cache, Exit, NcuPass, PlannedCase, Reason, Record, Run};
use gpubench_report::{counters::store_ncu_counters, loading::load};
use gpubench_runner::__private::{PROFILED_FLAG, ProcessGroup, ProfiledCases, parse_positive_time};
use gpubench_stats::format::counted;

use super::benchmark_binaries::{BuildArgs, Cargo, is_benchmark_binary, refuse_shared_file};
use super::{combined_exit, ncu_counters, signals};
use crate::output::{
    self, CommandError, ExportArgs, PrintOptions, Result, ResultDestinations, bail, path_message,
};

/// The arguments of `cargo gpubench verify`.
#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Verify this benchmark binary, and build none
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Add how each number came about, with all counters
    #[arg(long)]
    explain: bool,
    /// Kill Nsight Compute after this time, multiplied by the number of results that it counts
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, default_value = "60s")]
    timeout: Duration,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    exports: ExportArgs,
    /// Filters and flags of each benchmark binary
    #[arg(value_name = "FILTER|FLAG", last = true)]
    flags: Vec<String>,
}

/// The beginning of the names of devices that Nsight Compute supports. Cases on other devices get no
/// counters.
const COUNTED_DEVICES: &str = "cuda:";

/// Runs the command.
pub(super) fn verify(args: &VerifyArgs, options: PrintOptions) -> Result<Exit> {
    let results = ResultDestinations::new(&args.exports, &[], options)?;
    signals::listen()?;
    let binaries = binary_commands(args)?;
    refuse_shared_file(results.exports.first().map(|export| export.format), binaries.len())?;
    let (mut ends, mut on_gpu) = (Vec::new(), Vec::new());
    for mut binary in binaries {
        match measure(&mut binary)? {
            Err(exit) => ends.push(exit),
            Ok(mut run) => {
                add_counters(args, &binary, &mut run);
                results.print_run("", &run, args.explain)?;
                results.write_run(&run)?;
                ends.push(exit_of_verified(&run));
                on_gpu.push(run.records.iter().any(|record| record.device.starts_with(COUNTED_DEVICES)));
            }
        }
        if let Some(interrupted) = signals::received_signal() {
            return Ok(interrupted);
        }
    }
    // Binaries that measured no GPU do not decide the exit code, unless all did so.
    if !on_gpu.is_empty() && !on_gpu.contains(&true) {
        ends.push(Exit::NoDevice);
    }
    Ok(combined_exit(ends))
}

/// Returns the command of each benchmark binary, with the user's filters and flags. Builds the binaries,
/// unless the user names one.
fn binary_commands(args: &VerifyArgs) -> Result<Vec<Command>> {
    if let Some(program) = &args.program {
        let program =
            program.canonicalize().map_err(|error| CommandError::usage(path_message(program, error)))?;
        if !is_benchmark_binary(&mut Command::new(&program)) {
            bail!(
                Usage,
                "{}: not a benchmark binary: give one that cargo built from a target with `gpubench::main!`, such as \
                 target/release/deps/NAME-HASH",
                program.display()
            );
        }
        let mut command = Command::new(program);
        command.args(&args.flags).arg("--bench");
        return Ok(vec![command]);
    }
    let cargo = Cargo::default();
    let built = cargo.build(&cargo.metadata(&args.build)?.bench_targets(&args.build)?, &args.build)?;
    Ok(built.binaries.iter().map(|suite| built.command(suite, &args.flags)).collect())
}

/// Prints the number of results that counters contradict or that were not counted. Returns the exit code for a
/// verified run: [`Exit::Failed`] if there are such results, or the exit code of the run itself if that is more
/// important.
fn exit_of_verified(run: &Run) -> Exit {
    let is_contradicted =
        |reason: &Reason| matches!(reason, Reason::TrafficMismatch { .. } | Reason::FlopsMismatch { .. });
    let is_unchecked = |record: &&Record| {
        let verification = record.measurement.as_ref().and_then(|measured| measured.verification.as_ref());
        matches!(verification.and_then(|verification| verification.ncu.as_ref()), Some(NcuPass::Failed(_)))
    };
    let contradicted = run.records.iter().filter(|record| record.verdict.reasons.iter().any(is_contradicted));
    let exit = match (contradicted.count(), run.records.iter().filter(is_unchecked).count()) {
        (0, 0) => Exit::Done,
        (contradicted, unchecked) => {
            let parts = [(contradicted, "contradicted by counters"), (unchecked, "not checked by counters")];
            let parts = parts.iter().filter(|(number, _)| *number > 0);
            let parts: Vec<String> =
                parts.map(|(number, how)| format!("{} {how}", counted(*number, "result"))).collect();
            output::note(&format!("verify failed: {}", parts.join(", ")));
            Exit::Failed
        }
    };
    exit.min(Exit::of(run))
}

/// Runs a benchmark binary without counters. Returns the run, or the exit code of the binary if it wrote no
/// run.
fn measure(binary: &mut Command) -> Result<Result<Run, Exit>> {
    let folder = tempfile::tempdir()
        .map_err(|error| CommandError::failed(format!("a temporary folder cannot be made: {error}")))?;
    let file = folder.path().join("run.json");
    // The user gets the verified run.
    binary.env("GPUBENCH_RUNS_DIR", "none");
    let ended = signals::run_child(binary.arg("--json").arg(&file).stdout(Stdio::null()), Exit::Failed)?;
    if !file.is_file() {
        return Ok(Err(signals::exit_of_child(ended.status)));
    }
    Ok(Ok(load(&file)?.run))
}

/// Adds to the records of NVIDIA GPUs their counters, or the reason that there are none. Starts Nsight
/// Compute for each device and cache state. Its failure is only a warning, and a signal ends the loop early.
fn add_counters(args: &VerifyArgs, binary: &Command, run: &mut Run) {
    let mut groups: BTreeMap<(String, Cache), Vec<PlannedCase>> = BTreeMap::new();
    for record in run.records.iter().filter(|record| record.measurement.is_some()) {
        if record.device.starts_with(COUNTED_DEVICES) {
            groups.entry((record.device.clone(), record.case.cache)).or_default().push(record.planned());
        }
    }
    if groups.is_empty() {
        output::warn(&format!(
            "{}: no benchmark was measured on an NVIDIA GPU, and Nsight Compute counts no other",
            run.program.suite
        ));
    }
    for ((device, cache), cases) in groups {
        if signals::received_signal().is_some() {
            return;
        }
        let passes = count_cases(args, binary, &cases).unwrap_or_else(|why| {
            output::warn(&format!(
                "declared bytes and flops of {cache} results on `{device}` were not checked: {why}"
            ));
            vec![NcuPass::Failed(why); cases.len()]
        });
        let last_level_cache = run.device(&device).and_then(|info| info.last_level_cache);
        for (case, pass) in cases.iter().zip(passes) {
            let record = run.records.iter_mut().find(|record| record.planned() == *case);
            record.into_iter().for_each(|record| store_ncu_counters(record, pass.clone(), last_level_cache));
        }
    }
}

/// Counts `cases`, which have the same device and cache state, in one process of Nsight Compute. Returns the
/// counters, or the reason if none of the cases could be counted. After an error message that is not among
/// [`REFUSALS`], such as one about an unknown metric, tries again with only the basic metrics.
fn count_cases(args: &VerifyArgs, binary: &Command, cases: &[PlannedCase]) -> Result<Vec<NcuPass>, String> {
    let ncu = find_ncu()?;
    let limit = args.timeout.saturating_mul(cases.len() as u32);
    let mut refused = String::new();
    for metrics in [ncu_counters::all_metrics(), ncu_counters::basic_metrics()] {
        let profile = run_ncu(&ncu, binary, cases, &metrics, limit)?;
        let kernels = ncu_counters::parse_kernels(&profile.printed);
        if !kernels.is_empty() {
            return Ok(ncu_counters::passes_of_cases(&kernels, cases.len(), &profile.failures));
        }
        if let Some(why) = profile.failures.values().next().filter(|_| profile.failures.len() == cases.len())
        {
            return Err(why.clone());
        }
        refused = refusal_reason(&profile.printed).unwrap_or(profile.ending);
        if !refused.starts_with(QUOTE_PREFIX) {
            break;
        }
    }
    Err(refused)
}

/// The number of launches of each case that Nsight Compute counts. The counters of a case are the means of
/// these launches.
const LAUNCHES_PER_CASE: usize = 3;
/// The time between two checks whether Nsight Compute has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Texts in messages of Nsight Compute, each with an explanation for the user.
const REFUSALS: [(&str, &str); 6] = [
    (
        "ERR_NVGPUCTRPERM",
        "the driver lets only administrators read the GPU's counters: run as root, or follow https://developer.nvidia.com/ERR_NVGPUCTRPERM",
    ),
    ("MIG", "the counters of a GPU that is partitioned (MIG) cannot be read"),
    ("not supported on this device", "this GPU's counters cannot be read, as in most virtual machines"),
    ("vGPU", "the counters of a virtual GPU cannot be read"),
    ("another instance", "another profiler reads the GPU's counters"),
    ("ResourceUnavailable", "another profiler reads the GPU's counters"),
];

/// The beginning of a reason that quotes a message of Nsight Compute.
const QUOTE_PREFIX: &str = "ncu reports: ";

/// The output of Nsight Compute, with the errors of the benchmark binary that it ran.
struct NcuOutput {
    /// Its standard output, then its standard error.
    printed: String,
    /// The errors of cases, by their indices from 0, which the benchmark binary wrote.
    failures: BTreeMap<usize, String>,
    /// A sentence on how it ended.
    ending: String,
}

/// Returns the reason why the profiler counted nothing, from the lines that it printed: the explanation of a known error or
/// warning, or else its first error. Returns `None` if there is neither.
fn refusal_reason(printed: &str) -> Option<String> {
    let lines: Vec<&str> =
        printed.lines().filter(|line| line.contains("==ERROR==") || line.contains("==WARNING==")).collect();
    let known = REFUSALS.iter().find(|(words, _)| lines.iter().any(|line| line.contains(words)));
    let error = || lines.iter().find_map(|line| Some(line.split_once("==ERROR==")?.1.trim()));
    known.map(|(_, meaning)| (*meaning).to_owned()).or_else(|| Some(format!("{QUOTE_PREFIX}{}", error()?)))
}

/// Returns the path of Nsight Compute's program `ncu`: from the PATH, a CUDA toolkit, or the folder of its
/// installer.
pub(super) fn find_ncu() -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain(folders_with_prefix("/usr/local", "cuda")).map(|root| root.join("bin"));
    let places =
        env::split_paths(&path).chain(toolkits).chain(folders_with_prefix("/opt/nvidia/nsight-compute", ""));
    places.map(|folder| folder.join("ncu")).find(|program| program.is_file()).ok_or_else(|| {
        "ncu (Nsight Compute) is not in the PATH, in a CUDA toolkit or in /opt/nvidia/nsight-compute: install it".to_owned()
    })
}

/// Returns the paths in the folder `root` whose names begin with `beginning`, in descending order; none if
/// the folder cannot be read.
fn folders_with_prefix(root: &str, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let fitting = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
    let mut found: Vec<PathBuf> = fitting.map(|entry| entry.path()).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// Runs a benchmark binary under Nsight Compute, and kills both after `limit` or a signal. The binary
/// launches each of `cases`, which have the same cache state, [`LAUNCHES_PER_CASE`] times.
fn run_ncu(
    ncu: &Path,
    binary: &Command,
    cases: &[PlannedCase],
    metrics: &[String],
    limit: Duration,
) -> Result<NcuOutput, String> {
    let ran = || -> io::Result<NcuOutput> {
        let folder = tempfile::Builder::new().prefix("gpubench-ncu-").tempdir()?;
        let failures = folder.path().join("failures");
        let request =
            ProfiledCases { cases: cases.to_vec(), launches: LAUNCHES_PER_CASE, failures: failures.clone() };
        fs::write(folder.path().join("cases"), serde_json::to_vec(&request)?)?;
        let is_cold = cases.first().is_some_and(|case| case.cache == Cache::Cold);
        let mut command = Command::new(ncu);
        command
            .args(["--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"])
            .args(["--clock-control", "none", "--cache-control", if is_cold { "all" } else { "none" }])
            .args(["--metrics", &metrics.join(",")])
            .arg(binary.get_program())
            .arg(PROFILED_FLAG)
            .arg(folder.path().join("cases"))
            .envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("LC_ALL", "C")
            .current_dir(binary.get_current_dir().unwrap_or(Path::new(".")))
            .stdin(Stdio::null())
            .stdout(File::create(folder.path().join("out"))?)
            .stderr(File::create(folder.path().join("err"))?);
        let ending =
            wait_for_ncu(ProcessGroup::start(&mut command)?, limit, || signals::received_signal().is_some())?;
        let text = |name: &str| fs::read(folder.path().join(name)).unwrap_or_default();
        let printed = String::from_utf8_lossy(&[text("out"), text("err")].concat()).into_owned();
        let failures = fs::read_to_string(failures).unwrap_or_default();
        let failures = failures.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(NcuOutput { printed, failures, ending })
    };
    ran().map_err(|error| format!("ncu cannot be run: {error}"))
}

/// Waits for the process to end. Kills it and its children after `limit`, or when `is_stopped` returns true.
/// Returns a sentence on how it ended, for the case that it profiled nothing.
fn wait_for_ncu(mut ncu: ProcessGroup, limit: Duration, is_stopped: impl Fn() -> bool) -> io::Result<String> {
    let began = Instant::now();
    while !ncu.has_ended() {
        let interrupted = is_stopped();
        if interrupted || began.elapsed() > limit {
            ncu.kill();
            ncu.wait()?;
            let late = "ncu exceeded the time limits of its cases, and was killed";
            return Ok(if interrupted { "the run was interrupted" } else { late }.to_owned());
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(format!("ncu profiled nothing, and ended with {}", ncu.wait()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_reported_in_a_line() {
        for (printed, expected) in [
            (
                "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.",
                "the driver lets only administrators",
            ),
            ("==ERROR== Profiling is not supported on this device", "as in most virtual machines"),
            ("==WARNING== Profiling is not supported on MIG instances", "partitioned (MIG)"),
            (
                "==PROF== Connected\n==ERROR== Failed to find metric foo__bar.sum",
                "ncu reports: Failed to find metric foo__bar.sum",
            ),
        ] {
            assert!(refusal_reason(printed).expect("it is one").contains(expected), "{printed}");
        }
        assert_eq!(refusal_reason("==PROF== Connected to process 1\n\"ERR_NVGPUCTRPERM\""), None);
    }

    #[test]
    fn it_ends_by_itself_at_the_limit_or_with_the_run() {
        let ended = |script: &str, limit, stop: bool| {
            let group =
                ProcessGroup::start(Command::new("sh").args(["-c", script])).expect("every Unix has it");
            wait_for_ncu(group, limit, || stop).expect("it can be waited for")
        };
        let (long, began) = (Duration::from_secs(60), Instant::now());
        let exited = ended("exit 3", long, false);
        assert_eq!(exited, "ncu profiled nothing, and ended with exit status: 3");
        let late = "ncu exceeded the time limits of its cases, and was killed";
        assert_eq!(ended("sleep 50", Duration::from_millis(50), false), late);
        assert_eq!(ended("sleep 50", long, true), "the run was interrupted");
        assert!(began.elapsed() < Duration::from_secs(40), "nothing slept to its end");
    }
}
