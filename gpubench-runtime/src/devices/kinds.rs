//! The kinds of device that come with gpubench, in one table. Other folders ask here, so that none of them names a
//! kind. A kind that a program adds by its own [`DeviceType`] stands behind them if it can be listed; if not, such a device is
//! assumed to be present.

use std::sync::OnceLock;

use gpubench_records::files::ceilings::Ceiling;
use gpubench_records::id::DeviceId;
use gpubench_records::record::Run;

use super::ceilings::Ceilings;
use super::cuda::{self, Cuda};
use super::host::{self, Host};
use crate::device::DeviceType;
use crate::device::kind::{ClockControl, DefaultChoice, DeviceKind};
use crate::registry::{self, Entry};

/// All kinds, in order: a GPU before the CPU that feeds it.
pub(crate) const KINDS: [DeviceKind; 2] = [
    DeviceKind {
        name: Cuda::KIND,
        list: cuda::list,
        examine: cuda::examine::examine,
        noun: "CUDA device",
        beside_others: true,
        choice: DefaultChoice::First,
        data_types: cuda::data_types,
        clocks: Some(ClockControl { lock: cuda::lock_clocks, reset: cuda::reset_clocks }),
        profiled: true,
    },
    DeviceKind {
        name: Host::KIND,
        list: || Ok(vec![host::this_machine()]),
        examine: host::examine::examine,
        noun: "CPU",
        // It launches the work of all others.
        beside_others: false,
        choice: DefaultChoice::StandIn,
        data_types: Vec::new,
        clocks: None,
        profiled: false,
    },
];

/// The kinds that have benchmarks of their own limits.
const CEILINGS: [(&str, Ceilings); 1] = [(Cuda::KIND, cuda::limits::CEILINGS_OF_A_GPU)];

/// Returns true if the user's cache keeps the peaks of this kind, which it measures itself.
#[must_use]
pub(crate) fn keeps_peaks(kind: &str) -> bool {
    kind == Host::KIND
}

/// Returns all kinds that can be listed: those that come with gpubench, then those of the benchmarks that are linked.
#[must_use]
pub(crate) fn listed() -> &'static [&'static DeviceKind] {
    static LISTED: OnceLock<Vec<&'static DeviceKind>> = OnceLock::new();
    LISTED.get_or_init(|| {
        let mut kinds: Vec<&'static DeviceKind> = KINDS.iter().collect();
        let variants = registry::entries().into_iter().flat_map(|entry| entry.variants);
        for kind in variants.filter_map(|variant| variant.listed) {
            if kinds.iter().all(|known| known.name != kind.name) {
                kinds.push(kind);
            }
        }
        kinds
    })
}

/// Returns the kind of this name, if it can be listed.
#[must_use]
pub(crate) fn kind(name: &str) -> Option<&'static DeviceKind> {
    listed().iter().copied().find(|kind| kind.name == name)
}

/// Returns true if several devices of this kind are measured side by side. Of a kind that a program has added nothing is known.
#[must_use]
pub(crate) fn runs_beside_others(name: &str) -> bool {
    kind(name).is_some_and(|kind| kind.beside_others)
}

/// Returns the data_types for which some device reports a peak.
pub(crate) fn data_types() -> impl Iterator<Item = &'static str> {
    listed().iter().flat_map(|kind| (kind.data_types)())
}

/// Returns the clock lock of the device of this name, such as `cuda:0`.
pub(crate) fn clocks(device: &str) -> Option<ClockControl> {
    kind(DeviceId::parse(device).kind)?.clocks
}

/// Returns true if CUPTI traces the launches on the device of this name.
pub(crate) fn is_profiled(device: &str) -> bool {
    kind(DeviceId::parse(device).kind).is_some_and(|kind| kind.profiled)
}

/// Returns the benchmarks of devices' own limits.
#[must_use]
pub(crate) fn ceilings() -> Vec<&'static Entry> {
    CEILINGS.iter().flat_map(|(_, ceilings)| (ceilings.entries)()).collect()
}

/// Returns the benchmarks of the limits of the device of this name, such as `cuda:0`.
#[must_use]
pub(crate) fn ceilings_of(device: &str) -> Option<Ceilings> {
    let own = DeviceId::parse(device).kind;
    CEILINGS.iter().find(|(kind, _)| *kind == own).map(|(_, ceilings)| *ceilings)
}

/// Returns the ceilings that `device` reached in a run of these benchmarks.
#[must_use]
pub(crate) fn reached(run: &Run, device: &str) -> Vec<Ceiling> {
    ceilings_of(device).map(|ceilings| (ceilings.reached)(run, device)).unwrap_or_default()
}
