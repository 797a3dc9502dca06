//! Checked driver calls, and the driver objects that a measurement uses: the current context, events, and
//! memory. An error names the call, the name and text of the driver for its code, and the source location of
//! the call or its purpose.

use std::panic::Location;

use gpubench_driver::Call;
use gpubench_driver::sys::{
    self, CUDA_SUCCESS, CUcontext, CUdevice, CUdeviceptr, CUevent, CUpointer_attribute, CUresult, CUstream,
};

use crate::device::DeviceError;
use gpubench_records::{Failure, Stage};
use gpubench_stats::Nanoseconds;

/// The error of a driver call, with its source location.
#[derive(Debug, thiserror::Error)]
#[error("{cause}, at {}:{}", location.file(), location.line())]
pub(crate) struct CallError {
    /// The call and its result.
    pub cause: Call,
    /// The source location of the call.
    location: &'static Location<'static>,
}

/// Returns the last failed driver call that `gpubench_driver` recorded in this thread, and makes it forget
/// the call. If it recorded none, returns an unnamed call with the result `code`.
fn failed_call(code: CUresult) -> Call {
    gpubench_driver::take_failure().unwrap_or(Call {
        symbol: "a driver call",
        code,
        note: None,
        detail: None,
    })
}

/// Returns an error with the source location of the caller if `result` is not success.
#[track_caller]
pub(crate) fn check(result: CUresult) -> Result<(), CallError> {
    if result == CUDA_SUCCESS {
        return Ok(());
    }
    Err(CallError { cause: failed_call(result), location: Location::caller() })
}

/// Waits until all work of the current context is done.
#[track_caller]
pub(crate) fn wait_for_context() -> Result<(), CallError> {
    // SAFETY: takes nothing.
    check(unsafe { sys::cuCtxSynchronize() })
}

/// Returns an error that begins with `purpose` if `result` is not success. `purpose` names the object that
/// the call creates or reads.
pub(crate) fn check_for(purpose: &str, result: CUresult) -> Result<(), DeviceError> {
    if result == CUDA_SUCCESS {
        return Ok(());
    }
    Err(DeviceError::new(format!("{purpose}: {}", failed_call(result))))
}

impl From<CallError> for DeviceError {
    fn from(error: CallError) -> Self {
        Self::new(error)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::new(Stage::Sampling, error)
    }
}

/// Returns an attribute of an address, or `None` if the driver does not know the address. `gpubench_driver`
/// then forgets the failed call.
///
/// # Safety
/// The attribute has the type `T`.
pub(crate) unsafe fn pointer_attribute<T: Default>(
    attribute: CUpointer_attribute,
    address: u64,
) -> Option<T> {
    let mut value = T::default();
    // SAFETY: `value` is valid for writing the attribute; the driver looks the address up and does not follow
    // it.
    let result = unsafe { sys::cuPointerGetAttribute((&raw mut value).cast(), attribute, address) };
    if result != CUDA_SUCCESS {
        _ = gpubench_driver::take_failure();
    }
    (result == CUDA_SUCCESS).then_some(value)
}

/// The primary context of a GPU, which must be current for the calls of gpubench.
#[derive(Clone, Copy)]
pub(crate) struct PrimaryContext(pub(crate) CUcontext);

