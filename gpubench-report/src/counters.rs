//! Compares the declared work of benchmarks with the counters of Nsight Compute.

use gpubench_records::{Cache, Counters, Measurement, NcuPass, Reason, Record};
use gpubench_records::{Counts, Link, metrics};
use gpubench_stats::Bytes;

/// The fraction by which declared work and counters may differ without a reason in the verdict.
const TOLERANCE: f64 = 0.1;
/// The allowance for traffic that no benchmark declares: code, arguments and page tables. A difference of at
/// most this many bytes is ignored.
const UNDECLARED_BYTES: f64 = 256.0 * 1024.0;
/// The operations that each thread may execute in addition to the declared ones, such as sums of several
/// accumulators and indices.
const FLOPS_PER_THREAD: u64 = 32;
/// The pipe of square roots, divisions and conversions, as Nsight Compute names it. The counters do not count its
/// instructions as operations.
const SPECIAL_FUNCTION_PIPE: &str = "xu";
/// The number of threads for which one instruction of a warp is executed.
const THREADS_PER_WARP: u64 = 32;

/// Stores Nsight Compute's counters in the measurement of `record`. Adds a reason to the verdict for each
/// part of the declared work that they contradict. A failed pass is stored and adds no reason. Does nothing
/// without a measurement. `last_level_cache` is the size of the last-level cache, if known.
pub fn store_ncu_counters(record: &mut Record, pass: NcuPass, last_level_cache: Option<Bytes>) {
    let Some(measured) = &mut record.measurement else { return };
    if let NcuPass::Counted(counters) = &pass {
        record.verdict.add(contradictions(counters, measured, record.case.cache, last_level_cache));
    }
    measured.verification.get_or_insert_default().ncu = Some(pass);
}

/// Returns a reason for each part of the declared work that the counters contradict. The traffic is compared
/// only if the launch is cold and declares no link other than the device's own memory.
fn contradictions(
    counters: &Counters,
    measured: &Measurement,
    cache: Cache,
    last_level_cache: Option<Bytes>,
) -> Vec<Reason> {
    let moved = (cache == Cache::Cold && matches!(measured.link, None | Some(Link::D2d)))
        .then(|| traffic_mismatch(counters, &measured.counts, last_level_cache))
        .flatten();
    moved.into_iter().chain(flops_mismatch(counters, measured)).collect()
}

/// Compares the counted traffic of a cold launch with its declared bytes. The launch reads all of its data
/// from memory, and may leave writes in the last-level cache, up to the size of the cache. Returns a reason
/// if the traffic is above the declared bytes, or below the bytes that must cross the bus, by more than
/// [`TOLERANCE`] and [`UNDECLARED_BYTES`]. Returns `None` if one of these is not known.
fn traffic_mismatch(counters: &Counters, counts: &Counts, last_level_cache: Option<Bytes>) -> Option<Reason> {
    let moved = counters.moved()?;
    let (bytes, without_intermediates) = (counts.bytes?, counts.without_intermediates()?);
    let written = match (counts.reads, counts.writes) {
        (None, None) => without_intermediates,
        (_, writes) => writes.unwrap_or_default(),
    };
    let cached_writes = last_level_cache.map_or(written, |Bytes(size)| written.min(size));
    let intermediates = metrics::crossing_intermediates(counts, Some(counters.kernels), last_level_cache);
    let least = without_intermediates - cached_writes.min(without_intermediates) + intermediates;
    let beyond = |a: f64, b: f64| a > (1.0 + TOLERANCE) * b && a - b > UNDECLARED_BYTES;
    let is_mismatch = beyond(moved.as_f64(), bytes as f64) || beyond(least as f64, moved.as_f64());
    is_mismatch.then_some(Reason::TrafficMismatch {
        declared: Bytes(bytes),
        counted: moved,
        min_traffic: Bytes(least),
    })
}

