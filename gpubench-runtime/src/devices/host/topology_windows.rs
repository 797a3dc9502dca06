//! The processors of this machine, as Windows describes them. In: the system's functions; out: a name and cache sizes, absent
//! if the system does not give them.

use std::collections::BTreeMap;
use std::thread;

use gpubench_stats::units::Bytes;

use crate::system::machine::{self, Cache};

/// Returns the CPU's model name.
pub(crate) fn cpu_name() -> String {
    machine::cpu_name().unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}

/// Returns the names and sizes of the first processor's data caches, nearest first.
pub(super) fn caches() -> Vec<(String, Bytes)> {
    let mut first: Vec<Cache> =
        machine::caches().into_iter().filter(|cache| cache.processors & 1 == 1).collect();
    first.sort_by_key(|cache| cache.level);
    let name = |cache: &Cache| format!("L{}{} cache", cache.level, if cache.is_unified { "" } else { "d" });
    first.iter().map(|cache| (name(cache), Bytes(cache.size))).collect()
}

/// Returns the sum of the last-level caches.
pub(super) fn last_level_cache() -> Option<Bytes> {
    let caches = machine::caches();
    let last = caches.iter().map(|cache| cache.level).max()?;
    let distinct: BTreeMap<usize, Bytes> = caches
        .into_iter()
        .filter(|cache| cache.level == last)
        .map(|cache| (cache.processors, Bytes(cache.size)))
        .collect();
    Some(distinct.into_values().sum())
}

/// Returns the numbers of the processors that this process may use.
pub(super) fn allowed_processors() -> Vec<usize> {
    (0..thread::available_parallelism().map_or(1, Into::into)).collect()
}
