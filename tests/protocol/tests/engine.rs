//! The cost of the engine for each sample.

use end_to_end::running::run_with;
use protocol::fake::library;

const ALLOCATIONS: &str = env!("CARGO_BIN_EXE_allocations");

/// 28,672 samples more, in 112 groups more, take no allocation more: the two that are allowed are in the summary at the end,
/// a table of which grows with the root of the number of samples.
#[test]
fn samples_allocate_nothing() {
    let libcuda = library().to_str().expect("UTF-8");
    let ended = run_with(ALLOCATIONS, &["4096", "32768"], &[("GPUBENCH_LIBCUDA", libcuda)]).with_code(0);
    let counts: Vec<u64> = ended.stdout.lines().map(|line| line.parse().expect("a number")).collect();
    let [few, many] = counts[..] else { panic!("{ended}") };
    assert!(few > 0, "captures do allocate");
    assert!((few..=few + 2).contains(&many), "{few} and {many}");
}
