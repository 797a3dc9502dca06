//! Advice on a launch, for `--explain`. In: the facts that a device saw, and the measurement; out: sentences with advice
//! that would make the launch faster.

use gpubench_records::launch::{Kernel, Multiprocessors};
use gpubench_records::record::Measurement;
use gpubench_stats::format;
use gpubench_stats::units::Bytes;

use super::{WARP, block_capacity, occupancy, occupancy_limit, wave_count};

/// Waves that leave less than this of all places empty are as good as full ones.
const FULL: f64 = 0.85;
/// A multiprocessor that holds less than this share of its threads may have too few to hide latency.
const FEW_THREADS: f64 = 0.5;
/// A kernel below this share of the memory's peak may be waiting for memory.
const LITTLE_TRAFFIC: f64 = 0.6;

/// Advice that would make the launch faster, or its number better, as far as it follows from the measurement.
pub(crate) fn better(measured: &Measurement, launch_bound: bool) -> Vec<String> {
    let mut advice = Vec::new();
    if !measured.samples.converged {
        advice.push("more samples (--max-time): the interval is wider than requested".to_owned());
    }
    if launch_bound {
        advice.push("more work per launch, or several launches back-to-back or in a graph".to_owned());
    }
    advice.extend(in_a_graph(measured));
    let seen = &measured.launch;
    // In a launch of several kernels the slow one is not known.
    if let (Some(all), [only], 1) = (&seen.multiprocessors, &seen.kernels[..], seen.kernel_count) {
        let shape = [tail(only, all), idle(only, all, launch_bound), lanes(only), local(only)];
        advice.extend(shape.into_iter().flatten());
        advice.extend(few_threads(only, all, measured));
    }
    advice
}

/// The time that a graph saves a launch of several kernels.
fn in_a_graph(measured: &Measurement) -> Option<String> {
    let saved = measured.samples.stream_time? - measured.median();
    let counts = saved > 0.1 * measured.median() && saved > measured.samples.timer.empty_launch_spread;
    counts.then(|| {
        format!("launch it in a graph, as measured here: on the stream it takes {} more", format::time(saved))
    })
}

/// The last wave of blocks that does not fill the multiprocessors.
fn tail(kernel: &Kernel, all: &Multiprocessors) -> Option<String> {
    let waves = wave_count(kernel, all);
    let empty = 1.0 - waves / waves.ceil();
    (waves > 1.0 && empty > 1.0 - FULL).then(|| {
        format!(
            "a multiple of {} blocks: in {} waves of equal blocks, {} of the places stay empty",
            block_capacity(kernel, all),
            waves.ceil(),
            format::percent(empty)
        )
    })
}

/// Multiprocessors without a block, unless there is too little work for all.
fn idle(kernel: &Kernel, all: &Multiprocessors, launch_bound: bool) -> Option<String> {
    let idle = u64::from(all.count).saturating_sub(kernel.blocks());
    (idle > 0 && !launch_bound)
        .then(|| format!("more blocks: {idle} of {} multiprocessors are idle", all.count))
}

/// Missing threads of the last warp of a block.
fn lanes(kernel: &Kernel) -> Option<String> {
    let threads = kernel.threads();
    let missing = threads.next_multiple_of(WARP) - threads;
    (missing > 0)
        .then(|| format!("a multiple of {WARP} threads a block: {missing} threads of its last warp are idle"))
}

fn local(kernel: &Kernel) -> Option<String> {
    (kernel.local_memory_per_thread > Bytes(0)).then(|| {
        format!(
            "no local memory ({} a thread): registers spill, or an array has a computed index",
            format::bytes(kernel.local_memory_per_thread)
        )
    })
}

/// Threads that may be too few to hide the latency of memory.
fn few_threads(kernel: &Kernel, all: &Multiprocessors, measured: &Measurement) -> Option<String> {
    use gpubench_records::device_info::Quantity::MemoryBandwidth;

    let what = occupancy_limit(kernel, all)?;
    let share = measured.metrics.share(&MemoryBandwidth)?;
    let binds = measured.metrics.roofline.as_ref().is_none_or(|roof| roof.quantity == MemoryBandwidth);
    let full = wave_count(kernel, all) >= 1.0;
    (binds && full && share < LITTLE_TRAFFIC && occupancy(kernel, all) < FEW_THREADS).then(|| {
        format!(
            "higher occupancy, or more loads in flight per thread: occupancy is {} (limited by {what}), and the memory \
             is at {} of its peak",
            format::percent(occupancy(kernel, all)),
            format::percent(share)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{h200, launched};
    use super::*;

    #[test]
    fn advice_follows_from_the_shape_and_not_without() {
        // 264 places.
        let at = |blocks| launched(blocks, 256, 128, 0, 2);
        let told = tail(&at(300), &h200()).expect("it has a tail");
        assert!(told.starts_with("a multiple of 264 blocks") && told.contains("43.2 %"), "{told}");
        assert_eq!([264, 528, 500, 200, 5000].map(|blocks| tail(&at(blocks), &h200())), [const { None }; 5]);
        assert!(idle(&at(131), &h200(), false).is_some());
        assert_eq!([idle(&at(132), &h200(), false), idle(&at(1), &h200(), true)], [None, None]);
        assert!(
            lanes(&launched(1, 33, 8, 0, 32)).expect("a warp is not full").contains("31 threads of its last")
        );
        assert_eq!(lanes(&launched(1, 96, 8, 0, 21)), None);
        let mut spills = at(1);
        assert_eq!(local(&spills), None);
        spills.local_memory_per_thread = Bytes(8);
        assert!(local(&spills).is_some());
    }
}
