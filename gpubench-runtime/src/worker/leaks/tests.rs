//! What a job can leave changed, each on a thread of its own. One test, since some of it belongs to the whole process.

use std::{fs, thread};

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::*;

/// A state to compare, less what other tests of this program change meanwhile.
fn state() -> ProcessState {
    let mut state = ProcessState::now();
    state.environment.clear();
    state.told.retain(|(what, _)| !["the working directory", "the handled signals"].contains(what));
    state
}

fn difference(before: &ProcessState) -> Option<&'static str> {
    let others = ["the threads that work on", "the open descriptors", "the memory in use"];
    state().change_since(before).filter(|what| !others.contains(what))
}

/// Returns the first difference that `change` makes on a new thread.
fn changed_by(change: impl FnOnce() + Send + 'static) -> Option<&'static str> {
    let changed = thread::spawn(|| {
        let before = state();
        assert_eq!(difference(&before), None);
        change();
        difference(&before)
    });
    changed.join().expect("no panic")
}

fn allow_one_processor() {
    let allowed = sched_getaffinity(None).expect("it can be read");
    let first = (0..CpuSet::MAX_CPU).find(|processor| allowed.is_set(*processor)).expect("one");
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).expect("less is allowed");
}

fn raise_nice_value() {
    let nice = getpriority_process(None).expect("it can be read");
    setpriority_process(None, (nice + 1).min(19)).expect("less is allowed");
}

fn raise_score() {
    let file = "/proc/self/oom_score_adj";
    let score: i32 = fs::read_to_string(file).expect("text").trim().parse().expect("a number");
    fs::write(file, (score + 1).min(1000).to_string()).expect("more is allowed");
}

#[test]
fn what_a_job_changes_is_found() {
    let before = state();
    let known: Vec<&str> =
        before.told.iter().filter(|(_, told)| told.is_some()).map(|(what, _)| *what).collect();
    for what in ["the umask", "the resource limits", "the user", "the mount namespace", "the scheduling"] {
        assert!(known.contains(&what), "no {what} in {known:?}");
    }
    assert_eq!(difference(&before), None);
    // On one processor there is no less.
    let several = sched_getaffinity(None).is_ok_and(|allowed| allowed.count() > 1);
    assert_eq!(changed_by(allow_one_processor), several.then_some("the allowed processors"));
    assert_eq!(changed_by(raise_nice_value), Some("the scheduling"));
    assert_eq!(changed_by(raise_score), Some("the score for the end of memory"));
}
