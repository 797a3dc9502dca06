//! The processors of this machine according to `/proc` and `/sys` on Linux: their name, caches, and the
//! bandwidth of cores. A property that the operating system does not report is left out.

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_stats::{Bytes, BytesPerSecond, Hertz, Map};

/// Returns the model name of the CPU, or a name such as `x86_64 CPU` if it is unknown.
pub fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    model.unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}

/// Returns the names, such as `L1d cache`, and sizes of the data caches of the first processor that this
/// process may use, nearest first. Empty if the operating system does not report them.
pub(super) fn data_caches() -> Vec<(String, Bytes)> {
    let first = allowed_processors().first().copied().unwrap_or(0);
    let name = |cache: &DataCache| format!("L{}{} cache", cache.level, if cache.unified { "" } else { "d" });
    data_caches_of(first).into_iter().map(|cache| (name(&cache), cache.size)).collect()
}

/// Returns the total size of the last-level caches of the processors that this process may use. Counts a
/// shared cache once. Returns `None` if no size is known.
pub(super) fn last_level_cache() -> Option<Bytes> {
    let last = allowed_processors().into_iter().filter_map(|processor| data_caches_of(processor).pop());
    let distinct: Map<String, Bytes> = last.map(|cache| (cache.shared_by, cache.size)).collect();
    let sum: Bytes = distinct.iter().map(|(_, size)| *size).sum();
    (sum > Bytes::ZERO).then_some(sum)
}

/// A data cache or unified cache of a processor.
struct DataCache {
    level: u32,
    unified: bool,
    size: Bytes,
    /// The processors that share the cache, such as `0-3`.
    shared_by: String,
}

/// Returns the data caches of `processor`, nearest first, without those whose properties are not all
/// reported.
fn data_caches_of(processor: usize) -> Vec<DataCache> {
    let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{processor}/cache"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<_> = entries.filter_map(|entry| read_cache(&entry.path())).collect();
    gpubench_stats::sort_by_key(&mut caches, |cache| cache.level);
    caches
}

/// Reads the cache that a folder of `/sys` describes. Returns `None` for an instruction cache, or if a
/// property is missing.
fn read_cache(folder: &Path) -> Option<DataCache> {
    let read = |file| Some(fs::read_to_string(folder.join(file)).ok()?.trim().to_owned());
    let kind = read("type")?;
    (kind != "Instruction").then_some(())?;
    Some(DataCache {
        level: read("level")?.parse().ok()?,
        unified: kind == "Unified",
        size: parse_size(&read("size")?)?,
        shared_by: read("shared_cpu_list")?,
    })
}

/// Parses a size such as `33792K`, and returns it in bytes. A number may have the suffix K or M, powers of
/// 1024; without one it is in bytes. Returns `None` for other text.
fn parse_size(text: &str) -> Option<Bytes> {
    let (number, shift) = match (text.strip_suffix('K'), text.strip_suffix('M')) {
        (Some(number), _) => (number, 10),
        (None, Some(number)) => (number, 20),
        (None, None) => (text, 0),
    };
    Some(Bytes(number.parse::<u64>().ok()? << shift))
}

/// Returns the numbers of the processors that the calling thread may use. If there are too many for the
/// system call to report, assumes the lowest numbers.
#[cfg(target_os = "linux")]
pub(super) fn allowed_processors() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    use std::{num::NonZero, thread::available_parallelism};

    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|it| set.is_set(*it)).collect(),
        // The system has more processors than the set has places.
        Err(_) => (0..available_parallelism().map_or(1, NonZero::get)).collect(),
    }
}

/// Returns processor 0 alone: only Linux reports which processors a thread may use.
#[cfg(not(target_os = "linux"))]
pub(super) fn allowed_processors() -> Vec<usize> {
    vec![0]
}

/// The most bytes that a core loads and stores in a cycle: two accesses of 64 bytes.
const BYTES_PER_CYCLE: f64 = 128.0;
/// The assumed clock of a CPU whose highest clock is unknown (6 GHz): no CPU has a higher one. The clock in
/// `/proc/cpuinfo` is the present one, or in a virtual machine the one without boost, and cores may run at
/// twice that.
const FASTEST_CLOCK: Hertz = Hertz(6_000_000_000);

/// Returns an upper bound of the bandwidth of `threads` cores, at the highest clock that any of `processors`
/// states, or at [`FASTEST_CLOCK`] if none states one.
pub(super) fn core_bandwidth(threads: usize, processors: &[usize]) -> BytesPerSecond {
    let stated = |processor| format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/cpuinfo_max_freq");
    let stated = processors.iter().filter_map(|processor| fs::read_to_string(stated(processor)).ok());
    bandwidth_at_clocks(threads, stated)
}

/// Returns an upper bound of the bandwidth of `threads` cores. The clock of all cores is the highest of the
/// `stated` clocks, in kHz as text, or [`FASTEST_CLOCK`] if none is valid or the highest is 0.
fn bandwidth_at_clocks(threads: usize, stated: impl Iterator<Item = String>) -> BytesPerSecond {
    let highest = stated.filter_map(|text| text.trim().parse::<u64>().ok()).max().filter(|khz| *khz > 0);
    let clock = highest.map_or(FASTEST_CLOCK, |khz| Hertz(1_000 * khz));
    BytesPerSecond(BYTES_PER_CYCLE * threads as f64 * clock.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_linux_writes_them() {
        assert_eq!(parse_size("33792K"), Some(Bytes(33_792 * 1024)));
        assert_eq!(parse_size("2M"), Some(Bytes(2 << 20)));
        assert_eq!(parse_size("?"), None);
    }
}

#[cfg(test)]
mod core_bandwidth_tests {
    use super::*;

    #[test]
    fn a_clock_is_the_stated_one_or_a_generous_one() {
        for (stated, gigahertz) in
            [(&["2500000\n", "3500000\n"][..], 3.5), (&[], 6.0), (&["0\n"], 6.0), (&["<unknown>\n"], 6.0)]
        {
            let found = bandwidth_at_clocks(2, stated.iter().map(|text| (*text).to_owned()));
            assert_eq!(found, BytesPerSecond(256e9 * gigahertz), "{stated:?}");
        }
    }
}
