//! The CUDA context that this thread's driver calls go to. In: a GPU's primary context, and the user's code, which may
//! make another current; out: the GPU's own context current again, and the one that was found in its place.

use gpubench_driver::sys::{self, CUcontext, CUdevice};

use crate::device::DeviceError;
use crate::devices::cuda::driver::{CallError, check, check_for};

/// A context that should be current.
#[derive(Clone, Copy)]
pub(crate) struct Own(CUcontext);

impl Own {
    /// Retains the primary context of a device and makes it current.
    pub(crate) fn primary(device: CUdevice) -> Result<Self, DeviceError> {
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` is a place for a context, and the driver has listed the device.
        check_for("the primary context", unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, device) })?;
        // SAFETY: the context has just been retained.
        check_for("the primary context", unsafe { sys::cuCtxSetCurrent(context) })?;
        Ok(Self(context))
    }

    /// Returns the context.
    pub(crate) fn context(self) -> CUcontext {
        self.0
    }

    /// Makes the context current again. Returns the one that was current in its place, in words.
    pub(crate) fn restore(self) -> Result<Option<String>, CallError> {
        let found = current()?;
        if found == self.0 {
            return Ok(None);
        }
        let left = if found.is_null() { Ok("no context".to_owned()) } else { device_of_current() };
        // SAFETY: sets the current context of this thread to one that is never released.
        check(unsafe { sys::cuCtxSetCurrent(self.0) })?;
        left.map(Some)
    }
}

fn current() -> Result<CUcontext, CallError> {
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place for a context.
    check(unsafe { sys::cuCtxGetCurrent(&raw mut context) })?;
    Ok(context)
}

fn device_of_current() -> Result<String, CallError> {
    let mut device = 0;
    // SAFETY: `device` is a place for a device's number.
    check(unsafe { sys::cuCtxGetDevice(&raw mut device) })?;
    Ok(format!("a context of GPU {device}"))
}
