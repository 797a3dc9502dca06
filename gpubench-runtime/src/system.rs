//! The functions of the operating system that the runtime needs, on Linux and on other Unix systems as far as they
//! have the same: facts about the machine, standard streams for messages, and the end of a process.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, RawFd};
use std::sync::atomic::Ordering;
use std::{collections::BTreeMap, env, ffi::CStr, fs, fs::File, path::Path, process, time::Duration};

use gpubench_records::environment::TIME_VARIABLES;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use rustix::system::uname;
use rustix::time::{ClockId, clock_gettime};

/// Returns the host name of this machine, or `None` if it is empty.
pub fn host_name() -> Option<String> {
    Some(lossy_string(uname().nodename())).filter(|name| !name.is_empty())
}

/// Returns the name of the operating system, such as `Debian GNU/Linux 12 (bookworm)`, or `None` if
/// `/etc/os-release` is missing or names none.
pub fn os_name() -> Option<String> {
    fs::read_to_string("/etc/os-release").ok().and_then(|release| pretty_name(&release))
}

/// Returns the name and the release of the kernel, such as `Linux 6.1.0-18-amd64`.
pub fn kernel_release() -> String {
    let uname = uname();
    format!("{} {}", lossy_string(uname.sysname()), lossy_string(uname.release()))
}

/// Converts a C string to a `String`. Replaces invalid UTF-8.
fn lossy_string(text: &CStr) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns the value of `PRETTY_NAME` in the text of an `os-release` file, without quotes; `None` if it is
/// missing or empty.
fn pretty_name(release: &str) -> Option<String> {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim().trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Returns the names and values of those environment variables in [`TIME_VARIABLES`], which can change times,
/// that are set and not empty. Of a value that is a path, returns only the last part, since folders may have
/// the names of users.
pub fn time_variables() -> BTreeMap<String, String> {
    let set = TIME_VARIABLES.iter().filter_map(|name| {
        let value = env::var_os(name).filter(|value| !value.is_empty())?;
        let value = Path::new(&value).file_name().unwrap_or(&value);
        Some(((*name).to_owned(), value.to_string_lossy().into_owned()))
    });
    set.collect()
}

/// Returns the number of processors whose time this process may use, such as 1.5, or `None` if it is not
/// limited. That is the lowest limit of the process's control groups and their parents, in versions 1 and 2.
/// `read` returns the text of the file with this path, or `None` if it cannot be read.
pub fn cpu_quota(read: &dyn Fn(&str) -> Option<String>) -> Option<f64> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    // Version 2 names no controllers.
    let path = |line: &str| -> Option<String> {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_of_cpu = controllers.is_empty() || controllers.split(',').any(|it| it == "cpu");
        is_of_cpu.then(|| path.to_owned())
    };
    // A container without its own view sees another path than its files have: those of the root are its own.
    let paths: Vec<String> = groups.lines().filter_map(path).chain(["/".to_owned()]).collect();
    let folders = paths.iter().flat_map(|path| Path::new(path).ancestors()).filter_map(Path::to_str);
    let limits = folders.filter_map(|folder| {
        let folder = folder.trim_end_matches('/');
        let first = |name: &str| read(&format!("/sys/fs/cgroup/cpu{folder}/cpu.cfs_{name}_us"));
        let both = read(&format!("/sys/fs/cgroup{folder}/cpu.max"))
            .or_else(|| Some(format!("{} {}", first("quota")?.trim(), first("period")?)))?;
        let (quota, period) = both.trim().split_once(' ')?;
        // A quota of `max`, or one that is not positive, is no limit.
        let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    });
    limits.reduce(f64::min)
}

/// Returns the processor time that the calling thread has used so far.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The fields of a `/proc/PID/stat` file after the process name: `R`, `1`, … of `17 (a name) R 1 …`. They
/// begin after the last closing bracket, since the name may contain spaces and brackets.
pub(crate) struct Stat<'a>(Vec<&'a str>);

impl<'a> Stat<'a> {
    /// Parses the text of a `stat` file. Returns `None` if no name in brackets comes before the fields.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        Some(Self(text.rsplit_once(") ")?.1.split_whitespace().collect()))
    }

    /// Returns the number in field `word`, where fields are counted from 1 as in `man 5 proc`. Returns `None`
    /// for fields before 3, the state, and for a field that is missing or is no number.
    pub(crate) fn number(&self, word: usize) -> Option<u64> {
        self.0.get(word.checked_sub(3)?)?.parse().ok()
    }

    /// Returns true if the state is `R`: the process or thread runs, or waits for a processor.
    pub(crate) fn is_runnable(&self) -> bool {
        self.0.first() == Some(&"R")
    }

    /// Returns the processor time that the process or thread has used, in clock ticks: user time plus system
    /// time. Returns `None` if a field is missing.
    pub(crate) fn ticks(&self) -> Option<u64> {
        Some(self.number(14)? + self.number(15)?)
    }
}

