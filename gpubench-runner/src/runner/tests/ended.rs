//! Runs that end early.

use std::panic;

use super::{scripted::Scripted, *};

/// The user stops it while the second repeat is in progress: what there is of a case is one row all the same.
#[test]
fn repeats_that_were_interrupted_are_joined() {
    let asked = AtomicUsize::new(0);
    // Twice for each job, of which the first repeat has two.
    let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 6;
    let done = TestRun::of(&plan(&["a", "b"], &["fake"]), WorkerScript::default(), 2, &stop);
    assert!(matches!(done.ended, Err(RunError::Interrupted)));
    assert_eq!(done.heard.records.len(), 6);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
}

/// A panic of a runner thread reaches the thread that joins it. The run ends.
#[test]
fn a_thread_that_panics_ends_the_run() {
    let ended = panic::catch_unwind(|| {
        let scripted = Scripted::by(|_, request| match request {
            Request::DeviceInfo { device, .. } => (vec![Reply::DeviceInfo(info(device))], None),
            _ => panic!("this test wants it"),
        });
        let supervisor = |warn| scripted.supervisor(&|| false, warn);
        let (setup, mut heard) = (setup(&plan(&["a"], &["fake"])), Heard::default());
        measure(&supervisor, setup, &config(1), &mut |_, _| None, &|_| (), &mut heard, &|| false)
    });
    assert!(ended.is_err());
}

/// A second repeat that cannot begin leaves the first.
#[test]
fn a_repeat_without_a_process_ends_the_run() {
    let script = WorkerScript { most: Some(1), ..WorkerScript::default() };
    let done = TestRun::of(&plan(&["a"], &["fake"]), script, 2, &|| false);
    assert!(matches!(done.ended, Err(RunError::NoWorker(_))));
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
}
