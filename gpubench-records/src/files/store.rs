//! The file of the run in progress. Each record is written as a whole line and synced while the next case is measured, so that
//! neither the end of this process nor of the machine costs more than the case in progress. A lock on the file marks the run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{process, time::Instant};

use crate::files::folders::{RECORDS, name_candidates, oldest_beyond_limit, parse_run_name, run_names};
use crate::files::lines::{WrittenLine, head_of, read};
use crate::files::{disk, disk::sync_folder, replace};
use crate::threads::{self, Receiver, Sender, Thread};
use crate::{Environment, Record, Run, environment::file_name_part};
use gpubench_stats::Nanoseconds;

/// The file of the run in progress, to which records are appended.
#[derive(Debug)]
pub struct Store {
    pub(super) path: PathBuf,
    file: File,
    /// The length of all whole lines.
    length: u64,
    /// The time at which this process created the file.
    begin: Instant,
    /// If the file begins with the records of an earlier run: the time that this earlier run took. Otherwise
    /// 0.
    before: Nanoseconds,
    syncing: Syncing,
}

impl Store {
    /// Creates the file of `run` in a new folder in `folder`, with the records `resumed` of an earlier run.
    /// Other processes see the file with all of these records or not at all. Removes the oldest runs of the
    /// same benchmark binary, unless `run` is one of several tasks.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(folder: &Path, run: &Run, resumed: &[&Record]) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = create_run_folder(folder, run)?;
        let (before, begin) = (run.wall_time, Instant::now());
        let mut beginning = WrittenLine::Run(run).to_bytes()?;
        for record in resumed {
            beginning.extend(WrittenLine::Record { at: before, record }.to_bytes()?);
        }
        let hidden = path.join("records.part");
        let mut file = create_locked(&hidden)?;
        file.write_all(&beginning)?;
        disk::rename(&hidden, &path.join(RECORDS))?;
        let syncing = Syncing::start(file.try_clone()?, File::open(&path)?)?;
        syncing.request_sync();
        remove_oldest_runs(folder, run);
        let path = path.join(RECORDS);
        Ok(Self { path, file, length: beginning.len() as u64, begin, before, syncing })
    }

    /// Appends a record. The record stays in the file even if this process ends right after.
    ///
    /// # Errors
    /// If the record cannot be written: earlier ones stay. Also if the file was removed, since its records
    /// would be lost when this process ends.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        self.check_file_exists()?;
        let at = self.before + Nanoseconds::from(self.begin.elapsed());
        let line = WrittenLine::Record { at, record }.to_bytes()?;
        let written = self.file.write_all(&line);
        match written {
            Ok(()) => {
                self.length += line.len() as u64;
                self.syncing.request_sync();
            }
            // Removes the part of the line that was written. If that fails too, a reader takes it for a last line cut off.
            Err(_) => _ = self.file.set_len(self.length),
        }
        written
    }

    /// Writes the last line of `run`, with `ended_early` if it ended before its plan, and waits until the
    /// whole file is on the disk.
    ///
    /// # Errors
    /// If a part of it could not be written, or the file was removed.
    pub fn end(mut self, run: &Run, ended_early: bool) -> io::Result<()> {
        self.check_file_exists()?;
        let line = WrittenLine::End {
            wall_time: run.wall_time,
            ended_early,
            regression_threshold: run.regression_threshold,
            baseline_comparison: run.baseline_comparison.clone(),
        };
        let line = line.to_bytes()?;
        self.file.write_all(&line)?;
        self.syncing.request_sync();
        self.syncing.end()
    }

    /// Returns an error if the path no longer leads to the open file, such as after `cargo clean`.
    fn check_file_exists(&self) -> io::Result<()> {
        if replace::is_file_at(&self.file, &self.path)? {
            return Ok(());
        }
        let gone = format!("{} was removed meanwhile", self.path.display());
        Err(io::Error::new(io::ErrorKind::NotFound, gone))
    }
}

