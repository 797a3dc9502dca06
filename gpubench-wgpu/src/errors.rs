//! Errors of a wgpu device, which its callbacks report from any thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpubench_core::CaseError;

/// The errors of a device, as its callbacks report them.
#[derive(Clone, Default)]
pub(crate) struct DeviceErrors(Arc<Mutex<ReportedErrors>>);

#[derive(Default)]
struct ReportedErrors {
    first: Option<String>,
    lost: Option<String>,
    /// True once somebody knows of the loss.
    loss_was_taken: bool,
}

impl DeviceErrors {
    /// Collects the errors of `device` from now on. Without a handler, wgpu panics.
    pub(crate) fn collect_from(device: &wgpu::Device) -> Self {
        let errors = Self::default();
        let reported = errors.clone();
        device.on_uncaptured_error(Arc::new(move |error| {
            // Later errors follow from the first: a buffer that was not made is then used.
            reported.lock().first.get_or_insert_with(|| error_line(&error));
        }));
        let reported = errors.clone();
        device.set_device_lost_callback(move |reason, message| {
            let message = match message.trim() {
                "" => String::new(),
                message => format!(": {message}"),
            };
            reported.lock().lost.get_or_insert_with(|| format!("the device is lost ({reason:?}){message}"));
        });
        errors
    }

    /// Returns the error since the last call, if there was one. A lost device stays lost.
    ///
    /// # Errors
    /// Returns the first error, in wgpu's own words.
    pub(crate) fn take(&self) -> Result<(), CaseError> {
        let mut reported = self.lock();
        let first = reported.first.take();
        reported.loss_was_taken |= reported.lost.is_some();
        let words = match (&reported.lost, first) {
            (Some(lost), _) => lost.clone(),
            (None, Some(first)) => first,
            (None, None) => return Ok(()),
        };
        Err(CaseError::new(words))
    }

    /// Returns an error that nobody has taken, for a failure of the user's own code.
    pub(crate) fn untaken_error(&self) -> Option<String> {
        let reported = self.lock();
        reported.lost.clone().filter(|_| !reported.loss_was_taken).or_else(|| reported.first.clone())
    }

    fn lock(&self) -> MutexGuard<'_, ReportedErrors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an error in wgpu's words, on one line.
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
