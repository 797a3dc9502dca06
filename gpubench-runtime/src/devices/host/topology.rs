//! The processors of this machine, as Linux describes them. In: `/proc` and `/sys`; out: a name and cache sizes, absent
//! if the system does not give them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpubench_stats::units::Bytes;

/// Returns the CPU's model name.
pub(crate) fn cpu_name() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    model.unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH))
}

/// Returns the names and sizes of the first processor's data caches, nearest first.
pub(super) fn caches() -> Vec<(String, Bytes)> {
    let data = caches_of(first_processor()).into_iter().map(|cache| (cache.name(), cache.size));
    data.collect()
}

/// Returns the sum of the last-level caches of the processors that this process may use.
pub(super) fn last_level_cache() -> Option<Bytes> {
    let last = allowed_processors().into_iter().filter_map(|processor| caches_of(processor).pop());
    let distinct: BTreeMap<String, Bytes> = last.map(|cache| (cache.shared_by, cache.size)).collect();
    let sum: Bytes = distinct.into_values().sum();
    (sum > Bytes::ZERO).then_some(sum)
}

struct DataCache {
    level: u32,
    unified: bool,
    size: Bytes,
    shared_by: String,
}

impl DataCache {
    fn name(&self) -> String {
        format!("L{}{} cache", self.level, if self.unified { "" } else { "d" })
    }
}

fn caches_of(processor: usize) -> Vec<DataCache> {
    let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{processor}/cache"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut caches: Vec<_> = entries.filter_map(|entry| read_cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

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

/// `33792K` in bytes.
fn parse_size(text: &str) -> Option<Bytes> {
    let (number, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    Some(Bytes(number.parse::<u64>().ok()? << shift))
}

fn first_processor() -> usize {
    allowed_processors().first().copied().unwrap_or(0)
}

pub(super) fn allowed_processors() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    parse_list(list.unwrap_or("0"))
}

/// `0-3,8` as 0, 1, 2, 3, 8.
fn parse_list(list: &str) -> Vec<usize> {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_read_as_linux_writes_them() {
        assert_eq!(parse_size("33792K"), Some(Bytes(33_792 * 1024)));
        assert_eq!(parse_size("2M"), Some(Bytes(2 << 20)));
        assert_eq!(parse_size("?"), None);
        assert_eq!(parse_list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(parse_list(""), [0; 0]);
    }
}