impl PrimaryContext {
    /// Retains the primary context of `device`, and makes it current for the calling thread. The context is
    /// never released.
    pub(crate) fn retain(device: CUdevice) -> Result<Self, DeviceError> {
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` is valid for writing a context, and the driver has listed the device.
        check_for("the primary context", unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, device) })?;
        // SAFETY: the context has just been retained.
        check_for("the primary context", unsafe { sys::cuCtxSetCurrent(context) })?;
        Ok(Self(context))
    }

    /// Makes the context current again. Returns a phrase that describes the context that was current instead,
    /// such as `no context`; `None` if this context was current.
    pub(crate) fn restore(self) -> Result<Option<String>, CallError> {
        let mut found = std::ptr::null_mut();
        // SAFETY: `found` is valid for writing a context.
        check(unsafe { sys::cuCtxGetCurrent(&raw mut found) })?;
        if found == self.0 {
            return Ok(None);
        }
        let left = match found.is_null() {
            true => Ok("no context".to_owned()),
            false => current_device().map(|device| format!("a context of GPU {device}")),
        };
        // SAFETY: sets the current context of this thread to one that is never released.
        check(unsafe { sys::cuCtxSetCurrent(self.0) })?;
        left.map(Some)
    }
}

/// Returns the device of the current context.
pub(crate) fn current_device() -> Result<CUdevice, CallError> {
    let mut device = 0;
    // SAFETY: `device` is valid for writing a device's number.
    check(unsafe { sys::cuCtxGetDevice(&raw mut device) })?;
    Ok(device)
}

/// An event that stores the time at which its stream reached it.
pub(crate) struct Event(CUevent);

impl Event {
    /// Creates an event that stores times.
    pub(crate) fn new() -> Result<Self, CallError> {
        let mut event = std::ptr::null_mut();
        // SAFETY: `event` is valid for writing a handle.
        check(unsafe { sys::cuEventCreate(&raw mut event, sys::CU_EVENT_DEFAULT) })?;
        Ok(Self(event))
    }

    /// Enqueues the event on `stream`.
    pub(crate) fn record(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the event lives, and the stream is the case's or the device's own.
        check(unsafe { sys::cuEventRecord(self.0, stream) })
    }

    /// Adds a graph node that records the event on every replay. `stream` must be under capture.
    pub(crate) fn record_as_node(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: as in `record`; the graph that this becomes part of is dropped before its events.
        check(unsafe { sys::cuEventRecordWithFlags(self.0, stream, sys::CU_EVENT_RECORD_EXTERNAL) })
    }

    /// Blocks the host until the device has passed the event.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the event lives.
        check(unsafe { sys::cuEventSynchronize(self.0) })
    }

    /// Returns the time from this event to `later`, which the device must have passed. The driver counts
    /// whole nanoseconds and returns them as milliseconds in an `f32`.
    pub(crate) fn until(&self, later: &Self) -> Result<Nanoseconds, CallError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both events live, and `milliseconds` is valid for writing a float.
        check(unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, self.0, later.0) })?;
        Ok(Nanoseconds((f64::from(milliseconds) * 1e6).round()))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle. After a sticky error this fails, and there is nothing left to
        // free.
        _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The two events around a launch or a group.
pub(crate) struct EventPair {
    pub start: Event,
    pub stop: Event,
}

impl EventPair {
    /// Creates both events.
    pub(crate) fn new() -> Result<Self, CallError> {
        Ok(Self { start: Event::new()?, stop: Event::new()? })
    }

    /// Returns the time between the two events, which the device must have passed.
    pub(crate) fn read(&self) -> Result<Nanoseconds, CallError> {
        self.start.until(&self.stop)
    }
}

/// A buffer in device memory, freed when it is dropped.
pub(crate) struct DeviceMemory {
    address: CUdeviceptr,
    bytes: usize,
}

impl DeviceMemory {
    /// Allocates `bytes` uninitialized bytes. `purpose` begins an error message.
    pub(crate) fn new(purpose: &str, bytes: usize) -> Result<Self, DeviceError> {
        let mut address = 0;
        // SAFETY: `address` is valid for writing an address.
        check_for(purpose, unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) })?;
        Ok(Self { address, bytes })
    }

    /// Allocates `words` 32-bit words, and sets each of them to `word`. `purpose` begins an error message.
    pub(crate) fn filled(purpose: &str, words: usize, word: u32) -> Result<Self, DeviceError> {
        let memory = Self::new(purpose, 4 * words)?;
        // SAFETY: the buffer has as many words.
        check_for(purpose, unsafe { sys::cuMemsetD32_v2(memory.address, word, words) })?;
        Ok(memory)
    }

    /// Returns the device address of the buffer.
    pub(crate) fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Fills `words` with the 32-bit words of the buffer from word `first` on. Waits for the copy. `purpose`
    /// begins an error message.
    pub(crate) fn read(&self, purpose: &str, first: usize, words: &mut [u32]) -> Result<(), DeviceError> {
        assert!(4 * first + size_of_val(words) <= self.bytes, "the words lie in the buffer");
        let (from, bytes) = (self.address + 4 * first as u64, size_of_val(words));
        // SAFETY: source and destination have this many bytes.
        check_for(purpose, unsafe { sys::cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), from, bytes) })
    }

    /// Returns the number of 32-bit words of the buffer.
    pub(crate) fn words(&self) -> usize {
        self.bytes / 4
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: nothing else has the address. After a sticky error this fails, and there is nothing left to
        // free.
        _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}
