//! The operating system around a run, on Linux and similar Unix systems: the environment of this process, child processes in groups of their
//! own, and the signals that ask a process to end. SIGINT, SIGTERM and SIGHUP are stored at first; another one
//! ends the process, unless it repeats the first within 0.5 s.

use std::ffi::{OsString, c_int};
use std::os::unix::{net::UnixStream, process::CommandExt, process::ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, io, os::fd::OwnedFd, path::Path};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{
    SIGABRT, SIGBUS, SIGCHLD, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGKILL, SIGSEGV, SIGTERM, SIGXFSZ,
};
use signal_hook::flag::{register, register_usize};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{exit, signal_name};

use gpubench_records::{Environment, Task, threads};
use gpubench_runtime::{devices::host::cpu_name, system};

/// Reads the environment of this process for a run. `task` is the task that the run is, if it is one of several.
pub fn environment(task: Option<Task>) -> Environment {
    Environment {
        host: system::host_name(),
        system: system::os_name(),
        kernel: Some(system::kernel_release()),
        cpu: Some(cpu_name()),
        variables: system::time_variables(),
        cpu_quota: system::cpu_quota(&|path| fs::read_to_string(path).ok()),
        command: without_program_folder(env::args_os()),
        task,
    }
}

/// Returns the command line, with the program's folder removed.
fn without_program_folder(arguments: impl Iterator<Item = OsString>) -> Vec<String> {
    let text = |argument: OsString| argument.to_string_lossy().into_owned();
    let mut command: Vec<String> = arguments.map(text).collect();
    if let Some(program) = command.first_mut()
        && let Some(name) = Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    command
}

/// A child process that leads a process group, and the processes in this group.
#[derive(Debug)]
pub struct ProcessGroup {
    child: Child,
}

impl ProcessGroup {
    /// Starts `command` in a new process group, which a terminal's Ctrl-C does not reach.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        keep_exit_statuses();
        Ok(Self { child: command.process_group(0).spawn()? })
    }

    /// Starts `command` with a socket as its standard input, by which it gets requests and replies to them:
    /// see [`take_channel`](gpubench_runtime::system::take_channel). Its output goes to standard error. Its
    /// argument 0 is that of this process.
    pub(crate) fn start_with_channel(mut command: Command) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        command.stdin(OwnedFd::from(theirs)).stdout(io::stderr());
        if let Some(name) = env::args_os().next() {
            command.arg0(name);
        }
        // The command holds a copy of the child's end of the socket; it is dropped here, so that this side sees the socket close.
        Ok((Self::start(&mut command)?, ours))
    }

    /// Returns true if the child has exited. Does not reap it, so that the system does not reuse the group's number.
    pub fn has_ended(&mut self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that the process was reaped already.
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), options), Ok(None))
    }

    /// Asks all processes of the group to exit.
    pub(crate) fn terminate(&self) {
        // Fails only if no process is left.
        _ = kill_process_group(Pid::from_child(&self.child), Signal::TERM);
    }

    /// Kills all processes of the group.
    pub fn kill(&self) {
        // Fails only if no process is left.
        _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    /// Waits for the child. The system may then reuse its number, so no other method may be called.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// Has the system keep the exit statuses of children until they are waited for. It discards them in a process that was started with
/// SIGCHLD ignored, as with `trap '' CHLD`.
pub fn keep_exit_statuses() {
    static CHECKED: Once = Once::new();

    CHECKED.call_once(|| {
        if is_ignored(SIGCHLD) {
            // Any handler has this effect. This cannot fail: the signal can be caught. No code reads the flag.
            _ = register(SIGCHLD, Arc::default());
        }
    });
}

/// The path of this running program, which stays valid if its file was replaced: a run uses one build only.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// Describes the exit of a process.
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned);
            format!("its process was ended by {name}")
        }
        (None, Some(code)) => {
            format!("its process exited with code {code} before it was done: does the code call `exit`?")
        }
        (None, None) => "its process ended".to_owned(),
    }
}

/// Returns true if the process crashed, such as by SIGSEGV or SIGABRT: a debugger shows where.
pub(crate) fn is_crash(status: ExitStatus) -> bool {
    status.signal().is_some_and(|signal| [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV].contains(&signal))
}

/// Returns true if SIGHUP, SIGINT, SIGKILL or SIGTERM ended the process: signals that other processes or the system send.
pub(crate) fn is_external_signal(status: ExitStatus) -> bool {
    status.signal().is_some_and(|signal| [SIGHUP, SIGINT, SIGKILL, SIGTERM].contains(&signal))
}

/// The signals that ask this process to end.
const STOP_SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, SIGHUP];
/// The same signal again within this time is the same request: `timeout` of GNU sends its signal to a process and to its group.
const SAME_REQUEST_INTERVAL: Duration = Duration::from_millis(500);

/// The number of the last signal since [`watch_signals`] was called; 0 if none came.
static LAST_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);
/// The first signal, and when it came: decides whether a second one is a new request.
static FIRST_SIGNAL: Mutex<Option<(c_int, Instant)>> = Mutex::new(None);