/// Compares the counted operations of the benchmark's data type with the declared ones. Instructions of the
/// [`SPECIAL_FUNCTION_PIPE`] may be declared as operations or not. Returns `None` if the two agree within the
/// limits, or if either is not known.
fn flops_mismatch(counters: &Counters, measured: &Measurement) -> Option<Reason> {
    let declared = measured.counts.flops?;
    let counted = counters.flops.iter().find(|counted| counted.data_type == measured.data_type)?.flops;
    let special = counters.pipes.iter().find(|pipe| pipe.pipe == SPECIAL_FUNCTION_PIPE);
    let most = counted + special.map_or(0, |pipe| THREADS_PER_WARP * pipe.instructions);
    let kernels = &measured.launch.kernels;
    let threads: u64 = kernels.iter().map(|kernel| kernel.blocks() * kernel.threads()).sum();
    let beyond = |a: u64, b: u64| a as f64 > (1.0 + TOLERANCE) * b as f64;
    // A launch of many kernels records only some of them, so that its number of threads is not known.
    let knows_all = measured.launch.kernel_count <= kernels.len();
    let counts_more = knows_all && beyond(counted, declared + FLOPS_PER_THREAD * threads);
    let is_mismatch = beyond(declared, most) || counts_more;
    is_mismatch.then_some(Reason::FlopsMismatch { declared, counted })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::verification::{CountedFlops, PipeInstructions};
    use gpubench_records::{LaunchedKernel, files};

    /// A measurement of this work, over this link.
    fn measured(counts: Counts, link: Option<Link>) -> Measurement {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        let mut measured = run.records.swap_remove(0).measurement.expect("it was measured");
        (measured.counts, measured.link) = (counts, link);
        "f32".clone_into(&mut measured.data_type);
        measured.launch.kernels.clear();
        measured
    }

    const MIB: u64 = 1 << 20;
    const L2: Option<Bytes> = Some(Bytes(60 * MIB));

    fn reasons(reads: u64, writes: u64, moved: [u64; 2]) -> Vec<Reason> {
        let counts = Counts {
            reads: Some(reads * MIB),
            writes: Some(writes * MIB),
            bytes: Some((reads + writes) * MIB),
            ..Counts::default()
        };
        let [read, written] = moved.map(|bytes| Some(Bytes(bytes * MIB)));
        let counters = Counters { read, written, ..Counters::default() };
        contradictions(&counters, &measured(counts, None), Cache::Cold, L2)
    }

    #[test]
    fn writes_may_stay_in_the_cache_and_reads_may_not() {
        assert_eq!(reasons(16, 16, [16, 0]), []);
        assert_eq!(reasons(1024, 1024, [1024, 964]), []);
        assert_eq!(reasons(1024, 1024, [1024, 1024]), []);
        let is_moved = |found: &[Reason]| matches!(found, [Reason::TrafficMismatch { .. }]);
        // It declares twice what it reads, or half.
        assert!(is_moved(&reasons(128, 0, [64, 0])) && is_moved(&reasons(64, 0, [128, 0])));
        assert!(is_moved(&reasons(0, 1024, [0, 512])));
        // A few kilobytes are code.
        assert_eq!(reasons(0, 0, [0, 0]), []);
    }

    /// Two kernels pass on 1 GiB, of which the L2 may keep its own size, or all of what is smaller.
    #[test]
    fn intermediates_may_stay_in_the_cache() {
        let contradicted = |passed: u64, moved: u64| {
            let counts = Counts {
                reads: Some(16 * MIB),
                bytes: Some((16 + passed) * MIB),
                intermediates: Some(passed * MIB),
                ..Counts::default()
            };
            let moved = Some(Bytes(moved * MIB));
            let counters =
                Counters { read: moved, written: Some(Bytes(0)), kernels: 2, ..Counters::default() };
            !contradictions(&counters, &measured(counts, None), Cache::Cold, L2).is_empty()
        };
        assert_eq!([2064, 1944, 1700].map(|moved| contradicted(2048, moved)), [false, false, true]);
        assert_eq!([116, 16, 200].map(|moved| contradicted(100, moved)), [false, false, true]);
    }

    #[test]
    fn hot_launches_and_links_move_what_they_like() {
        let counts = Counts { reads: Some(MIB), bytes: Some(MIB), ..Counts::default() };
        let counters =
            Counters { read: Some(Bytes(9 * MIB)), written: Some(Bytes(0)), ..Counters::default() };
        for (cache, link) in
            [(Cache::Hot, None), (Cache::Cold, Some(Link::H2d)), (Cache::Cold, Some(Link::L2))]
        {
            assert_eq!(contradictions(&counters, &measured(counts, link), cache, L2), []);
        }
    }

    #[test]
    fn operations_are_compared_with_those_of_their_data_type() {
        let flops = vec![CountedFlops { data_type: "f32".to_owned(), flops: 1000 }];
        let counters = Counters { flops, ..Counters::default() };
        let found = |flops, precision| {
            let counts = Counts { flops: Some(flops), ..Counts::default() };
            let measured = Measurement { data_type: String::from(precision), ..measured(counts, None) };
            contradictions(&counters, &measured, Cache::Hot, None).len()
        };
        assert_eq!(
            [found(1000, "f32"), found(1090, "f32"), found(2000, "f32"), found(500, "f32")],
            [0, 0, 1, 1]
        );
        assert_eq!(found(2000, "f16 tensor"), 0);
    }

    /// 1024 threads may do 32 operations each beside those that are declared; a square root may be declared, and is not counted.
    #[test]
    fn threads_begin_and_end_and_square_roots_may_count() {
        let kernel = LaunchedKernel { grid: [4, 1, 1], block: [256, 1, 1], ..LaunchedKernel::default() };
        let of_kernels = |kernel_count, counted, special, declared| {
            let flops = vec![CountedFlops { data_type: "f32".to_owned(), flops: counted }];
            let pipes =
                vec![PipeInstructions { pipe: SPECIAL_FUNCTION_PIPE.to_owned(), instructions: special }];
            let counters = Counters { flops, pipes, ..Counters::default() };
            let counts = Counts { flops: Some(declared), ..Counts::default() };
            let mut measured = measured(counts, None);
            measured.launch.kernels.push(kernel.clone());
            measured.launch.kernel_count = kernel_count;
            contradictions(&counters, &measured, Cache::Hot, None).len()
        };
        let found = |counted, special, declared| of_kernels(1, counted, special, declared);
        assert_eq!([found(32_768 + 1000, 0, 1000), found(40_000, 0, 1000)], [0, 1]);
        // 18 operations and a square root are declared as 20.
        assert_eq!([found(18_000, 1000 / 32, 20_000), found(18_000, 0, 20_000)], [0, 1]);
        // The threads of kernels that are not recorded may do any number.
        assert_eq!(of_kernels(9, 40_000, 0, 1000), 0);
    }
}
