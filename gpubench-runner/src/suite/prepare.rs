//! Plans a run: the selection, or with `--resume` the rest of an earlier run, its devices, and the commit that the program was built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::{Error, share::TaskShare};
use crate::plan::{Plan, PlanError, Selection};
use crate::runner::supervisor::{Supervisor, WorkerStarter};
use crate::runner::{RunEvent, RunEvents, RunSetup, lister::WorkerLister, resume::ResumedRecords};
use crate::select::{self, FoundDevices, SelectedDevices};
use crate::settings::{RunsDir, Settings};
use gpubench_core::Entry;
use gpubench_records::threads::{self, Receiver};
use gpubench_records::{EarlierRun, Package, Program, files as store, unique};
use gpubench_runtime::device::{Available, DeviceKind};
use gpubench_runtime::{__private::DefaultChoice, devices::kinds, registry, system::host_name};
use gpubench_stats::format::counted;

/// The purpose of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Measures benchmarks.
    Measure,
    /// Measures the peaks of the device.
    MeasurePeaks,
    /// Launches each benchmark once.
    Test,
    /// Measures benchmarks as an extension does.
    Extension,
}

impl Purpose {
    /// Returns the benchmarks for this purpose: gpubench's own to measure peaks, else those of the program.
    pub(super) fn entries(self) -> Vec<&'static Entry> {
        if self == Self::MeasurePeaks { kinds::peaks::entries() } else { registry::entries() }
    }
}

/// Plans cases on devices.
pub(super) struct Planner<'a> {
    purpose: Purpose,
    entries: &'a [&'a Entry],
    options: &'a Settings,
    pub selection: Selection,
    /// Lists arguments and devices.
    pub lister: WorkerLister<'static>,
    /// The task that the run is, if it is one of several.
    pub share: TaskShare,
}

