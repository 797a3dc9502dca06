//! The limits that a kind of device has benchmarks for.

use gpubench_records::files::ceilings::Ceiling;
use gpubench_records::method::Cache;
use gpubench_records::record::Run;

use crate::registry::Entry;

/// Benchmarks that measure the limits of a device.
#[derive(Clone, Copy)]
pub(crate) struct Ceilings {
    /// The benchmarks, in the order in which they are measured.
    pub entries: fn() -> Vec<&'static Entry>,
    /// Returns the cache state of this benchmark; `None` for other benchmarks.
    pub cache: fn(&str) -> Option<Cache>,
    /// Returns the ceilings that this device reached in a run of these benchmarks.
    pub reached: fn(&Run, &str) -> Vec<Ceiling>,
}
