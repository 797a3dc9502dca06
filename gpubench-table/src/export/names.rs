//! The full names of cases: with the cache state, and with the device if a run has several. In: a run and its cases; out:
//! text.

use crate::has_several_devices;
use gpubench_records::record::{Record, Run};

/// The naming of a run's cases.
pub struct Names {
    with_device: bool,
}

impl Names {
    /// Names the cases of `run`.
    pub fn of(run: &Run) -> Self {
        Self { with_device: has_several_devices(run) }
    }

    /// The case's name without its cache state, such as `kernels::saxpy[n=65536] on cuda:1`.
    pub fn benchmark(&self, record: &Record) -> String {
        format!("{}{}", record.case.name(), self.device(record))
    }

    /// The name that no other case of the run has, such as `kernels::saxpy[n=65536] cold on cuda:1`.
    pub fn case(&self, record: &Record) -> String {
        format!("{}{}", record.case, self.device(record))
    }

    fn device(&self, record: &Record) -> String {
        if self.with_device { format!(" on {}", record.device) } else { String::new() }
    }
}
