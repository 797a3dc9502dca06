//! The file of the run in progress. In: its beginning, then each record as it comes; out: whole lines, written at once and
//! synced beside the measurement, so that neither the end of this process nor the machine's takes more than is under way.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::lines::{self, Line};
use super::place::{RECORDS, name, names};
use crate::record::{Record, Run};
use gpubench_stats::units::Nanoseconds;

/// So many runs of a suite are kept, the one in progress among them.
const RUNS: usize = 20;

/// A run on disk that grows.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// The length of all whole lines.
    length: u64,
    /// When the run began, and what an earlier one took whose records it begins with.
    begin: Instant,
    before: Nanoseconds,
    syncing: Syncing,
}

impl Store {
    /// Begins a run in `folder`, which `run` is but for its records, and which has the records `resumed` of an earlier one.
    /// Others see it with all of them or not at all. The oldest runs of this suite go.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(folder: &Path, run: &Run, resumed: &[&Record]) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = claim(folder, run.started)?;
        let (before, begin) = (run.wall, Instant::now());
        let mut beginning = Line::Run(Cow::Borrowed(run)).written()?;
        for record in resumed {
            beginning.extend(Line::Record { at: before, record: Cow::Borrowed(record) }.written()?);
        }
        let hidden = path.join("records.part");
        let mut file = OpenOptions::new().append(true).create_new(true).open(&hidden)?;
        // Tells others that it is being written, where the file system has locks.
        _ = file.try_lock();
        file.write_all(&beginning)?;
        fs::rename(&hidden, path.join(RECORDS))?;
        let syncing = Syncing::of(file.try_clone()?, File::open(&path)?);
        syncing.wake();
        remove_old(folder, &run.program.suite);
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
    /// Where it cannot be written. The records before it stay.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        let at = self.before + Nanoseconds::from(self.begin.elapsed());
        let line = Line::Record { at, record: Cow::Borrowed(record) }.written()?;
        let written = self.file.write_all(&line);
        match written {
            Ok(()) => {
                self.length += line.len() as u64;
                self.syncing.wake();
            }
            // What is there of the line goes. Where that fails too, it is cut off, as a reader expects of a last line.
            Err(_) => _ = self.file.set_len(self.length),
        }
        written
    }

    /// Ends the run, which took `wall`. The last record has been on its way to the disk while its worker ended; that
    /// it is there is waited for.
    ///
    /// # Errors
    /// Where something of it could not be written.
    pub fn end(mut self, wall: Nanoseconds) -> io::Result<()> {
        let line = Line::End { wall }.written()?;
        self.file.write_all(&line)?;
        self.syncing.end()
    }
}

/// A folder of its own in `folder` for a run that began then.
fn claim(folder: &Path, started: u64) -> io::Result<PathBuf> {
    let name = name(started);
    let mut path = folder.join(&name);
    for number in 2.. {
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = folder.join(format!("{name}-{number}"));
            }
            created => return created.map(|()| path),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

/// Removes the oldest runs of `suite`, but none that is still being written. What cannot be removed stays.
fn remove_old(folder: &Path, suite: &str) {
    let mut ours = names(folder).unwrap_or_default();
    ours.retain(|name| {
        let stored = File::open(folder.join(name).join(RECORDS)).map_err(lines::NotARun::Unreadable);
        stored.and_then(lines::head_of).is_ok_and(|run| run.program.suite == suite)
    });
    for name in ours.iter().rev().skip(RUNS) {
        let run = folder.join(name);
        let ended = File::open(run.join(RECORDS)).is_ok_and(|file| file.try_lock().is_ok());
        if ended && fs::remove_file(run.join(RECORDS)).is_ok() {
            // It stays where somebody has put something else there.
            _ = fs::remove_dir(run);
        }
    }
}

/// A thread that has the system write what it holds back, so that nobody waits for a disk between two cases. However many
/// records come meanwhile, it syncs once.
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
            // Fails where a sync that is still to come covers this as well, or where one has failed, which is told at the end.
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
        // Whoever wants to know has called it before.
        _ = self.end();
    }
}

fn sync(file: &File, folder: &File, woken: &Receiver<()>) -> io::Result<()> {
    if woken.recv().is_ok() {
        file.sync_data()?;
        // The name is as precious as what it names.
        folder.sync_all()?;
    }
    while woken.recv().is_ok() {
        file.sync_data()?;
    }
    Ok(())
}
