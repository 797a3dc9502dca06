//! Races on a GPU: the graphs of comparisons, under noise of another seed each time, and many variants.

use std::fs;
use std::time::Instant;

use end_to_end::running::run_with;
use gpubench::tuning::{PAIRS_OF_A_STEP, Standing, TunedProblem, Tuning};
use protocol::fake::library;

const RACED: &str = env!("CARGO_BIN_EXE_raced");

/// Races a benchmark on the fake, whose launches vary by one percent.
#[track_caller]
fn raced(arguments: &[&str], seed: usize) -> TunedProblem {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (file, seed) = (at("tuning.json"), seed.to_string());
    let arguments = [arguments, &["--tune", "--save-tuning", &file]].concat();
    let library = library().to_str().expect("UTF-8");
    let environment = [
        ("GPUBENCH_LIBCUDA", library),
        ("GPUBENCH_LIBNVML", library),
        ("GPUBENCH_FAKE_NOISE", "0.01"),
        ("GPUBENCH_FAKE_SEED", &seed),
        ("TMPDIR", folder.path().to_str().expect("UTF-8")),
    ];
    let ended = run_with(RACED, &arguments, &environment).with_code(0);
    let json = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let mut tuning = Tuning::parse(&json).expect("a tuning");
    assert!(tuning.devices[0].fake && tuning.benchmarks.len() == 1, "{ended}");
    tuning.benchmarks.remove(0).problems.remove(0)
}

fn are_ties(seed: usize) -> bool {
    raced(&["equal"], seed).of(Standing::Tie).count() == 5
}

fn the_better_wins(seed: usize) -> bool {
    let problem = raced(&["better"], seed);
    let failed = problem.of(Standing::Failed).next().expect("one fails");
    assert_eq!(failed.args[0].value, "6");
    let best = problem.best().expect("there is one");
    best.args[0].value == "4" && problem.of(Standing::Slower).count() == 5
}

#[test]
fn a_race_on_a_gpu_names_the_truth() {
    assert!(are_ties(1) && the_better_wins(2));
}

#[test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "its figures are what it is run for")]
fn races_on_a_gpu_at_length() {
    let ties = (1..=100).filter(|seed| are_ties(*seed)).count();
    let wins = (1..=100).filter(|seed| the_better_wins(*seed)).count();
    println!("identical variants are ties in {ties} of 100 races, the better one wins in {wins}");
    assert!(ties >= 99 && wins >= 95);
    let began = Instant::now();
    let problem = raced(&["many", "--include-ignored"], 1);
    let took = began.elapsed();
    let steps: usize = problem.variants.iter().map(|variant| variant.pairs / PAIRS_OF_A_STEP).sum();
    println!("{} variants in {took:?}, {steps} steps", problem.variants.len());
    assert_eq!(problem.best().expect("there is one").args[0].value, "0");
    assert!(took.as_secs() < 60);
}