/// Creates a new folder for `run` in `folder`, and returns its path. If the run is a task, the folder's name
/// contains the host, the job, and the numbers of task and process, so that tasks on many hosts can write
/// into one `folder`.
fn create_run_folder(folder: &Path, run: &Run) -> io::Result<PathBuf> {
    let environment = &run.environment;
    let label = environment.task.as_ref().map(|task| {
        let host = file_name_part(environment.host.as_deref().unwrap_or("host"));
        format!("{host}-{}-{}", task.label(), process::id())
    });
    let there = if label.is_none() { run_names(folder)? } else { Vec::new() };
    for name in name_candidates(run.started, label.as_deref(), &there) {
        let path = folder.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Removes the oldest complete runs in `folder` that `run` may remove ([`is_removable_by`]), beyond the
/// number that is kept. Does nothing if `run` is a task. Folders with other names stay, and so do links,
/// which do not count: the user has put their targets elsewhere to keep them. Other files in the folder of a
/// run stay too.
///
/// Runs of other hosts stay because locks show progress on this host only, and because the clocks of hosts
/// differ.
fn remove_oldest_runs(folder: &Path, run: &Run) {
    if run.environment.task.is_some() {
        return;
    }
    let mut ours = run_names(folder).unwrap_or_default();
    ours.retain(|name| {
        let run_folder = folder.join(name);
        let records = run_folder.join(RECORDS);
        if parse_run_name(name).is_none() || run_folder.is_symlink() || records.is_symlink() {
            return false;
        }
        head_of(&records).is_ok_and(|other| is_removable_by(run, &other))
    });
    for name in oldest_beyond_limit(&ours) {
        let run = folder.join(name);
        let records = run.join(RECORDS);
        // A run in progress is locked by the process that measures it.
        let ended = File::open(&records)
            .is_ok_and(|file| file.try_lock().is_ok() && read(file).is_ok_and(|stored| stored.is_done()));
        if ended && fs::remove_file(records).is_ok() {
            // Fails if somebody has put another file there.
            _ = fs::remove_dir(run);
        }
    }
}

/// Returns true if `run` may remove `other`: both are of the same benchmark binary, `other` is not one of
/// several tasks, and it names the same host or none.
fn is_removable_by(run: &Run, other: &Run) -> bool {
    let Environment { host, task, .. } = &other.environment;
    other.program.suite == run.program.suite
        && task.is_none()
        && (host.is_none() || *host == run.environment.host)
}

/// A thread that syncs the file to the disk, so that no case waits for the disk. All requests during one sync
/// cause one more sync. `None` after [`Self::end`].
#[derive(Debug)]
struct Syncing(Option<(Sender<()>, Thread<io::Result<()>>)>);

impl Syncing {
    /// Starts the thread. It syncs `file` at each request, and at the first one also `folder`, which contains
    /// the file's name.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    fn start(file: File, folder: File) -> io::Result<Self> {
        let (wake, woken) = threads::channel();
        let thread = threads::start("sync", move || sync_on_request(&file, &folder, &woken))?;
        Ok(Self(Some((wake, thread))))
    }

    /// Asks the thread to sync all that was written so far. Does not wait, and has no effect after a sync has
    /// failed.
    fn request_sync(&self) {
        if let Some((wake, _)) = &self.0 {
            // Fails if a sync has failed, which `end` reports.
            wake.send(());
        }
    }

    /// Waits until all requested syncs are done, and ends the thread. Returns the error if a sync failed; a
    /// second call does nothing.
    fn end(&mut self) -> io::Result<()> {
        let Some((wake, thread)) = self.0.take() else { return Ok(()) };
        drop(wake);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the sync panicked")))
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        // Whoever wants the error has called `end` before.
        _ = self.end();
    }
}

/// Syncs `file` at each request, and at the first one also `folder`. Ends when the sender is dropped, or at
/// the first error, which it returns.
fn sync_on_request(file: &File, folder: &File, woken: &Receiver<()>) -> io::Result<()> {
    let mut is_named = false;
    while woken.receive(None).is_ok() {
        // The next sync covers all requests so far.
        woken.sent_messages().for_each(drop);
        file.sync_data()?;
        if !is_named {
            // The name in the folder must be on the disk too.
            sync_folder(folder)?;
            is_named = true;
        }
    }
    Ok(())
}

/// Creates a file, which must not exist yet, and locks it if the file system supports that. The lock shows
/// that the file is still being written.
pub(super) fn create_locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create_new(true).open(path)?;
    _ = file.try_lock();
    Ok(file)
}

