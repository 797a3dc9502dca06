//! Launches a case for Nsight Compute, which `cargo gpubench verify` starts.

use gpubench_driver::sys;

use super::driver::{check, wait_for_context};
use super::{Cuda, guarded::Guarded};
use crate::device::Work;
use gpubench_records::Failure;

/// The threads per block of the empty kernel that identifies the case.
const MARKER_THREADS: u32 = 32;

/// Launches `work` `launches` times while the profiler switch of the driver is on, so that Nsight Compute
/// counts what runs. An empty kernel with `number` + 1 blocks precedes each launch and identifies the case.
pub(crate) fn profile(
    device: &Cuda,
    work: &mut dyn Work,
    number: usize,
    launches: usize,
) -> Result<(), Failure> {
    let mut work = Guarded::new(work, device.context);
    let blocks = u32::try_from(number + 1).unwrap_or(u32::MAX);
    for _ in 0..launches {
        if work.resets() {
            work.reset()?;
        }
        wait_for_context()?;
        // SAFETY: takes nothing.
        check(unsafe { sys::cuProfilerStart() })?;
        device.kernels.empty.bare.launch((blocks, MARKER_THREADS), device.stream)?;
        let launched = work.launch();
        let done = wait_for_context();
        // SAFETY: takes nothing.
        check(unsafe { sys::cuProfilerStop() })?;
        launched?;
        done?;
    }
    Ok(())
}
