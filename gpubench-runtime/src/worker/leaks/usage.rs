//! What a process never gives back: memory and descriptors. In: its use before its first job and now; out: the one that has grown by
//! more than caches and drivers keep. Few of each stay behind every job, so that all jobs of a process are taken together.

use std::fs;
use std::sync::OnceLock;

use gpubench_stats::units::Bytes;

/// The growth of open descriptors that is a leak: a tenth of the usual limit. A driver opens some tens.
const DESCRIPTORS: usize = 100;
/// The part of the machine's memory, as its divisor, that a process may keep: a suite may well keep large inputs for all of its cases.
const PART_OF_MEMORY: u64 = 4;

/// What a process uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    descriptors: usize,
    memory: Bytes,
}

impl Usage {
    /// Reads the use of this process, of which the memory is in its `status`.
    pub(super) fn now(status: &str) -> Self {
        let descriptors = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        Self { descriptors, memory: size(status, "RssAnon:").unwrap_or(Bytes(0)) }
    }

    /// Returns the use of this process before its first job, which this is if there was none.
    pub(super) fn first(self) -> Self {
        static FIRST: OnceLock<Usage> = OnceLock::new();
        *FIRST.get_or_init(|| self)
    }

    /// Returns what has leaked since `first`.
    pub(super) fn leak_since(self, first: Self) -> Option<&'static str> {
        if self.descriptors > first.descriptors + DESCRIPTORS {
            return Some("the open descriptors");
        }
        let kept = self.memory.0.saturating_sub(first.memory.0);
        (kept > machine_memory().0 / PART_OF_MEMORY).then_some("the memory in use")
    }
}

/// Returns the memory of this machine; no end of it if the system does not tell.
fn machine_memory() -> Bytes {
    static MEMORY: OnceLock<Bytes> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let told = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        size(&told, "MemTotal:").unwrap_or(Bytes(u64::MAX))
    })
}

/// Reads a line such as `RssAnon:  4096 kB`.
fn size(text: &str, name: &str) -> Option<Bytes> {
    let size = text.lines().find_map(|line| line.strip_prefix(name))?.trim();
    size.strip_suffix(" kB")?.parse::<u64>().ok().map(|size| Bytes(size << 10))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_what_caches_keep_is_a_leak() {
        let first = Usage {
            descriptors: 10,
            memory: size("VmRSS: 1 kB\nRssAnon:\t  2 kB", "RssAnon:").expect("a size"),
        };
        assert_eq!(first.memory, Bytes(2048));
        assert_eq!(first.leak_since(first), None);
        let open = Usage { descriptors: 111, ..first };
        assert_eq!(open.leak_since(first), Some("the open descriptors"));
        let full = Usage { memory: Bytes(machine_memory().0 / 2), ..first };
        assert_eq!(full.leak_since(first), Some("the memory in use"));
        // Less than before is no leak.
        assert_eq!(first.leak_since(full), None);
    }
}