/// The first file descriptor after the standard streams.
const FIRST_FREE: RawFd = 3;

/// Takes over standard input, which in a worker is a socket. Returns two files of this socket: one to read
/// requests from, and one to write replies to. Afterwards standard input is `/dev/null`, also for child
/// processes.
pub fn take_channel() -> io::Result<(File, File)> {
    let socket = File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), FIRST_FREE)?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let replies = socket.try_clone()?;
    Ok((socket, replies))
}

/// Takes over standard output, and returns it as a file. Everything else that this process then prints to
/// standard output goes to standard error.
pub fn take_output() -> io::Result<File> {
    let ours = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(ours))
}

/// A stream whose reads and writes wait and retry if they return `EWOULDBLOCK`. Such results occur because
/// all processes with one pipe share its non-blocking mode, which the parent process or a benchmark may have
/// set.
#[derive(Debug)]
pub struct RetryOnWouldBlock<S>(pub S);

impl<S: AsFd> RetryOnWouldBlock<S> {
    /// Runs `work` until it succeeds or fails with an error other than `WouldBlock`. After each `WouldBlock`,
    /// waits for one of the events `ready` on the stream.
    fn retry<T>(&mut self, ready: PollFlags, mut work: impl FnMut(&mut S) -> io::Result<T>) -> io::Result<T> {
        loop {
            match work(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    retry_on_intr(|| poll(&mut [PollFd::new(&self.0, ready)], None))?;
                }
                done => return done,
            }
        }
    }
}

impl<S: AsFd + Write> Write for RetryOnWouldBlock<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.retry(PollFlags::OUT, Write::flush)
    }
}

impl<S: AsFd + Read> Read for RetryOnWouldBlock<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.retry(PollFlags::IN, |stream| stream.read(bytes))
    }
}

/// Kills the process group of this process if this process is the leader of the group, as a worker is.
/// Otherwise aborts this process alone.
pub(crate) fn kill_own_process_group() -> ! {
    if getpgrp() == getpid() {
        // This cannot fail: the group contains this process.
        _ = kill_current_process_group(Signal::KILL);
    }
    process::abort()
}

/// If this process is a forked child of the worker, prints a message and kills the worker and its process
/// group, this process included. A launch may call `fork` and return in both processes; the number of
/// processes would then double with each launch. In the worker itself, only reads one value in memory, since
/// this call is part of the time of launches on the CPU.
#[inline]
pub(crate) fn exit_if_forked_child() {
    if gpubench_driver::IS_FORKED_COPY.load(Ordering::Relaxed) {
        kill_worker_from_forked_child();
    }
}

/// Prints the reason on standard error, and kills the process group that contains this forked child and the
/// worker.
fn kill_worker_from_forked_child() -> ! {
    let reason = "error: a launch forked this process and returned in both: have the copy end or become another program\n";
    // Without the lock of standard error, which another thread may have acquired before the fork.
    _ = rustix::io::write(rustix::stdio::stderr(), reason.as_bytes());
    // This cannot fail: the group contains this process.
    _ = kill_current_process_group(Signal::KILL);
    process::abort()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    #[test]
    fn a_system_is_named_by_its_release_file() {
        let debian = "NAME=\"Debian GNU/Linux\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
        assert_eq!(pretty_name(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("PRETTY_NAME=Void").as_deref(), Some("Void"));
        assert_eq!((pretty_name(""), pretty_name("PRETTY_NAME=\"\"")), (None, None));
    }

    #[test]
    fn non_blocking_streams_are_waited_for() {
        let (ours, theirs) = UnixStream::pair().expect("a socket");
        for end in [&ours, &theirs] {
            end.set_nonblocking(true).expect("it is open");
        }
        // More than any socket holds.
        let text = "a line\n".repeat(1 << 18);
        let written = thread::spawn({
            let text = text.clone();
            move || RetryOnWouldBlock(ours).write_all(text.as_bytes())
        });
        let read = io::read_to_string(RetryOnWouldBlock(theirs)).expect("all of it");
        assert!(read == text, "{} of {} bytes", read.len(), text.len());
        written.join().expect("no panic").expect("all of it");
    }
}

#[cfg(test)]
mod stat_tests {
    use super::*;

    #[test]
    fn words_read_as_linux_writes_them() {
        let stat = Stat::read("17 (a) b) R 1 2 3 4 5 6 7 8 9 10 700 44 12 13 20").expect("it is one");
        assert_eq!((stat.is_runnable(), stat.ticks()), (true, Some(744)));
        assert_eq!((stat.number(18), stat.number(19), stat.number(2)), (Some(20), None, None));
        let sleeps = Stat::read("17 (a) R (b) S 1 2").expect("it is one");
        assert_eq!((sleeps.is_runnable(), sleeps.ticks()), (false, None));
        assert!(Stat::read("").is_none());
    }
}
