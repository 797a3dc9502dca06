//! What a run takes from its settings and from its devices.

use super::*;
use gpubench_records::{Property, Value};
use gpubench_stats::Nanoseconds;

/// Measures with these settings.
fn measured_with(plan: &Plan, config: &RunConfig) -> TestRun {
    TestRun::of_setup(setup(plan), WorkerScript::default(), config, &|| false)
}

/// Returns the worker that was asked for this.
fn worker_of(done: &TestRun, what: &str) -> Option<usize> {
    done.script.asked.iter().find(|(_, asked)| asked == what).map(|(worker, _)| *worker)
}

#[test]
fn a_benchmarks_own_limit_counts_unless_the_user_gave_one() {
    let mut job = plan(&["a"], &["fake"]).jobs.remove(0).0;
    let own = Duration::from_secs(90);
    let usual = RunConfig::default();
    assert_eq!(usual.limit(&job), Duration::from_secs(60));
    job.timeout = Some(own);
    assert_eq!((usual.limit(&job), config(1).limit(&job)), (own, Duration::from_secs(7)));
}

#[test]
fn a_device_with_locked_clocks_says_so() {
    let mut config = config(1);
    config.locked = vec![("fake:1".to_owned(), "1,980 MHz".to_owned())];
    let done = measured_with(&plan(&["a"], &["fake:0", "fake:1"]), &config);
    let properties: Vec<&[Property]> = done.run.devices.iter().map(|info| &*info.properties).collect();
    assert_eq!(properties, [&[][..], &[Property::new("clocks", Value::Text("1,980 MHz".to_owned()))]]);
}

/// The process that launches the work of all others would be seen by every GPU as another program on it.
#[test]
fn a_device_that_runs_alone_has_a_new_worker_after_its_facts() {
    for devices in [["cuda:0", "host"], ["host", "cuda:0"]] {
        let done = measured_with(&plan(&["a"], &devices), &config(1));
        assert!(done.ended.is_ok());
        let [host, gpu] = ["host", "cuda:0"]
            .map(|on| (worker_of(&done, &format!("facts of {on}")), worker_of(&done, &format!("a on {on}"))));
        assert_eq!(gpu.0, gpu.1, "{devices:?}");
        assert_ne!(host.0, host.1, "{devices:?}");
        assert_eq!(done.script.started, 3);
    }
    let done = measured_with(&plan(&["a"], &["host"]), &config(1));
    assert_eq!(done.script.started, 1, "it is alone");
}

/// This process has all devices open, and cannot be replaced: nothing is renewed, and no failure is tried again.
#[test]
fn all_devices_of_this_process_share_a_lane() {
    let done = measured_with(&plan(&["slow a", "fails"], &["cuda:0", "host"]), &in_process());
    assert!(done.ended.is_ok());
    assert_eq!(done.script.together.iter().map(|(_, others)| *others).collect::<Vec<_>>(), [1, 1]);
    // The two stand for one process, of which each device is asked for its facts and its two jobs, once.
    assert_eq!((done.script.started, done.script.asked.len()), (2, 2 * 3));
}

#[test]
fn a_run_tells_how_long_it_took_and_what_was_left_out() {
    let mut plan = plan(&["slow a", "b"], &["fake"]);
    plan.jobs[1].1 = JobStatus::Skipped("too small".to_owned());
    let done = measured(&plan, &[]);
    // A job that is alone waits for another for 0.3 s.
    assert!(done.run.wall_time >= Nanoseconds::from_seconds(0.3), "{:?}", done.run.wall_time);
    let skipped: Vec<_> =
        done.run.skipped.iter().map(|left| (&*left.benchmark, &*left.device, &*left.reason)).collect();
    assert_eq!(skipped, [("b", "fake", "too small")]);
}
