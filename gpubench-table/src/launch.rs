//! The parts of a launch, for `--explain`: its kernels, and the memory that it wrote.

use gpubench_records::{
    Counts, LaunchInfo, LaunchedKernel, Measurement, Multiprocessors, Relaunch, Reuse, Rewritten, Written,
};
use gpubench_stats::{Bytes, Nanoseconds, format};

/// The threads of a warp.
const WARP_THREADS: u64 = 32;

/// Returns a sentence for each described kernel of the launch, and one with the number of further kernels. Empty if no kernel is
/// described.
pub(super) fn kernel_sentences(seen: &LaunchInfo) -> Vec<String> {
    let mut sentences: Vec<String> =
        seen.kernels.iter().map(|it| kernel_sentence(it, seen.multiprocessors.as_ref())).collect();
    let more = seen.kernel_count.saturating_sub(sentences.len());
    if more > 0 && !sentences.is_empty() {
        sentences.push(format!("and {more} more"));
    }
    sentences
}

/// Returns the sentence about a kernel: its grid, registers, memory and, if known, occupancy and waves.
fn kernel_sentence(kernel: &LaunchedKernel, multiprocessors: Option<&Multiprocessors>) -> String {
    let name = kernel.name.as_deref().unwrap_or("a kernel");
    let mut words = vec![
        format!("{name}: {} of {}", dimensions(kernel.grid, "block"), dimensions(kernel.block, "thread")),
        format!("{} a thread", format::counted(kernel.registers_per_thread as usize, "register")),
    ];
    if kernel.local_memory_per_thread > Bytes(0) {
        words.push(format!("{} of local memory a thread", kernel.local_memory_per_thread));
    }
    let (fixed, added) = (kernel.static_shared_memory, kernel.dynamic_shared_memory);
    if fixed + added > Bytes::ZERO {
        let by = if added > Bytes::ZERO { format!(" ({added} by the launch)") } else { String::new() };
        words.push(format!("{} of shared memory a block{by}", fixed + added));
    }
    if let Some(all) = multiprocessors.filter(|_| kernel.max_active_blocks_per_sm > 0) {
        words.push(residency_phrase(kernel, all));
        words.push(waves_phrase(kernel, all));
    }
    words.join("; ")
}

/// Returns a phrase such as `528 blocks`, or `528 blocks (22 × 24)`.
fn dimensions(sizes: [u32; 3], what: &str) -> String {
    let all = format::counted(sizes.iter().map(|size| *size as usize).product(), what);
    match sizes {
        [_, 1, 1] => all,
        [x, y, 1] => format!("{all} ({x} × {y})"),
        [x, y, z] => format!("{all} ({x} × {y} × {z})"),
    }
}

/// Returns a phrase with the number of blocks that a multiprocessor holds at once.
fn residency_phrase(kernel: &LaunchedKernel, all: &Multiprocessors) -> String {
    let blocks = format::counted(kernel.max_active_blocks_per_sm as usize, "block");
    let threads = format::percent(occupancy(kernel, all));
    format!("a multiprocessor holds {blocks} at once, {threads} of its threads")
}

/// Returns the fraction of a multiprocessor's threads that the kernel's resident blocks fill. Blocks count in whole warps.
fn occupancy(kernel: &LaunchedKernel, all: &Multiprocessors) -> f64 {
    let warps = kernel.threads().div_ceil(WARP_THREADS) * u64::from(kernel.max_active_blocks_per_sm);
    (WARP_THREADS * warps) as f64 / f64::from(all.threads_per_sm.max(1))
}

/// Returns a phrase such as `3 waves, the last 50 % full`.
fn waves_phrase(kernel: &LaunchedKernel, all: &Multiprocessors) -> String {
    let resident = u64::from(all.count) * u64::from(kernel.max_active_blocks_per_sm);
    let waves = kernel.blocks() as f64 / resident.max(1) as f64;
    if waves <= 1.0 {
        return format!("1 wave, {} full", format::percent(waves));
    }
    let last = waves.fract();
    let last = if last > 0.0 { format!(", the last {} full", format::percent(last)) } else { String::new() };
    format!("{} waves{last}", waves.ceil())
}

/// Returns the sentence about the memory that a launch changed and the writes it declares. `None` if write
/// detection did not run, or if the launch reaches no memory and the case declares no traffic.
pub(super) fn writes_sentence(counts: &Counts, seen: &LaunchInfo) -> Option<String> {
    let written = seen.written.as_ref()?;
    if written.changed_nothing() && written.examined == Bytes(0) && counts.bytes.is_none() {
        return None;
    }
    let claims = match (counts.writes, counts.bytes) {
        (Some(writes), _) => format!("; the benchmark declares {} written", Bytes(writes)),
        (None, Some(_)) if counts.reads.is_none() => {
            "; the benchmark does not declare how much it writes".to_owned()
        }
        _ => String::new(),
    };
    let passed = counts.intermediates.map_or_else(String::new, |passed| {
        format!(
            "; the benchmark declares {} of intermediates, written and read between its kernels",
            Bytes(passed)
        )
    });
    Some(format!("{}{}{claims}{passed}", changed_phrase(written), unseen_phrase(written)))
}

/// Returns the phrase about the memory that changed. If launches on memory with other contents were tried,
/// says how much those changed.
fn changed_phrase(written: &Written) -> String {
    let Written { changed, examined, block_size, changed_on_other_contents, .. } = written;
    let altered = changed_on_other_contents.map_or_else(String::new, |altered| {
        format!("; on memory that holds other values, it changed {altered}")
    });
    format!("a launch changed {changed} of {examined} of memory, compared in blocks of {block_size}{altered}")
}