impl<'a> Planner<'a> {
    /// Creates a planner for `purpose`, which starts a worker when it needs the first list.
    pub(super) fn new(
        purpose: Purpose,
        entries: &'a [&'a Entry],
        options: &'a Settings,
        share: TaskShare,
    ) -> Result<Self, Error> {
        let mut selection = options.selection().map_err(Error::usage)?;
        selection.absent_are_ignored = purpose == Purpose::Test;
        // A signal ends this process while it plans, and with it the worker.
        let supervisor =
            Supervisor::new(options.in_process, WorkerStarter::default(), &|| false, Box::new(drop));
        let lister = WorkerLister::new(supervisor, options.time_limit());
        Ok(Self { purpose, entries, options, selection, lister, share })
    }

    /// Sets up a run of the selection. With `--resume`, the setup also has the valid records of an earlier
    /// run, and the devices of that run unless the user or the scheduler names others. If the run is one of
    /// several tasks, its plan has only this task's cases. `fingerprint` is that of the program, if it is needed.
    pub(super) fn run_setup(
        &mut self,
        mut program: Program,
        store: Option<(PathBuf, bool)>,
        fingerprint: &Receiver<Option<String>>,
    ) -> Result<RunSetup, Error> {
        let options = self.options;
        let earlier = match (&options.resume, &store) {
            (Some(name), Some((runs, _))) => self.earlier_run(runs, name, &program.suite)?,
            _ => None,
        };
        // A task that is started again is given other devices, perhaps on another node.
        let before = earlier.iter().filter(|_| self.share.given_gpus().is_none());
        let names: Vec<&str> =
            before.flat_map(|earlier| &earlier.run.devices).map(|info| &*info.device).collect();
        let device = options.device.clone().or_else(|| (!names.is_empty()).then(|| names.join(",")));
        let (planned, SelectedDevices { devices, notes, .. }) = self.plan_on_devices(device.as_deref())?;
        let planned = planned?;
        program.fingerprint = fingerprint.receive(None).ok().flatten();
        if let (Some((_, why)), true) = (planned.absent.first(), planned.jobs.is_empty()) {
            let benchmarks = counted(planned.absent_benchmarks(), "selected benchmark");
            return Err(Error::new(
                format!(
                    "{why}, needed by {benchmarks}\n\
                    with a GPU: check that `nvidia-smi` lists it, with driver 515 or newer, that CUDA_VISIBLE_DEVICES is not set, and that\n\
                    the machine was restarted after the last update of the driver (in a container: that the driver is passed in)\n\
                    without a GPU: measure the CPU, with benchmarks that take `&host::Stream`; or use the fake driver, which invents\n\
                    times: run `cargo build -p fake-cuda` in gpubench's folder, and set GPUBENCH_LIBCUDA to its\n\
                    target/debug/libfake_cuda.so"
                ),
                super::Exit::NoDevice,
            ));
        }
        let mut notes = earlier.as_ref().map_or(notes, |earlier| earlier.run.notes.clone());
        notes.extend(unmatched_note(&planned).filter(|note| !notes.contains(note)));
        let plan = self.share.keep_own_part(planned);
        let resumed = earlier.map(|earlier| {
            let limit = options.time_limit().into();
            ResumedRecords::from_earlier(earlier, &plan, &program, &options.sampling(), limit)
        });
        let (resumed, task) = (resumed.unwrap_or_default(), self.share.task.take());
        Ok(RunSetup { plan, devices, program, notes, resumed, task, store })
    }

    /// Returns the run that `--resume` calls `name`, or an error if there is none. If this run is one of
    /// several tasks, `last` is the last run of the same task, and `None` if there is none: a script that can
    /// be started again says `--resume` the first time too.
    fn earlier_run(&self, runs: &Path, name: &str, suite: &str) -> Result<Option<EarlierRun>, Error> {
        let earlier = match &self.share.task {
            Some(task) if name == store::LAST => {
                EarlierRun::of_task(runs, task, suite, host_name().as_deref())
            }
            _ => EarlierRun::open(runs, name, suite).map(Some),
        };
        earlier.map_err(|error| Error::usage(format_args!("--resume: {error}")))
    }

    /// Plans the selection on the requested devices, or on those that a task was given, and returns the
    /// devices too. Adds a note if benchmarks are left out for lack of a device. The outer error means that
    /// requested devices are missing.
    pub(super) fn plan_on_devices(
        &mut self,
        device: Option<&str>,
    ) -> Result<(Result<Plan, PlanError>, SelectedDevices), Error> {
        let no_device = |error| Error::new(error, super::Exit::NoDevice);
        let comes_first = |kind: &&str| select::default_choice(kind) == Some(DefaultChoice::First);
        let first = kinds_of(self.entries).into_iter().find(comes_first);
        self.lister.starts_in_advance = first.filter(|_| !self.options.in_process);
        let given = self.share.given_gpus().map(|(given, all)| (given.to_owned(), all));
        let selected = match (&given, device) {
            (Some((given, all)), None) => self.search_devices(None).select_given(given, *all),
            // The error names all that is there.
            (_, Some(_)) => self
                .search_devices(device)
                .select(device)
                .or_else(|_| self.search_devices(None).select(device)),
            // A test times nothing, so the CPU is tested in addition to a GPU.
            (_, None) => self.search_devices(None).select_default(self.purpose == Purpose::Test),
        };
        let mut selected = selected.map_err(no_device)?;
        let mut planned = self.plan(&selected);
        // A test runner starts a process for each listed name, whatever its device.
        let is_one_name = self.options.exact && device.is_none() && given.is_none();
        if is_one_name && matches!(planned, Err(PlanError::Nothing { .. })) {
            let all = self.search_devices(None).select_default(true).map_err(no_device)?;
            let on_others = self.plan(&all);
            if let Ok(plan) = &on_others {
                let is_used = |found: &Available| plan.jobs.iter().any(|(job, _)| job.device == found.device);
                selected = all;
                selected.devices.retain(is_used);
                planned = on_others;
            }
        }
        let is_selected = |kind: &str| selected.devices.iter().any(|found| found.kind == kind);
        self.lister.starter.retain(is_selected);
        if let Ok(plan) = &planned {
            add_absent_note(plan, &mut selected.notes);
        }
        if self.purpose == Purpose::MeasurePeaks && selected.devices.is_empty() {
            return Err(Error::NoGpu);
        }
        Ok((planned, selected))
    }

    /// Searches for devices of the entries' kinds, or only for those that `wanted` may name: a driver that is not needed is not started.
    pub(super) fn search_devices(&mut self, wanted: Option<&str>) -> FoundDevices {
        let searched: Vec<&DeviceKind> = kinds::listed()
            .iter()
            .copied()
            .filter(|kind| wanted.is_none_or(|wanted| select::may_name_kind(wanted, kind.name)))
            .collect();
        FoundDevices::new(&kinds_of(self.entries), self.lister.devices(&searched))
    }

    /// Plans the selection on these devices, while others are missing.
    fn plan(&mut self, selected: &SelectedDevices) -> Result<Plan, PlanError> {
        let SelectedDevices { devices, missing, .. } = selected;
        Plan::new(self.entries, &self.selection, devices, missing, &mut self.lister)
    }
}

