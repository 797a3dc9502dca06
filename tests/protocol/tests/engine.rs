//! The cost of the engine for each sample.

use end_to_end::running::run_with;
use protocol::fake::library;

const ALLOCATIONS: &str = env!("CARGO_BIN_EXE_allocations");

/// 28,672 samples more, in 896 groups more, of which each is captured anew: what allocates is the capture, before any of its samples
/// runs. It takes no more than an allocation for each launch, of which a sample has two, and a few for each graph.
#[test]
fn samples_allocate_for_their_capture_alone() {
    let libcuda = library().to_str().expect("UTF-8");
    let ended = run_with(ALLOCATIONS, &["4096", "32768"], &[("GPUBENCH_LIBCUDA", libcuda)]).with_code(0);
    let counts: Vec<u64> = ended.stdout.lines().map(|line| line.parse().expect("a number")).collect();
    let [few, many] = counts[..] else { panic!("{ended}") };
    assert!(few > 0, "captures do allocate");
    assert!(many - few <= 2 * 28_672, "{few} and {many}");
}
