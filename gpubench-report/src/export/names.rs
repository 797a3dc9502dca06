//! The full names of cases: with the cache state, and with the device if a run has several. In: a run and its cases; out:
//! text.

use crate::has_several_devices;
use gpubench_records::id::CaseId;
use gpubench_records::record::Run;

/// The naming of a run's cases.
pub(super) struct Names {
    with_device: bool,
}

impl Names {
    pub(super) fn of(run: &Run) -> Self {
        Self { with_device: has_several_devices(run) }
    }

    /// The case's name without its cache state, such as `kernels::saxpy[n=65536] on cuda:1`.
    pub(super) fn benchmark(&self, case: &CaseId) -> String {
        format!("{}{}", case.name(), self.device(case))
    }

    /// The name that no other case of the run has, such as `kernels::saxpy[n=65536] cold on cuda:1`.
    pub(super) fn case(&self, case: &CaseId) -> String {
        format!("{case}{}", self.device(case))
    }

    fn device(&self, case: &CaseId) -> String {
        if self.with_device { format!(" on {}", case.device) } else { String::new() }
    }
}
