//! Memory of another GPU, which the current one reaches. `cust` has no peers, so the driver is called
//! directly.

use std::mem::ManuallyDrop;
use std::ptr;

use cust::memory::DeviceBuffer;
use cust::sys;

use super::UNWRITTEN;
use crate::cuda::inputs::Refusal;

/// The result of a call of the driver.
pub(super) fn accepted(call: &str, code: sys::CUresult) -> Result<(), Refusal> {
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(format!("{call}: {code:?}").into()),
    }
}

/// The number of GPUs; none without a driver.
pub(super) fn count() -> usize {
    let mut count = 0;
    // SAFETY: there are no flags yet, and `count` is a place for a number.
    let counted = unsafe {
        accepted("cuInit", sys::cuInit(0))
            .and_then(|()| accepted("cuDeviceGetCount", sys::cuDeviceGetCount(&raw mut count)))
    };
    counted.map_or(0, |()| usize::try_from(count).unwrap_or_default())
}

fn device(ordinal: usize) -> Result<sys::CUdevice, Refusal> {
    let mut device = 0;
    // SAFETY: `device` is a place for one.
    accepted("cuDeviceGet", unsafe { sys::cuDeviceGet(&raw mut device, ordinal as i32) })?;
    Ok(device)
}

pub(super) fn reaches(own: usize, peer: usize) -> bool {
    let mut reaches = 0;
    let asked = device(own).and_then(|own| {
        // SAFETY: `reaches` is a place for a number, and the driver has given both devices.
        accepted("cuDeviceCanAccessPeer", unsafe {
            sys::cuDeviceCanAccessPeer(&raw mut reaches, own, device(peer)?)
        })
    });
    asked.is_ok() && reaches == 1
}

/// Words in the memory of another GPU, which the current one reaches.
pub(super) struct PeerMemory {
    /// Freed while the other GPU's context is current.
    pub(super) words: ManuallyDrop<DeviceBuffer<u32>>,
    device: sys::CUdevice,
    context: sys::CUcontext,
}

impl PeerMemory {
    /// `n` words on GPU `ordinal`, all [`UNWRITTEN`].
    pub(super) fn of(ordinal: usize, n: usize) -> Result<Self, Refusal> {
        let (device, mut context) = (device(ordinal)?, ptr::null_mut());
        // SAFETY: `context` is a place for one, and the driver has given the device.
        accepted("cuDevicePrimaryCtxRetain", unsafe {
            sys::cuDevicePrimaryCtxRetain(&raw mut context, device)
        })?;
        let words = there(context, || {
            // SAFETY: it is filled at once, and every pattern of bits is a word.
            let words = unsafe { DeviceBuffer::<u32>::uninitialized(n)? };
            let address = words.as_device_ptr().as_raw();
            // SAFETY: the address is that of `n` words, and the wait ends the fill.
            unsafe {
                accepted("cuMemsetD32_v2", sys::cuMemsetD32_v2(address, UNWRITTEN, n))?;
                accepted("cuCtxSynchronize", sys::cuCtxSynchronize())?;
            }
            Ok(words)
        });
        // SAFETY: the context is the other GPU's, retained above. It may be reached already, which is no error here.
        let reached = match unsafe { sys::cuCtxEnablePeerAccess(context, 0) } {
            sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            other => accepted("cuCtxEnablePeerAccess", other),
        };
        match words {
            Ok(words) => {
                let memory = Self { words: ManuallyDrop::new(words), device, context };
                reached?;
                Ok(memory)
            }
            Err(error) => {
                // SAFETY: retained above.
                _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(device) };
                Err(format!("{n} words on GPU {ordinal}: {error}").into())
            }
        }
    }
}

impl Drop for PeerMemory {
    fn drop(&mut self) {
        _ = there(self.context, || {
            // SAFETY: nobody uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.words) };
            Ok(())
        });
        // SAFETY: retained by `of`.
        _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Does `work` while another context is current, and makes the one before current again.
fn there<T>(context: sys::CUcontext, work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    // SAFETY: the context is retained by the caller.
    accepted("cuCtxPushCurrent_v2", unsafe { sys::cuCtxPushCurrent_v2(context) })?;
    let done = work();
    let mut popped = ptr::null_mut();
    // SAFETY: `popped` is a place for the context that was pushed above.
    accepted("cuCtxPopCurrent_v2", unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) })?;
    done
}
