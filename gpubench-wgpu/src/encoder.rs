//! The encoder that launch functions take. The sampler submits its commands, with timestamps around each launch.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gpubench_records::{Failure, Stage};
use gpubench_runtime::device::DeviceError;
use wgpu::{Buffer, BufferUsages, CommandEncoder, ComputePass, ComputePassDescriptor};

use crate::timestamps::{Marks, Span};
use crate::{errors::DeviceErrors, kernel::buffer};

/// What a launch function takes: it encodes its work here, and submits nothing. Clones encode into the same commands.
///
/// `setup` has it too, for its device and queue.
#[derive(Clone)]
pub struct Encoder(Rc<Shared>);

struct Shared {
    device: wgpu::Device,
    queue: wgpu::Queue,
    errors: DeviceErrors,
    commands: RefCell<Option<CommandEncoder>>,
    marks: RefCell<Marks>,
    /// The passes and commands that were encoded.
    encoded: Cell<usize>,
}

impl Encoder {
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let errors = DeviceErrors::of(&device);
        let marks = RefCell::new(Marks::new(&device));
        let commands = RefCell::default();
        Self(Rc::new(Shared { device, queue, errors, commands, marks, encoded: Cell::new(0) }))
    }

    /// Returns the device, which makes buffers, pipelines and bind groups.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.0.device
    }

    /// Returns the queue, for the writes of `setup`. Work that a launch submits to it itself is not timed.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// Encodes a compute pass.
    pub fn pass(&self, encode: impl FnOnce(&mut ComputePass<'static>)) {
        self.count();
        let mut pass = self.with(|commands| {
            commands.begin_compute_pass(&ComputePassDescriptor::default()).forget_lifetime()
        });
        encode(&mut pass);
    }

    /// Encodes with wgpu's own encoder: copies, clears, passes of a library.
    pub fn commands<T>(&self, encode: impl FnOnce(&mut CommandEncoder) -> T) -> T {
        self.count();
        self.with(encode)
    }

    /// Waits for all that is encoded, and returns the bytes of `from`, which needs `COPY_SRC`. For checks.
    ///
    /// # Errors
    /// Returns wgpu's error.
    pub fn read(&self, from: &Buffer) -> Result<Vec<u8>, DeviceError> {
        let size = from.size();
        let mapped = buffer(self.device(), size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        self.with(|commands| commands.copy_buffer_to_buffer(from, 0, &mapped, 0, size));
        self.submit();
        self.map(&mapped)
    }

    /// Waits until the queue has done all that was encoded.
    ///
    /// # Errors
    /// Returns the first error since the last call, in wgpu's words.
    pub(crate) fn finish(&self) -> Result<(), DeviceError> {
        self.submit();
        let waited = self.device().poll(wgpu::PollType::wait_indefinitely());
        self.0.errors.take()?;
        waited.map(drop).map_err(DeviceError::new)
    }

    /// Marks the begin or the end of a launch.
    pub(crate) fn mark(&self) {
        self.with(|commands| self.0.marks.borrow_mut().write(commands));
    }

    /// Fails if nothing was encoded since [`Self::forget_encoded`].
    pub(crate) fn check_encoded(&self) -> Result<(), Failure> {
        if self.0.encoded.get() > 0 {
            return Ok(());
        }
        let message = "the launch encoded no work: it goes into the `Encoder`, and what is submitted to the queue is not timed";
        Err(Failure::new(Stage::Launch, message))
    }

    /// Forgets what was encoded, before a launch whose work is counted.
    pub(crate) fn forget_encoded(&self) {
        self.0.encoded.set(0);
    }

    /// Submits the commands, waits, and returns the readings of all marks since the last call, in the order of the launches.
    ///
    /// # Errors
    /// Returns the first error since the last call, in wgpu's words.
    pub(crate) fn read_marks(&self) -> Result<Vec<Span>, DeviceError> {
        let read = self.with(|commands| self.0.marks.borrow().resolve(commands));
        self.finish()?;
        let bytes = self.map(&read)?;
        self.0.marks.borrow_mut().take(&bytes, self.queue().get_timestamp_period())
    }

    /// Returns the first error of the device, if it has reported one.
    pub(crate) fn remark(&self) -> Option<String> {
        self.0.errors.remark()
    }

    /// Drops what was encoded and not submitted, with its marks.
    pub(crate) fn discard(&self) {
        drop(self.0.commands.take());
        self.0.marks.borrow_mut().clear();
    }

    fn submit(&self) {
        if let Some(commands) = self.0.commands.take() {
            self.queue().submit([commands.finish()]);
        }
    }

    fn count(&self) {
        self.0.encoded.set(self.0.encoded.get() + 1);
    }

    fn with<T>(&self, encode: impl FnOnce(&mut CommandEncoder) -> T) -> T {
        let taken = self.0.commands.take();
        let mut commands = taken.unwrap_or_else(|| {
            self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
        });
        let done = encode(&mut commands);
        self.0.commands.replace(Some(commands));
        done
    }

    fn map(&self, buffer: &Buffer) -> Result<Vec<u8>, DeviceError> {
        let (send, receive) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |mapped| _ = send.send(mapped));
        let waited = self.device().poll(wgpu::PollType::wait_indefinitely());
        self.0.errors.take()?;
        waited.map_err(DeviceError::new)?;
        receive.recv().map_err(DeviceError::new)?.map_err(DeviceError::new)?;
        let bytes = buffer.get_mapped_range(..).map_err(DeviceError::new)?.to_vec();
        buffer.unmap();
        Ok(bytes)
    }
}