/// Adds the number of benchmarks of `plan` that are left out for lack of a device to the note about that device, or as a new note. Adds
/// nothing if none is left out.
fn add_absent_note(plan: &Plan, notes: &mut Vec<String>) {
    let Some((_, why)) = plan.absent.first() else { return };
    let left_out = format!("{} left out", counted(plan.absent_benchmarks(), "benchmark"));
    match notes.iter_mut().find(|note| note.starts_with(why)) {
        Some(note) => *note += &format!("; {left_out}"),
        None => notes.push(format!("{why}: {left_out}")),
    }
}

/// Returns a note that names the filters that match nothing; `None` if all match.
fn unmatched_note(plan: &Plan) -> Option<String> {
    let filters: Vec<String> = plan.unmatched.iter().map(|filter| format!("`{filter}`")).collect();
    (!filters.is_empty()).then(|| format!("no benchmark matches {}", filters.join(" or ")))
}

/// Returns the folder for this run and earlier ones, and true if the run fails without its file there.
/// Without a usable folder, returns an error if the user named it or resumes a run, else warns and returns
/// `None`. Also returns `None` if the user wants no file.
pub(super) fn runs_folder(
    options: &Settings,
    events: &mut dyn RunEvents,
) -> Result<Option<(PathBuf, bool)>, Error> {
    let (folder, is_named) = match &options.runs_dir {
        Some(RunsDir::Nowhere) => return Ok(None),
        Some(RunsDir::In(folder)) => (Some(folder.clone()), true),
        None => (store::default_runs_folder(), false),
    };
    let error = match folder {
        None => "this program has no folder for its runs: --runs-dir names one".to_owned(),
        Some(folder) => match fs::create_dir_all(&folder) {
            Ok(()) => return Ok(Some((folder, is_named))),
            Err(error) => format!("--runs-dir `{}`: {error}", folder.display()),
        },
    };
    if is_named || options.resume.is_some() {
        return Err(Error::usage(error));
    }
    events.event(&RunEvent::Warning(&format!("this run is not kept: {error}")));
    Ok(None)
}

/// Returns the kinds of device that the entries run on, in order of first appearance.
pub(super) fn kinds_of(entries: &[&Entry]) -> Vec<&'static str> {
    unique(entries.iter().flat_map(|entry| entry.variants).map(|variant| variant.device))
}

/// The endings of files that programs are built from. If such a file is newer than the program, the commit is
/// unknown; a change of any other file does not change the program.
const SOURCE_ENDINGS: [&str; 13] =
    ["rs", "toml", "lock", "cu", "cuh", "ptx", "cubin", "fatbin", "c", "cc", "cpp", "h", "hpp"];

/// The longest wait for git, which answers in milliseconds. After it, the commit is unknown.
const GIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts a search for the commit that the program of `package` was built from. Meanwhile the run is planned.
pub(super) fn start_commit_search(package: &Package) -> Receiver<BuiltCommit> {
    let folder = package.folder.clone();
    start_search("git", move || {
        let built = store::open_program().and_then(|program| program.metadata()?.modified()).ok();
        built.and_then(|built| built_commit("git", Path::new(&folder), built))
    })
}

/// Starts a thread that sends the result of `search`. If no thread can be started, there is no answer.
pub(super) fn start_search<T: Send + 'static>(
    name: &str,
    search: impl FnOnce() -> T + Send + 'static,
) -> Receiver<T> {
    let (sender, answer) = threads::channel();
    _ = threads::start(name, move || _ = sender.send(search()));
    answer
}

/// A commit, and true if files had changed since it. `None` if git does not know them, or if a source is newer than the program.
pub(super) type BuiltCommit = Option<(String, bool)>;

/// Returns the package with the commit that `found` sends. The commit stays unknown if git does not answer in [`GIT_TIMEOUT`].
pub(super) fn with_commit((package, found): (Package, Receiver<BuiltCommit>)) -> Package {
    let (commit, dirty) = found.receive(Some(GIT_TIMEOUT)).ok().flatten().unzip();
    Package { commit, dirty, ..package }
}

