//! The kinds of device that come with gpubench, in one table, so that no other module names a kind. Kinds
//! that a program adds with its own [`DeviceType`](crate::device::DeviceType) follow them in the list.

use std::sync::OnceLock;

use super::cuda::{self, Cuda};
use super::host::{self, Host};
use crate::device::kind::{Available, ClockControl, DefaultChoice, DeviceKind};
use gpubench_core::{StreamSource as _, cuda::Gpu, host::Stream, inventory};
use gpubench_records::DeviceId;

/// The kinds that come with gpubench, in the order in which devices are listed: GPUs before the CPU.
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
        list: || Ok(vec![Available::new(Stream::KIND, Stream::KIND).with_name(host::cpu_name())]),
        noun: "CPU",
        // It launches the work of all others.
        runs_concurrently: false,
        choice: DefaultChoice::Fallback,
        data_types: &[],
        clocks: None,
        profiled: false,
    },
];

/// The benchmarks that measure the limits of a GPU, for `--measure-peaks`. Only CUDA GPUs have them.
pub mod peaks {
    pub use crate::devices::cuda::limits::{cache, entries, reached};
}

/// The name of the kind whose measured peaks are stored in a file in the cache folder of the user: the CPU.
pub const KIND_WITH_CACHED_PEAKS: &str = Stream::KIND;

/// Returns all kinds: those that come with gpubench, then those that the program registers. A registered kind
/// with the name of an earlier one is left out.
pub fn listed() -> &'static [&'static DeviceKind] {
    static ALL_KINDS: OnceLock<Vec<&'static DeviceKind>> = OnceLock::new();
    ALL_KINDS.get_or_init(|| {
        let mut kinds: Vec<&'static DeviceKind> = KINDS.iter().collect();
        for kind in inventory::iter::<DeviceKind>() {
            if kinds.iter().all(|known| known.name != kind.name) {
                kinds.push(kind);
            }
        }
        kinds
    })
}

/// Returns the kind with this name, or `None` if there is none.
pub fn kind(name: &str) -> Option<&'static DeviceKind> {
    listed().iter().copied().find(|kind| kind.name == name)
}

/// Returns the data types for which devices of some kind report a compute peak. A data type may occur several
/// times.
pub fn data_types() -> impl Iterator<Item = &'static str> {
    listed().iter().flat_map(|kind| kind.data_types).copied()
}

/// Returns the kind of the device with this name, such as `cuda:0`, or `None` if its kind is unknown.
pub fn kind_of(device: &str) -> Option<&'static DeviceKind> {
    kind(DeviceId::parse(device).kind)
}
