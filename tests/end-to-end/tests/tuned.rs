//! Races of variants whose times are known: the best, its ties, what is out and why, the file, and what is refused.

use std::fs;
use std::time::Instant;

use end_to_end::running::{Ended, run, run_with};
use gpubench::tuning::{PAIRS_OF_A_STEP, RaceEnd, Standing, TunedBenchmark, TunedProblem, Tuning};
use gpubench_records::id::Arg;
use gpubench_records::record::Run;
use gpubench_records::samples::Energy;

const SUITE: &str = env!("CARGO_BIN_EXE_tuned");
const RACE: [&str; 3] = ["--device", "clockwork", "--tune"];

/// Races what is selected, and reads the answer.
#[track_caller]
fn tuned(arguments: &[&str], environment: &[(&str, &str)]) -> (Ended, Tuning) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tuning.json");
    let save = ["--save-tuning", file.to_str().expect("UTF-8")];
    let ended = run_with(SUITE, &[&RACE, arguments, &save].concat(), environment);
    let json = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {ended}"));
    (ended, Tuning::parse(&json).expect("a tuning"))
}

fn standings(problem: &TunedProblem) -> Vec<(String, Standing)> {
    let name = |args: &[Arg]| args.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    problem.variants.iter().map(|variant| (name(&variant.args), variant.standing)).collect()
}

#[track_caller]
fn only(tuning: &Tuning) -> &TunedBenchmark {
    let [benchmark] = &tuning.benchmarks[..] else { panic!("{:?}", tuning.benchmarks) };
    benchmark
}

#[test]
fn each_problem_has_its_winner_and_all_have_a_tie_in_common() {
    let (ended, tuning) = tuned(&["kernel"], &[("NOISE", "4"), ("COLUMNS", "80")]);
    let ended = ended.with_code(0);
    let benchmark = only(&tuning);
    assert_eq!(benchmark.tuned_axes, ["BLOCK", "unroll"]);
    let [small, large] = &benchmark.problems[..] else { panic!("{:?}", benchmark.problems) };
    use Standing::{Best, LeftBehind, Slower, Tie};
    let found = standings(small);
    assert_eq!((found.len(), small.skipped, small.ended), (5, 1, RaceEnd::Decided));
    let first_two = |found: &[(String, Standing)]| {
        let mut both: Vec<String> = found[..2].iter().map(|(name, _)| name.clone()).collect();
        both.sort();
        (both, found[0].1, found[1].1)
    };
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    assert_eq!(first_two(&found), (names(["BLOCK=128 unroll=1", "BLOCK=128 unroll=2"]), Best, Tie));
    assert_eq!(found[2], ("BLOCK=256 unroll=1".to_owned(), Slower));
    assert!(found[3..].iter().all(|(_, standing)| *standing == LeftBehind), "{found:?}");
    let large = standings(large);
    assert_eq!(first_two(&large), (names(["BLOCK=128 unroll=2", "BLOCK=256 unroll=2"]), Best, Tie));

    let slower = &small.variants[2];
    let ratio = slower.ratio.expect("it was compared");
    assert!(
        ratio.low > 1.005 && ratio.low < 1.04 && ratio.high > 1.04 && (ratio.confidence - 0.99).abs() < 1e-9,
        "{ratio:?}"
    );
    assert_eq!(slower.counts.reads, Some(64));

    ended.shows("tuned::kernel on clockwork, hot: BLOCK, unroll; a tie is within ± 0.50 %");
    ended.shows("n=1: 5 variants (`skip_if` excluded 1 more) in ");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended}");
}

#[test]
fn what_fails_is_out_with_its_reason() {
    let (ended, tuning) = tuned(&["broken"], &[]);
    let ended = ended.with_code(0);
    let problem = &only(&tuning).problems[0];
    use Standing::{Best, Failed, Slower};
    let expected = [("v=4", Best), ("v=0", Slower), ("v=1", Failed), ("v=2", Failed), ("v=3", Failed)];
    assert_eq!(standings(problem), expected.map(|(name, standing)| (name.to_owned(), standing)));
    let why = |number: usize| problem.variants[number].failure.as_ref().expect("it failed").to_string();
    assert_eq!(why(2), "first launch: too many resources requested for launch");
    assert!(why(3).starts_with("first launch"), "{}", why(3));
    assert_eq!(why(4), "check: the sum is 3");
    assert!(problem.variants[0].checked);
    ended.shows("v=3 failed: check: the sum is 3");
}

