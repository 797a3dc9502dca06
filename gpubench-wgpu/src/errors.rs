//! Errors of a wgpu device, which its callbacks report from any thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpubench_core::CaseError;

/// The errors that callbacks of a wgpu device report, from any thread. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct DeviceErrors(Arc<Mutex<ReportedErrors>>);

/// The first error since the last [`DeviceErrors::take`], and the reason that the device is lost.
#[derive(Default)]
struct ReportedErrors {
    first: Option<String>,
    lost: Option<String>,
}

impl ReportedErrors {
    /// Returns the error that counts.
    fn current(&self) -> Option<String> {
        self.lost.clone().or_else(|| self.first.clone())
    }
}

impl DeviceErrors {
    /// Installs callbacks that collect the errors of `device` from now on. Without them, wgpu panics at an
    /// error.
    pub(crate) fn collect_from(device: &wgpu::Device) -> Self {
        let errors = Self::default();
        let reported = errors.clone();
        device.on_uncaptured_error(Arc::new(move |error| {
            // Later errors follow from the first: a buffer that was not made is then used.
            reported.lock().first.get_or_insert_with(|| error_line(&error));
        }));
        let reported = errors.clone();
        device.set_device_lost_callback(move |reason, message| {
            let words = format!("the device is lost ({reason:?}) {message}");
            reported.lock().lost.get_or_insert_with(|| words.trim_end().to_owned());
        });
        errors
    }

    /// Returns and forgets the first error since the last call, if there was one. If the device is lost, each
    /// call returns that error.
    ///
    /// # Errors
    /// Returns the first error, in wgpu's own words.
    pub(crate) fn take(&self) -> Result<(), CaseError> {
        let mut reported = self.lock();
        let current = reported.current();
        reported.first = None;
        current.map_or(Ok(()), |error| Err(CaseError::new(error)))
    }

    /// Returns the error that [`Self::take`] would return next, without forgetting it; `None` if there is
    /// none. For remarks on a failure of the user's own code.
    pub(crate) fn untaken_error(&self) -> Option<String> {
        self.lock().current()
    }

    /// Locks the errors reported so far.
    fn lock(&self) -> MutexGuard<'_, ReportedErrors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an error in wgpu's words on one line, such as `wgpu: out of memory: …`.
fn error_line(error: &wgpu::Error) -> String {
    let kind = match error {
        wgpu::Error::OutOfMemory { .. } => "out of memory",
        wgpu::Error::Validation { .. } => "validation error",
        wgpu::Error::Internal { .. } => "internal error",
    };
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    format!("wgpu: {kind}: {}", lines.join(" "))
}
