//! A run of 20,000 cases and one of 40,000, which must cost about twice as much.
//!
//!     cargo test --release -p end-to-end --test all -- --ignored --nocapture growing::

use std::path::Path;

use end_to_end::running::command;

const SUITE: &str = env!("CARGO_BIN_EXE_growing");
/// Of twice as many cases, at most so many times the cost.
const MOST: f64 = 2.2;

/// The cost of a step.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Seconds of a processor.
    own: f64,
    workers: f64,
    mebibytes: f64,
}

impl Cost {
    /// The less of each: a busy machine makes processors slower too.
    fn least(self, other: Self) -> Self {
        Self {
            own: self.own.min(other.own),
            workers: self.workers.min(other.workers),
            mebibytes: self.mebibytes.min(other.mebibytes),
        }
    }
}

/// Runs the suite in `folder` with so many cases.
#[track_caller]
fn step(folder: &Path, cases: usize, arguments: &[&str]) -> Cost {
    let mut suite = command(SUITE);
    suite.current_dir(folder).args(arguments).env("END_TO_END_CASES", cases.to_string());
    suite.env("GPUBENCH_RUNS_DIR", folder.join("runs"));
    let ended = suite.output().expect("the suite starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    let shown = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}");
    // Short launches of a clock in coarse steps are not all valid.
    let totals = shown.contains(&format!("{cases} results: ")) && shown.contains(", 0 invalid, in ");
    assert!(
        totals || shown.lines().count() == cases,
        "{arguments:?}: {}",
        &shown[shown.len().saturating_sub(999)..]
    );
    let cost = said.lines().find_map(|line| line.strip_prefix("cost: ")).unwrap_or_else(|| panic!("{said}"));
    let figures: Vec<f64> = cost.split(' ').map(|figure| figure.parse().expect("a number")).collect();
    Cost { own: figures[0] / 1e3, workers: figures[1] / 1e3, mebibytes: figures[2] / 1024.0 }
}

const MEASURED: [&str; 7] = ["--device", "clockwork", "--quick", "--samples", "30", "--warmup", "0"];

/// The cost of each step with so many cases.
fn steps(cases: usize) -> Vec<(&'static str, Cost)> {
    let folder = tempfile::tempdir().expect("a folder");
    let measured = |more: &[&str]| step(folder.path(), cases, &[&MEASURED[..], more].concat());
    vec![
        ("listed", step(folder.path(), cases, &["--list", "--format", "terse"])),
        ("measured, printed and stored", measured(&[])),
        ("resumed, nothing left", measured(&["--resume", "--json", "run.json"])),
        ("explained", measured(&["--resume", "--explain"])),
        ("saved as a baseline", measured(&["--resume", "--save-baseline", "baseline.json"])),
        ("compared with a baseline", measured(&["--resume", "--baseline", "baseline.json"])),
    ]
}

#[test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
fn twice_as_many_cases_cost_twice_as_much() {
    let [few, many] = [20_000, 40_000].map(|cases| {
        let pairs = steps(cases).into_iter().zip(steps(cases));
        pairs.map(|((step, first), (_, second))| (step, first.least(second))).collect::<Vec<_>>()
    });
    let mut slow = Vec::new();
    for ((step, few), (_, many)) in few.into_iter().zip(many) {
        println!(
            "| {step} | {:.1} s, {:.0} MiB | {:.1} s, {:.0} MiB | {:.1} s | {:.1} s |",
            few.own, few.mebibytes, many.own, many.mebibytes, few.workers, many.workers
        );
        // Hundredths of seconds are counted.
        let is_slow = |few: f64, many: f64| many > 0.2 && many > MOST * few;
        if is_slow(few.own, many.own)
            || is_slow(few.workers, many.workers)
            || many.mebibytes > MOST * few.mebibytes
        {
            slow.push(step);
        }
    }
    assert_eq!(slow, [""; 0]);
}