/// Returns the phrase that some writes may be missing, which begins with a semicolon; empty if all memory was examined.
fn unseen_phrase(written: &Written) -> String {
    let phrase = |why: &String| format!("; some writes may be missing: {why}");
    written.unseen_reason.as_ref().map(phrase).unwrap_or_default()
}

/// Returns a sentence on what the launches after the samples showed: that a check on fresh inputs passed, how
/// the outputs differ from those of the first launch, and the cold times on fresh and on used inputs. `None` if
/// nothing of this is known.
pub(super) fn relaunch_sentence(relaunch: &Relaunch) -> Option<String> {
    let checked =
        relaunch.checked.map(|_| "after the samples, a launch on fresh inputs passed its check".to_owned());
    let differs = (relaunch.differs > Bytes::ZERO)
        .then(|| format!("launches after the samples leave {} different", relaunch.differs));
    let rewritten = relaunch.rewritten.map(|Rewritten { changed, again }| {
        format!("the first launch wrote {changed}, a launch after the samples {again}")
    });
    let reuse = relaunch.reuse.map(|Reuse { fresh, used }| {
        format!(
            "single cold launches, overhead included, took {fresh} on fresh inputs and {used} on used ones"
        )
    });
    let found: Vec<_> = [checked, differs, rewritten, reuse].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("; "))
}

/// Returns the sentence about the host's time for a call of the launch function, and the time of the first
/// launch. If calls were not timed after the samples, the shortest call during the samples is used, but only
/// if it is longer than the launch. `None` if neither time is known.
pub(super) fn host_sentence(measured: &Measurement) -> Option<String> {
    let is_longer = |call: &Nanoseconds| *call > measured.median();
    let call = measured.call_time.or_else(|| measured.samples.host_call_time.filter(is_longer));
    let call = call.map(|call| {
        let limit = if is_longer(&call) {
            format!(
                ", longer than the {} on the device: in a loop without a graph, the device would wait for the host",
                measured.median()
            )
        } else {
            String::new()
        };
        format!("a call of the launch function takes {call} on the host{limit}")
    });
    let first = measured.launch.first_launch_time;
    let first = first.map(|time| format!("the first launch took {time} until the device was done"));
    let costs: Vec<String> = call.into_iter().chain(first).collect();
    (!costs.is_empty()).then(|| costs.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn h200() -> Multiprocessors {
        Multiprocessors {
            count: 132,
            threads_per_sm: 2048,
            registers_per_sm: 65_536,
            shared_memory_per_sm: Bytes(233_472),
        }
    }

    pub(super) fn launched(
        blocks: u32,
        threads: u32,
        registers: u32,
        shared: u64,
        resident_blocks: u32,
    ) -> LaunchedKernel {
        LaunchedKernel {
            name: Some("f".to_owned()),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            registers_per_thread: registers,
            dynamic_shared_memory: Bytes(shared),
            max_active_blocks_per_sm: resident_blocks,
            ..LaunchedKernel::default()
        }
    }

    #[test]
    fn kernels_are_told_with_what_they_take_of_a_multiprocessor() {
        let told = |it| kernel_sentence(&it, Some(&h200()));
        assert_eq!(
            told(launched(528, 256, 32, 0, 8)),
            "f: 528 blocks of 256 threads; 32 registers a thread; a multiprocessor holds 8 blocks at once, 100 % of its \
             threads; 1 wave, 50.0 % full"
        );
        // 65,536 registers are those of 2 blocks of 256 threads with 128.
        let mut spills = launched(396, 0, 128, 0, 2);
        (spills.local_memory_per_thread, spills.block) = (Bytes(64), [16, 16, 1]);
        assert_eq!(
            told(spills),
            "f: 396 blocks of 256 threads (16 × 16); 128 registers a thread; 64 B of local memory a thread; \
             a multiprocessor holds 2 blocks at once, 25.0 % of its threads; 2 waves, \
             the last 50.0 % full"
        );
        let shared = kernel_sentence(&launched(132, 256, 32, 200 << 10, 1), Some(&h200()));
        assert!(shared.contains("200 KiB of shared memory a block (200 KiB by the launch)"), "{shared}");
        assert!(shared.contains("12.5 % of its threads"), "{shared}");
        let mut many = LaunchInfo::default();
        (many.kernels, many.kernel_count) = (vec![launched(1, 32, 8, 0, 32); 4], 9);
        assert_eq!(kernel_sentences(&many).last().map(String::as_str), Some("and 5 more"));
    }

    #[test]
    fn what_was_written_is_told_beside_what_is_claimed() {
        let written = |changed, unseen: Option<&str>, altered: Option<u64>| {
            let mut written = Written::new(Bytes(1 << 20), Bytes(512), Bytes(changed));
            (written.unseen_reason, written.changed_on_other_contents) =
                (unseen.map(str::to_owned), altered.map(Bytes));
            LaunchInfo { written: Some(written), ..LaunchInfo::default() }
        };
        let counts = Counts { writes: Some(4096), ..Counts::default() };
        let told = |seen: LaunchInfo| writes_sentence(&counts, &seen).expect("there is something");
        assert_eq!(
            told(written(4096, None, None)),
            "a launch changed 4 KiB of 1 MiB of memory, compared in blocks of 512 B; the benchmark declares 4 KiB written"
        );
        assert!(
            told(written(0, Some("it copies to the host"), None)).contains("some writes may be missing: it")
        );
        for altered in [0, 2048] {
            let words =
                format!("; on memory that holds other values, it changed {}; the benchmark", Bytes(altered));
            assert!(told(written(0, None, Some(altered))).contains(&words), "{words}");
        }
        assert_eq!(writes_sentence(&counts, &LaunchInfo::default()), None);
    }
}