/// Returns the commit of the checkout with the package in `folder`, and true if tracked files have changed since. `None` if git does not track
/// the package, or if a source file is newer than the program, which was `built` at this time.
fn built_commit(git: &str, folder: &Path, built: SystemTime) -> BuiltCommit {
    // The paths of all files of the checkout, as seen from `folder`.
    let files = run_git(git, folder, &["ls-files", "-z", ":/"])?;
    let files = files.split('\0').filter(|file| !file.is_empty());
    // A package that another project's checkout ignores, such as one of cargo's registry, is not part of its
    // commit.
    let is_tracked = files.clone().any(|file| file == "Cargo.toml");
    let is_source =
        |file: &Path| file.extension().is_some_and(|ending| SOURCE_ENDINGS.iter().any(|it| ending == *it));
    // Git reports a missing file as a change.
    let is_newer = |file: &Path| {
        file.symlink_metadata().and_then(|file| file.modified()).is_ok_and(|modified| modified > built)
    };
    if !is_tracked || files.map(|file| folder.join(file)).any(|file| is_source(&file) && is_newer(&file)) {
        return None;
    }
    let status = run_git(git, folder, &["status", "--porcelain=v2", "--branch", "--untracked-files=no"])?;
    let commit = status.lines().find_map(|line| line.strip_prefix("# branch.oid "))?;
    let is_commit = commit.len() >= 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
    let dirty = status.lines().any(|line| !line.starts_with('#'));
    is_commit.then(|| (commit.to_owned(), dirty))
}

/// Runs the program `git` in `folder` and returns its output; `None` if it fails.
fn run_git(git: &str, folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(git);
    // A hook of another checkout sets these to that checkout.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command.arg("--no-optional-locks").arg("-C").arg(folder).args(arguments);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    /// A checkout with a package in one of its folders. All files are an hour old.
    struct Checkout(TempDir);

    impl Checkout {
        fn new() -> Self {
            let checkout = Self(tempfile::tempdir().expect("a folder"));
            checkout.git(&["init", "--quiet"]);
            fs::create_dir_all(checkout.package().join("src")).expect("a folder");
            for file in ["Cargo.toml", "src/main.rs", "README.md"] {
                checkout.write(file, "before", hours_ago(1));
            }
            checkout.git(&["add", "."]);
            checkout.commit();
            checkout
        }

        fn package(&self) -> PathBuf {
            self.0.path().join("kernels")
        }

        #[track_caller]
        fn git(&self, arguments: &[&str]) -> String {
            let who =
                ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
            run_git("git", self.0.path(), &[&who, arguments].concat()).expect("git does it")
        }

        fn commit(&self) -> String {
            self.git(&["commit", "--quiet", "--all", "--message", "a change"]);
            self.git(&["rev-parse", "HEAD"]).trim().to_owned()
        }

        fn write(&self, file: &str, text: &str, modified: SystemTime) {
            let path = self.package().join(file);
            fs::write(&path, text).expect("it can be written");
            File::options()
                .write(true)
                .open(path)
                .and_then(|file| file.set_modified(modified))
                .expect("a time");
        }

        fn built_commit(&self, built: SystemTime) -> Option<(String, bool)> {
            built_commit("git", &self.package(), built)
        }
    }

    fn hours_ago(hours: u64) -> SystemTime {
        SystemTime::now() - Duration::from_secs(3600 * hours)
    }

    #[test]
    fn a_program_is_of_the_commit_whose_files_it_was_built_from() {
        let checkout = Checkout::new();
        let commit = checkout.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let clean = (commit.clone(), false);
        assert_eq!(checkout.built_commit(SystemTime::now()), Some(clean));
        // Changed, then built, and only then committed.
        checkout.write("src/main.rs", "after", hours_ago(1));
        assert_eq!(checkout.built_commit(hours_ago(0)), Some((commit.clone(), true)));
        let later = checkout.commit();
        assert_ne!(later, commit);
        assert_eq!(checkout.built_commit(hours_ago(0)), Some((later, false)));
    }

    #[test]
    fn what_changed_after_the_build_leaves_it_unknown() {
        let checkout = Checkout::new();
        assert_eq!(checkout.built_commit(hours_ago(2)), None, "its source is newer than the program");
        // No program is built from a text for people.
        checkout.write("README.md", "after", SystemTime::now());
        assert!(checkout.built_commit(hours_ago(0)).is_some_and(|(_, dirty)| dirty));
        checkout.write("src/main.rs", "after", SystemTime::now());
        assert_eq!(checkout.built_commit(hours_ago(0) - Duration::from_secs(60)), None);
    }

    #[test]
    fn without_a_checkout_or_git_it_is_unknown() {
        let checkout = Checkout::new();
        assert_eq!(built_commit("no-git-here", &checkout.package(), SystemTime::now()), None);
        assert_eq!(built_commit("git", &checkout.package().join("gone"), SystemTime::now()), None);
        // A package in another project's checkout, and not part of it.
        let other = checkout.0.path().join("vendored");
        fs::create_dir(&other).expect("a folder");
        fs::write(other.join("Cargo.toml"), "").expect("a file");
        assert_eq!(built_commit("git", &other, SystemTime::now()), None);
    }
}
