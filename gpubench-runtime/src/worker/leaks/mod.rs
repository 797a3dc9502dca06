//! What a launch can leave changed in its process for those after it: the environment, the way that this thread computes and is
//! scheduled, rights, limits, namespaces, signals, the standard streams, what is never freed, and threads that work on. In: the
//! process before a job and after it; out: the first difference. Such a worker is replaced, which is simpler and safer than to
//! restore each of them.
//!
//! An alarm cannot be read without setting one. It ends the worker, and the case that it hits is tried again in a new one.

mod arithmetic;
mod threads;
mod usage;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::{env, fs};

use self::arithmetic::Arithmetic;
use self::usage::Usage;
use crate::system::stat::Stat;

/// The lines of `/proc/thread-self/status` that user code can change.
const STATUS: [(&str, &str); 13] = [
    ("Umask:", "the umask"),
    ("SigBlk:", "the blocked signals"),
    ("SigIgn:", "the ignored signals"),
    ("SigCgt:", "the handled signals"),
    ("Uid:", "the user"),
    ("Gid:", "the group"),
    ("Groups:", "the groups"),
    ("CapEff:", "the capabilities"),
    ("NoNewPrivs:", "the right to new privileges"),
    ("Seccomp:", "the filter of system calls"),
    ("Cpus_allowed:", "the allowed processors"),
    ("Mems_allowed:", "the allowed memory nodes"),
    ("VmLck:", "the locked memory"),
];

/// The files that say the same of the process.
const FILES: [(&str, &str); 5] = [
    ("/proc/self/limits", "the resource limits"),
    ("/proc/self/timers", "the timers"),
    ("/proc/self/timerslack_ns", "the timer slack"),
    ("/proc/self/oom_score_adj", "the score for the end of memory"),
    ("/proc/self/personality", "the personality"),
];

/// The links whose targets do.
const LINKS: [(&str, &str); 13] = [
    ("/proc/thread-self/cwd", "the working directory"),
    ("/proc/thread-self/root", "the root directory"),
    ("/proc/self/fd/0", "standard input"),
    ("/proc/self/fd/1", "standard output"),
    ("/proc/self/fd/2", "standard error"),
    ("/proc/thread-self/ns/cgroup", "the cgroup namespace"),
    ("/proc/thread-self/ns/ipc", "the IPC namespace"),
    ("/proc/thread-self/ns/mnt", "the mount namespace"),
    ("/proc/thread-self/ns/net", "the network namespace"),
    ("/proc/thread-self/ns/pid_for_children", "the PID namespace"),
    ("/proc/thread-self/ns/time_for_children", "the time namespace"),
    ("/proc/thread-self/ns/user", "the user namespace"),
    ("/proc/thread-self/ns/uts", "the UTS namespace"),
];

/// The state of a process that its next jobs would find.
#[derive(Debug)]
pub(super) struct ProcessState {
    environment: BTreeMap<OsString, OsString>,
    arithmetic: Arithmetic,
    /// Everything else by its name, as far as the system tells it.
    told: Vec<(&'static str, Option<OsString>)>,
    usage: Usage,
}

impl ProcessState {
    /// Reads the state of this process and of this thread.
    pub(super) fn now() -> Self {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let line = |name: &str| status.lines().find(|line| line.starts_with(name)).map(OsString::from);
        let folder = ("the working directory", env::current_dir().ok().map(Into::into));
        let lines = STATUS.into_iter().map(|(name, what)| (what, line(name)));
        let files = FILES.into_iter().map(|(path, what)| (what, text(path).map(Into::into)));
        let target = |path| fs::read_link(path).ok().map(Into::into);
        let links = LINKS.into_iter().map(|(path, what)| (what, target(path)));
        let scheduling = ("the scheduling", scheduling().map(Into::into));
        Self {
            environment: env::vars_os().collect(),
            arithmetic: Arithmetic::now(),
            told: [folder, scheduling].into_iter().chain(lines).chain(files).chain(links).collect(),
            usage: Usage::now(&status),
        }
    }

    /// Returns the first thing that is not as it was `before`, or that the process never gives back.
    pub(super) fn change_since(&self, before: &Self) -> Option<&'static str> {
        let told = self.told.iter().zip(&before.told);
        let told = told.filter(|(now, then)| now.1 != then.1).map(|(now, _)| now.0);
        let others = [
            (self.environment != before.environment).then_some("the environment"),
            (self.arithmetic != before.arithmetic).then_some("the floating-point control"),
            self.usage.leak_since(before.usage.first()),
            threads::work_on().then_some("the threads that work on"),
        ];
        told.chain(others.into_iter().flatten()).next()
    }
}

/// Returns the contents of a file; nothing if the system has none.
fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the nice value, the real-time priority and the policy of this thread.
fn scheduling() -> Option<String> {
    let text = text("/proc/thread-self/stat")?;
    let stat = Stat::read(&text)?;
    Some([19, 40, 41].map(|number| stat.word(number).unwrap_or_default()).join(" "))
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