#[test]
fn a_budget_bounds_the_first_round_too() {
    let (ended, tuning) = tuned(&["equal", "--budget", "1us"], &[]);
    let problem = &only(&tuning).problems[0];
    let ended = ended.with_code(1);
    ended.shows(", ended by the budget");
    ended.shows("6 not measured: the budget ended first, so that there is no winner");
    assert_eq!((problem.ended, problem.of(Standing::NotMeasured).count()), (RaceEnd::Budget, 6));
    assert_eq!(problem.best(), None);

    // So many do not fit; those that do keep their times, and none of them has won.
    let (ended, tuning) = tuned(&["many", "--include-ignored", "--budget", "700ms"], &[]);
    _ = ended.with_code(1);
    let problem = &only(&tuning).problems[0];
    let missing = problem.of(Standing::NotMeasured).count();
    assert!((1..=5_000).contains(&missing) && problem.variants.len() == 5_000, "{missing}");
    let has_time = |standing| problem.of(standing).all(|variant| variant.coarse_time.is_some());
    assert!(has_time(Standing::Undecided) && has_time(Standing::LeftBehind));
    assert!(
        problem.of(Standing::NotMeasured).all(|variant| variant.coarse_time.is_none() && !variant.checked)
    );
    assert_eq!((problem.ended, problem.best()), (RaceEnd::Budget, None));
    assert!(problem.wall_time.as_seconds() < 2.0, "{:?}", problem.wall_time);
}

#[test]
fn races_refuse_what_they_do_not_obey() {
    let refused = |arguments: &[&str], code| run(SUITE, &[&RACE, arguments].concat()).with_code(code).stderr;
    for (flag, value) in [("--runs", "3"), ("--compare-with", "equal"), ("--samples", "9")] {
        let told = refused(&[flag, value], 2);
        assert!(told.contains(&format!("'--tune' cannot be used with '{flag}")), "{told}");
    }
    let told = refused(&["--json", "-"], 2);
    assert!(told.contains("'--tune' cannot be used with '--json"), "{told}");
    let lone = run(SUITE, &["--budget", "3s"]).with_code(2).stderr;
    assert!(lone.contains("--tune"), "{lone}");
    assert!(refused(&["without_variants"], 2).contains("no selected benchmark has parameters to tune"));
    assert!(
        refused(&["equal", "--budget", "0"], 2).contains("'0' for '--budget <TIME>': give a time above 0")
    );
    let told = refused(&["equal", "--save-tuning", "no/such/folder/file.json"], 2);
    assert!(told.contains("--save-tuning no/such/folder/file.json"), "{told}");
}

/// The share of races, each with noise of its own, whose answer is right.
fn right(races: usize, benchmark: &str, is_right: impl Fn(&TunedProblem) -> bool + Sync) -> f64 {
    let raced = |seed: usize| {
        let seed = seed.to_string();
        let (ended, tuning) = tuned(&[benchmark], &[("NOISE", "10"), ("SEED", &seed)]);
        _ = ended.with_code(0);
        is_right(&only(&tuning).problems[0])
    };
    let right = (1..=races).filter(|seed| raced(*seed)).count();
    right as f64 / races as f64
}

fn are_ties(problem: &TunedProblem) -> bool {
    problem.of(Standing::Tie).count() == 5
}

fn the_better_wins(problem: &TunedProblem) -> bool {
    let best = problem.best().expect("there is one");
    best.args[0].value == "4" && problem.of(Standing::Slower).count() == 5
}

#[test]
fn races_name_the_truth() {
    assert!(right(3, "equal", are_ties) > 0.99);
    assert!(right(3, "better", the_better_wins) > 0.99);
}

/// Run by `cargo test -p end-to-end --test all -- --ignored races_at_length --nocapture`.
#[test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "its figures are what it is run for")]
fn races_at_length() {
    let ties = right(100, "equal", are_ties);
    let wins = right(100, "better", the_better_wins);
    println!("identical variants are ties in {ties}, the better one wins in {wins}");
    assert!(ties >= 0.99 && wins >= 0.95);
    let began = Instant::now();
    let (ended, tuning) = tuned(&["many", "--include-ignored"], &[("NOISE", "4")]);
    let took = began.elapsed();
    _ = ended.with_code(0);
    let problem = &only(&tuning).problems[0];
    let steps: usize = problem.variants.iter().map(|variant| variant.pairs / PAIRS_OF_A_STEP).sum();
    println!("{} variants in {took:?}, {steps} steps", problem.variants.len());
    assert_eq!(problem.best().expect("there is one").args[0].value, "0");
    assert!(took.as_secs() < 60);
}

#[test]
fn a_device_of_ones_own_counts_the_energy_of_a_launch() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let arguments = ["frugal", "--device", "clockwork", "--energy", "--json"];
    let arguments = [&arguments[..], &[file.to_str().expect("UTF-8")]].concat();
    _ = run_with(SUITE, &arguments, &[("CLOCKWORK_ENERGY", "1")]).with_code(0);
    let run = Run::parse(&fs::read(&file).expect("it is there")).expect("a run");
    let measured = run.records[0].measurement.as_ref().expect("a number");
    let energy = measured.energy.as_ref().and_then(Energy::per_launch).expect("it is counted");
    assert!((energy.0 / 64e-6 - 1.0).abs() < 0.05, "{energy:?}");
}
