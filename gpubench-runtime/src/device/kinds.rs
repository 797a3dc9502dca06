//! The kinds of device that come with gpubench, in one table. Whoever needs to know a kind asks here, so that nothing outside
//! this folder names one. A kind that a program adds by its own [`DeviceType`] is in no table: it is taken to be there.

use gpubench_records::files::ceilings::Ceiling;
use gpubench_records::id::DeviceId;
use gpubench_records::record::Run;

use super::DeviceType;
use super::cuda::{self, Cuda};
use super::host::{self, Host};
use super::kind::{Choice, Clocks, Kind};
use crate::registry::Entry;

/// All kinds. A GPU goes before the CPU that feeds it.
pub const KINDS: [Kind; 2] = [
    Kind {
        name: Cuda::KIND,
        list: cuda::list,
        absent: |why| format!("no CUDA device ({why})"),
        choice: Choice::First,
        precisions: cuda::precisions,
        clocks: Some(Clocks { lock: cuda::lock_clocks, reset: cuda::reset_clocks }),
        ceilings: Some(cuda::limits::CEILINGS_OF_A_GPU),
    },
    Kind {
        name: Host::KIND,
        list: || Ok(vec![host::this_machine()]),
        absent: |why| format!("no CPU ({why})"),
        choice: Choice::StandIn,
        precisions: Vec::new,
        clocks: None,
        ceilings: None,
    },
];

/// The kind of this name, where it comes with gpubench.
#[must_use]
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The precisions of which some device's peak is known from what it tells.
pub fn precisions() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| (kind.precisions)())
}

/// The clocks of the device of this name, such as `cuda:0`.
pub(crate) fn clocks(device: &str) -> Option<Clocks> {
    kind(DeviceId::parse(device).kind)?.clocks
}

/// The benchmarks of devices' own limits.
#[must_use]
pub fn ceilings() -> Vec<&'static Entry> {
    KINDS.iter().filter_map(|kind| kind.ceilings).flat_map(|ceilings| (ceilings.entries)()).collect()
}

/// The ceilings that `device` reached in a run of these benchmarks.
#[must_use]
pub fn reached(run: &Run, device: &str) -> Vec<Ceiling> {
    let ceilings = kind(DeviceId::parse(device).kind).and_then(|kind| kind.ceilings);
    ceilings.map(|ceilings| (ceilings.reached)(run, device)).unwrap_or_default()
}
