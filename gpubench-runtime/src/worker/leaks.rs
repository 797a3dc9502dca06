//! What a launch can leave changed in its process for those after it: the working directory, the environment, signals, limits and
//! the umask. In: the process before a job and after it; out: the first difference. Such a worker is replaced, which is simpler
//! and safer than to restore each of them.
//!
//! An alarm cannot be read without setting one. It ends the worker, and the case that it hits is tried again in a new one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::{env, fs};

/// The lines of `/proc/thread-self/status` that user code can change: umask, and the masks of blocked, ignored and handled signals.
const STATUS: [(&str, &str); 4] = [
    ("Umask:", "the umask"),
    ("SigBlk:", "the blocked signals"),
    ("SigIgn:", "the ignored signals"),
    ("SigCgt:", "the handled signals"),
];

/// The state of a process that its next jobs would find.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessState {
    folder: Option<PathBuf>,
    environment: BTreeMap<OsString, OsString>,
    /// Of each line in [`STATUS`], as far as the system has it.
    status: [Option<String>; STATUS.len()],
    limits: Option<String>,
    timers: Option<String>,
}

impl ProcessState {
    /// Reads the state of this process and of this thread.
    pub(super) fn now() -> Self {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        let line =
            |(name, _): (&str, &str)| status.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        Self {
            folder: env::current_dir().ok(),
            environment: env::vars_os().collect(),
            status: STATUS.map(line),
            limits: fs::read_to_string("/proc/self/limits").ok(),
            timers: fs::read_to_string("/proc/self/timers").ok(),
        }
    }

    /// Returns the first thing that is not as it was `before`.
    pub(super) fn change_since(&self, before: &Self) -> Option<&'static str> {
        let status = STATUS.iter().zip(self.status.iter().zip(&before.status));
        let status = status.map(|((_, what), (now, then))| (*what, now != then));
        let others = [
            ("the working directory", self.folder != before.folder),
            ("the environment", self.environment != before.environment),
            ("the resource limits", self.limits != before.limits),
            ("the timers", self.timers != before.timers),
        ];
        others.into_iter().chain(status).find(|(_, differs)| *differs).map(|(what, _)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_nobody_changed_is_as_it_was() {
        let state = || ProcessState { environment: BTreeMap::new(), folder: None, ..ProcessState::now() };
        let before = state();
        assert!(before.status.iter().all(Option::is_some) && before.limits.is_some(), "{before:?}");
        assert_eq!(state().change_since(&before), None);
        let moved = ProcessState { folder: Some("/".into()), ..state() };
        assert_eq!(moved.change_since(&before), Some("the working directory"));
        let mut masked = state();
        masked.status[1] = Some("SigBlk:\t0000000000000001".to_owned());
        assert_eq!(masked.change_since(&before), Some("the blocked signals"));
    }
}
