//! Launches for Nsight Compute, which counts what runs while the driver's switch for profilers is on. In: a launch and its number; out:
//! launches, each behind an empty kernel with as many blocks as tell the number.

use gpubench_driver::sys;

use crate::device::Work;
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::{CallError, check};
use crate::devices::cuda::guarded::Guarded;
use gpubench_records::failure::Failure;

/// The threads of a mark.
const THREADS: u32 = 32;

/// Launches `work` so many times.
pub(crate) fn profile(
    device: &Cuda,
    work: &mut dyn Work,
    number: usize,
    launches: usize,
) -> Result<(), Failure> {
    let mut work = Guarded::new(work, device.own);
    let blocks = u32::try_from(number + 1).unwrap_or(u32::MAX);
    for _ in 0..launches {
        if work.resets() {
            work.reset()?;
        }
        wait()?;
        // SAFETY: takes nothing.
        check(unsafe { sys::cuProfilerStart() })?;
        device.kernels.empty.bare().launch((blocks, THREADS), device.stream)?;
        let launched = work.launch();
        let done = wait();
        // SAFETY: takes nothing.
        check(unsafe { sys::cuProfilerStop() })?;
        launched?;
        done?;
    }
    Ok(())
}

fn wait() -> Result<(), CallError> {
    // SAFETY: waits for the current context, which is the device's.
    check(unsafe { sys::cuCtxSynchronize() })
}