/// Returns true if the file is locked for writing. Otherwise locks it for reading until `file` is closed, if
/// the file system supports that.
pub(super) fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod file_tests {
    use std::fs::{OpenOptions, TryLockError};
    use std::os::unix::fs::{OpenOptionsExt, symlink};

    use super::super::folders::MAX_KEPT_RUNS;
    use super::*;

    /// Linux's `O_PATH`: the file is open for nothing, and whoever syncs it is told so.
    const PATH_ONLY: i32 = 0o10_000_000;

    fn unsyncable(path: &Path) -> File {
        OpenOptions::new().read(true).custom_flags(PATH_ONLY).open(path).expect("it is there")
    }

    fn run() -> Run {
        let lines = include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        read(&lines[..]).expect("a run").run
    }

    #[test]
    fn the_file_and_its_name_are_synced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let file = || File::create(&path).expect("it can be made");
        let named = || File::open(folder.path()).expect("it is there");
        for (file, folder, fails) in [
            (file(), named(), false),
            (unsyncable(&path), named(), true),
            (file(), unsyncable(folder.path()), true),
        ] {
            let mut syncing = Syncing::start(file, folder).expect("it starts");
            syncing.request_sync();
            assert_eq!(syncing.end().is_err(), fails);
        }
    }

    #[test]
    fn each_record_and_the_end_are_synced() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run();
        let bare = Run { records: Vec::new(), ..run.clone() };
        let store = || {
            let mut store = Store::create(folder.path(), &bare, &[]).expect("it is written");
            store.syncing.end().expect("it is synced");
            store.syncing =
                Syncing::start(unsyncable(&store.path), unsyncable(folder.path())).expect("it starts");
            store
        };
        let mut added = store();
        added.add(&run.records[0]).expect("it is written");
        assert!(added.syncing.end().is_err(), "a record is synced");
        assert!(store().end(&run, false).is_err(), "so is the end");
    }

    /// The folder of a task's run cannot be made in a file: that is the error, and not that its name was taken.
    #[test]
    fn a_run_that_has_no_place_is_told_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("file");
        File::create(&place).expect("it can be made");
        let task = serde_json::from_str("{\"share\":\"split\",\"number\":1,\"of\":2}").expect("a task");
        let mut run = run();
        run.environment.task = Some(task);
        let refused = create_run_folder(&place, &run).expect_err("it is a file");
        assert_eq!(refused.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_run_in_progress_is_locked() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::create(folder.path(), &run(), &[]).expect("it is written");
        let path = store.path.clone();
        let other = File::open(&path).expect("it is there");
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        store.end(&run(), false).expect("it is written");
        assert!(other.try_lock().is_ok());
    }

    /// As `cargo clean` does, or who puts another file in its place.
    #[test]
    fn a_file_that_was_removed_takes_no_record() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run();
        let store = || Store::create(folder.path(), &run, &[]).expect("it is written");
        let is_told = |told: io::Result<()>| {
            let told = told.expect_err("it was removed");
            assert!(told.to_string().ends_with("records.jsonl was removed meanwhile"), "{told}");
        };
        let (mut removed, ended, mut replaced) = (store(), store(), store());
        for store in [&removed, &ended, &replaced] {
            fs::remove_file(&store.path).expect("it is there");
        }
        fs::write(&replaced.path, "another\n").expect("it can be written");
        is_told(removed.add(&run.records[0]));
        is_told(ended.end(&run, false));
        is_told(replaced.add(&run.records[0]));
        assert_eq!(fs::read_to_string(&replaced.path).expect("it is there"), "another\n");
    }

    /// Whoever moves a run to another disk and leaves a link in its place keeps it.
    #[test]
    fn a_link_in_place_of_a_run_is_never_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = tempfile::tempdir().expect("a folder");
        let bare = Run { records: Vec::new(), ..run() };
        let stored = || {
            let store = Store::create(folder.path(), &bare, &[]).expect("it is written");
            let path = store.path.clone();
            store.end(&bare, false).expect("it is written");
            path
        };
        let place = |records: &Path| records.parent().expect("a folder").to_owned();
        let (first, second) = (stored(), stored());
        let (whole, records) = (archive.path().join("run"), archive.path().join("records"));
        fs::rename(place(&first), &whole).expect("it can be moved");
        symlink(&whole, place(&first)).expect("it can be made");
        fs::rename(&second, &records).expect("it can be moved");
        symlink(&records, &second).expect("it can be made");
        let later: Vec<PathBuf> = (0..=MAX_KEPT_RUNS).map(|_| stored()).collect();
        assert!(whole.join(RECORDS).is_file() && records.is_file(), "what links lead to stays");
        assert!(place(&first).is_symlink() && second.is_symlink(), "so do links");
        let left = later.iter().filter(|path| path.exists()).count();
        assert_eq!(left, MAX_KEPT_RUNS, "links do not count");
    }

    /// What an earlier run took counts.
    #[test]
    fn times_of_a_resumed_run_go_on_from_the_earlier_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run();
        let before = Nanoseconds::from_seconds(100.0);
        let bare = Run { records: Vec::new(), wall_time: before, ..run.clone() };
        let mut store = Store::create(folder.path(), &bare, &[]).expect("it is written");
        store.add(&run.records[0]).expect("it is written");
        let text = fs::read_to_string(&store.path).expect("it is there");
        let at =
            text.lines().nth(1).and_then(|line| line.strip_prefix("{\"record\":{\"at\":")?.split(',').next());
        let at = Nanoseconds(at.expect("a record").parse().expect("a number"));
        assert!(at > before && at < 2.0 * before, "{at:?}");
    }

    #[test]
    fn every_record_is_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = run();
        let (kept, new) = run.records.split_at(2);
        let bare = Run { records: Vec::new(), ..run.clone() };
        let kept: Vec<&Record> = kept.iter().collect();
        let mut store = Store::create(folder.path(), &bare, &kept).expect("it is written");
        let path = store.path.clone();
        for (number, record) in (3..).zip(new) {
            store.add(record).expect("it is written");
            let length = fs::metadata(&path).expect("it is there").len();
            assert_eq!(store.length, length, "a part of the next line would be cut off behind this");
            let read = read(File::open(&path).expect("it is there")).expect("a run");
            assert_eq!(read.run.records, run.records[..number]);
        }
    }
}

#[cfg(test)]
mod in_progress_tests {
    use super::*;

    #[test]
    fn a_file_is_locked_until_it_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("records.jsonl");
        let ours = create_locked(&path).expect("it can be made");
        let seen = || File::open(&path).expect("it is there");
        assert!(is_locked(&seen()) && seen().try_lock().is_err());
        drop(ours);
        assert!(!is_locked(&seen()) && seen().try_lock().is_ok());
    }
}
