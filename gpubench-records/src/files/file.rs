//! The file of the run in progress. In: its beginning, then each record as it comes; out: whole lines, written at once and
//! synced beside the measurement, so that neither the end of this process nor of the machine costs more than the case in
//! progress.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::lines::{self, Line};
use super::names::{candidates, outdated};
use super::place::{RECORDS, run_names};
use super::replace::sync_folder;
use crate::record::{Environment, Record, Run};
use crate::task::file_name_part;
use gpubench_stats::units::Nanoseconds;

/// A run on disk that grows.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// The length of all whole lines.
    length: u64,
    /// The beginning of the run.
    begin: Instant,
    /// The time that the earlier run took whose records it begins with.
    before: Nanoseconds,
    syncing: Syncing,
}

impl Store {
    /// Begins the file of `run` in `folder`, with the records `resumed` of an earlier run. Others see the file with all of them
    /// or not at all. The oldest runs of this suite are removed, but a task of several removes nothing.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(folder: &Path, run: &Run, resumed: &[&Record]) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = claim(folder, run)?;
        let (before, begin) = (run.wall, Instant::now());
        let mut beginning = Line::Run(Cow::Borrowed(run)).written()?;
        for record in resumed {
            beginning.extend(Line::Record { at: before, record: Cow::Borrowed(record) }.written()?);
        }
        let hidden = path.join("records.part");
        let mut file = OpenOptions::new().append(true).create_new(true).open(&hidden)?;
        // The lock tells others that the run is in progress, if the file system has locks.
        _ = file.try_lock();
        file.write_all(&beginning)?;
        fs::rename(&hidden, path.join(RECORDS))?;
        let syncing = Syncing::of(file.try_clone()?, File::open(&path)?);
        syncing.wake();
        remove_old(folder, run);
        let path = path.join(RECORDS);
        Ok(Self { path, file, length: beginning.len() as u64, begin, before, syncing })
    }

    /// Returns the path of its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a record. A process that ends from here on leaves it behind.
    ///
    /// # Errors
    /// If it cannot be written. The records before it stay.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let at = self.before + Nanoseconds::from(self.begin.elapsed());
        let line = Line::Record { at, record: Cow::Borrowed(record) }.written()?;
        let written = self.file.write_all(&line);
        match written {
            Ok(()) => {
                self.length += line.len() as u64;
                self.syncing.wake();
            }
            // Removes the part of the line that was written. If that fails too, a reader takes it for a last line cut off.
            Err(_) => _ = self.file.set_len(self.length),
        }
        written
    }

    /// Ends the run, which took `wall`, and waits until all of it is on the disk.
    ///
    /// # Errors
    /// If a part of it could not be written.
    pub fn end(mut self, wall: Nanoseconds) -> io::Result<()> {
        let line = Line::End { wall }.written()?;
        self.file.write_all(&line)?;
        self.syncing.end()
    }
}

/// Creates a folder in `folder` for `run`. The name of a task's has its host, job, number and process, so that tasks of any
/// number of hosts may write into one folder.
fn claim(folder: &Path, run: &Run) -> io::Result<PathBuf> {
    let environment = &run.environment;
    let label = environment.task.as_ref().map(|task| {
        let host = file_name_part(environment.host.as_deref().unwrap_or("host"));
        format!("{host}-{}-{}", task.label(), process::id())
    });
    for name in candidates(run.started, label.as_deref()) {
        let path = folder.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Removes the oldest runs of the suite that `run` is of, except those in progress. Folders with other files in them stay.
///
/// A lock tells of progress on this host alone, and clocks differ between hosts: runs of other hosts stay, and so do all that
/// are tasks.
fn remove_old(folder: &Path, run: &Run) {
    if run.environment.task.is_some() {
        return;
    }
    let mut ours = run_names(folder).unwrap_or_default();
    ours.retain(|name| {
        let stored = File::open(folder.join(name).join(RECORDS)).map_err(lines::NotARun::Unreadable);
        stored.and_then(lines::head_of).is_ok_and(|other| is_of_same_host(run, &other))
    });
    for name in outdated(&ours) {
        let run = folder.join(name);
        let ended = File::open(run.join(RECORDS)).is_ok_and(|file| file.try_lock().is_ok());
        if ended && fs::remove_file(run.join(RECORDS)).is_ok() {
            // Fails if somebody has put another file there.
            _ = fs::remove_dir(run);
        }
    }
}

/// Returns true if `other` is a run of the same suite on this host, and no task. An old run names no host.
fn is_of_same_host(run: &Run, other: &Run) -> bool {
    let Environment { host, task, .. } = &other.environment;
    other.program.suite == run.program.suite
        && task.is_none()
        && (host.is_none() || *host == run.environment.host)
}

/// A thread that syncs the file, so that no case waits for the disk. However many records come meanwhile, it syncs once.
#[derive(Debug)]
struct Syncing {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Syncing {
    fn of(file: File, folder: File) -> Self {
        let (wake, woken) = sync_channel(1);
        Self { wake: Some(wake), thread: Some(thread::spawn(move || sync(&file, &folder, &woken))) }
    }

    fn wake(&self) {
        if let Some(wake) = &self.wake {
            // Fails if the next sync covers this record too, or if one has failed, which `end` reports.
            _ = wake.try_send(());
        }
    }

    fn end(&mut self) -> io::Result<()> {
        drop(self.wake.take());
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or(Ok(()), |ended| ended.unwrap_or_else(|_| Err(io::Error::other("the sync panicked"))))
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        // Whoever wants the error has called `end` before.
        _ = self.end();
    }
}

fn sync(file: &File, folder: &File, woken: &Receiver<()>) -> io::Result<()> {
    if woken.recv().is_ok() {
        file.sync_data()?;
        // The name in the folder must be on the disk too.
        sync_folder(folder)?;
    }
    while woken.recv().is_ok() {
        file.sync_data()?;
    }
    Ok(())
}
