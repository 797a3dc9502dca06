//! The kinds of device that come with gpubench, in one table, so that no other module names a kind. Kinds that a program adds with its own
//! [`DeviceType`](crate::device::DeviceType) come after them if they can be listed; if not, such a device is assumed to be present.

use std::sync::OnceLock;

use super::cuda::{self, Cuda};
use super::host::{self, Host};
use crate::device::kind::{ClockControl, DefaultChoice, DeviceKind};
use gpubench_core::{StreamSource as _, cuda::Gpu, host::Stream, inventory};
use gpubench_records::DeviceId;

/// All kinds, in order: a GPU before the CPU that feeds it.
pub const KINDS: [DeviceKind; 2] = [
    DeviceKind {
        name: Gpu::KIND,
        open: |ordinal| Ok(Box::new(Cuda::open(ordinal)?)),
        list: cuda::list,
        noun: "CUDA device",
        runs_concurrently: true,
        choice: DefaultChoice::First,
        data_types: &cuda::DATA_TYPES,
        clocks: Some(ClockControl { lock: cuda::lock_clocks, reset: cuda::reset_clocks }),
        profiled: true,
    },
    DeviceKind {
        name: Stream::KIND,
        open: |_| Ok(Box::new(Host::open()?)),
        list: || Ok(vec![host::this_machine()]),
        noun: "CPU",
        // It launches the work of all others.
        runs_concurrently: false,
        choice: DefaultChoice::Fallback,
        data_types: &[],
        clocks: None,
        profiled: false,
    },
];

/// Examines what measuring on devices of the kind of this name needs and is affected by. Changes nothing.
#[cfg(feature = "doctor")]
pub(crate) fn examine(kind: &str) -> Vec<crate::device::finding::Finding> {
    match kind {
        Gpu::KIND => cuda::examine::examine(),
        Stream::KIND => host::examine::examine(),
        _ => Vec::new(),
    }
}

/// The benchmarks of the limits of a GPU. No other kind has such benchmarks.
pub mod ceilings {
    pub use crate::devices::cuda::limits::{cache, entries, reached};
}

/// The kind of which the user's cache keeps the peaks, which it measures itself.
pub const KIND_WITH_CACHED_PEAKS: &str = Stream::KIND;

/// Returns all kinds that can be listed: those that come with gpubench, then those of the benchmarks that are linked.
pub fn listed() -> &'static [&'static DeviceKind] {
    static LISTED: OnceLock<Vec<&'static DeviceKind>> = OnceLock::new();
    LISTED.get_or_init(|| {
        let mut kinds: Vec<&'static DeviceKind> = KINDS.iter().collect();
        for kind in inventory::iter::<DeviceKind>() {
            if kinds.iter().all(|known| known.name != kind.name) {
                kinds.push(kind);
            }
        }
        kinds
    })
}

/// Returns the kind of this name, if it can be listed.
pub fn kind(name: &str) -> Option<&'static DeviceKind> {
    listed().iter().copied().find(|kind| kind.name == name)
}

/// Returns the data_types for which some device reports a peak.
pub fn data_types() -> impl Iterator<Item = &'static str> {
    listed().iter().flat_map(|kind| kind.data_types).copied()
}

/// Returns the kind of the device of this name, such as `cuda:0`. Of one that a program has added nothing may be known.
pub fn kind_of(device: &str) -> Option<&'static DeviceKind> {
    kind(DeviceId::parse(device).kind)
}