/// Begins to watch for a signal that asks this process to end, and discards earlier ones. The first signal is
/// only stored, for [`stop_signal`]. A second signal ends the process at once, unless it is the first one
/// again within [`SAME_REQUEST_INTERVAL`].
pub(crate) fn watch_signals() {
    static LISTENING: Once = Once::new();

    *FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner) = None;
    LAST_SIGNAL.store(0, Ordering::SeqCst);
    LISTENING.call_once(start_signal_thread);
}

/// Returns the number of the last signal that came since [`watch_signals`] was called; `None` if none came.
pub(crate) fn stop_signal() -> Option<u8> {
    u8::try_from(LAST_SIGNAL.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
}

/// Returns true if a signal came since [`watch_signals`] was called.
pub(crate) fn has_stop_signal() -> bool {
    stop_signal().is_some()
}

/// Starts a thread that handles [`STOP_SIGNALS`] one after the other; each is stored in [`LAST_SIGNAL`] at
/// once. If no thread can be started, the first signal ends the process, as it does in any program.
fn start_signal_thread() {
    let ready = Arc::new(Barrier::new(2));
    let is_ready = Arc::clone(&ready);
    let thread = threads::start("signals", move || {
        let heeded = stop_signals();
        // Fails only for signals that cannot be caught, and these can.
        let signals = Signals::new(&heeded);
        heeded.iter().for_each(|it| _ = register_usize(*it, Arc::clone(&LAST_SIGNAL), *it as usize));
        ready.wait();
        if let Ok(mut signals) = signals {
            signals.forever().for_each(handle_signal);
        }
    });
    if thread.is_ok() {
        is_ready.wait();
    }
}

/// Stores the first signal. Ends the process at a second one, unless it belongs to the same request.
fn handle_signal(signal: c_int) {
    let mut first = FIRST_SIGNAL.lock().unwrap_or_else(PoisonError::into_inner);
    match *first {
        None => *first = Some((signal, Instant::now())),
        Some(first) if is_same_request(first, signal, Instant::now()) => {}
        Some(_) => exit(128 + signal),
    }
}

/// Returns true if a signal that comes `now` asks for no more than the first one.
fn is_same_request((first, came): (c_int, Instant), signal: c_int, now: Instant) -> bool {
    signal == first && now.duration_since(came) < SAME_REQUEST_INTERVAL
}

/// Makes this process ignore the signals that ask it to end.
pub(crate) fn ignore_stop_signals() -> io::Result<()> {
    for signal in STOP_SIGNALS {
        register(signal, Arc::default())?;
    }
    Ok(())
}

/// Makes a write beyond the system's limit on file sizes return an error. Without this call, SIGXFSZ would
/// end the process.
pub(crate) fn ignore_file_size_signal() {
    // Fails only for signals that cannot be caught, and this one can. No code reads the flag: the write returns an error.
    _ = register(SIGXFSZ, Arc::default());
}

/// Returns the signals that ask this process to end. `nohup` ignores SIGHUP, the end of the terminal, and its child processes inherit that.
pub fn stop_signals() -> Vec<c_int> {
    STOP_SIGNALS.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)).collect()
}

/// Returns true if this process ignores `signal`; false if the system does not report it.
fn is_ignored(signal: c_int) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| is_in_mask(&status, signal))
}

/// Returns true if `signal` is in the mask of ignored signals in `status`, the text of `/proc/self/status`. The lowest bit is that of signal 1.
fn is_in_mask(status: &str, signal: c_int) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod environment_tests {
    use super::*;

    #[test]
    fn a_command_keeps_its_arguments_and_loses_its_folder() {
        let given = ["/home/someone/target/release/suite", "saxpy", "--json", "out/run.json"];
        let kept = without_program_folder(given.into_iter().map(OsString::from));
        assert_eq!(kept, ["suite", "saxpy", "--json", "out/run.json"]);
        assert_eq!(without_program_folder(std::iter::empty()), [""; 0]);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_cpu() {
        let found = environment(None);
        assert!(found.kernel.is_some_and(|kernel| kernel.starts_with("Linux ")), "a Linux kernel");
        assert!(found.cpu.is_some_and(|cpu| !cpu.is_empty()) && !found.command.is_empty());
    }
}

#[cfg(test)]
mod stopping_tests {
    use super::*;

    #[test]
    fn the_same_signal_within_half_a_second_is_the_same_request() {
        let came = Instant::now();
        let is_same =
            |signal, after| is_same_request((SIGTERM, came), signal, came + Duration::from_millis(after));
        assert!(is_same(SIGTERM, 0) && is_same(SIGTERM, 499));
        assert!(!is_same(SIGTERM, 500) && !is_same(SIGINT, 0));
    }

    #[test]
    fn ignored_signals_are_bits_of_a_mask() {
        let status = "Name:\tsuite\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        let ignores = |signal| is_in_mask(status, signal);
        assert!(ignores(SIGHUP) && ignores(13) && !ignores(SIGINT));
        assert!(!is_in_mask("Name:\tsuite\n", SIGHUP));
    }
}
