//! The encoder that launch functions take. The sampler submits its commands, with timestamps around each launch.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gpubench_core::{CaseError, LaunchStream, StreamSource};
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandBuffer, CommandEncoder, ComputePass,
    ComputePassDescriptor, Device,
};

use crate::errors::DeviceErrors;

/// What a launch function takes: it encodes its work here, and submits nothing. Clones encode into the same commands.
///
/// `setup` has it too, for its device and queue.
#[derive(Clone)]
pub struct Encoder(Rc<Shared>);

struct Shared {
    device: Device,
    queue: wgpu::Queue,
    errors: DeviceErrors,
    commands: RefCell<Option<CommandEncoder>>,
    /// The passes and commands that were encoded.
    encoded: Cell<usize>,
}

impl Encoder {
    pub(crate) fn new(device: Device, queue: wgpu::Queue) -> Self {
        let errors = DeviceErrors::collect_from(&device);
        let commands = RefCell::default();
        Self(Rc::new(Shared { device, queue, errors, commands, encoded: Cell::new(0) }))
    }

    /// Returns the device, which makes buffers, pipelines and bind groups.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns the queue, for the writes of `setup`. Work that a launch submits to it itself is not timed.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// Encodes a compute pass.
    pub fn pass(&self, encode: impl FnOnce(&mut ComputePass<'static>)) {
        self.count_encoded();
        let mut pass = self.encode(|commands| {
            commands.begin_compute_pass(&ComputePassDescriptor::default()).forget_lifetime()
        });
        encode(&mut pass);
    }

    /// Encodes with wgpu's own encoder: copies, clears, passes of a library.
    pub fn commands<T>(&self, encode: impl FnOnce(&mut CommandEncoder) -> T) -> T {
        self.count_encoded();
        self.encode(encode)
    }

    /// Waits for all that is encoded, and returns the bytes of `from`, which needs `COPY_SRC`. For checks.
    ///
    /// # Errors
    /// Returns wgpu's error.
    pub fn read(&self, from: &Buffer) -> Result<Vec<u8>, CaseError> {
        let size = from.size();
        let mapped = buffer(self.device(), size, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        self.encode(|commands| commands.copy_buffer_to_buffer(from, 0, &mapped, 0, size));
        self.submit();
        self.read_mapped(&mapped)
    }

    /// Waits until the queue has done all that was encoded.
    ///
    /// # Errors
    /// Returns the first error since the last call, in wgpu's words.
    pub(crate) fn finish(&self) -> Result<(), CaseError> {
        self.submit();
        self.wait()
    }

    /// Returns the number of passes and commands that were encoded since the last call.
    pub(crate) fn take_encoded(&self) -> usize {
        self.0.encoded.take()
    }

    /// Returns the first error of the device, if it has reported one.
    pub(crate) fn untaken_error(&self) -> Option<String> {
        self.0.errors.untaken_error()
    }

    /// Drops what was encoded and not submitted.
    pub(crate) fn discard(&self) {
        drop(self.0.commands.take());
    }

    /// Ends what was encoded, and returns it.
    pub(crate) fn take_commands(&self) -> CommandBuffer {
        self.encode(|_| ());
        let commands = self.0.commands.take().expect("commands are encoded");
        commands.finish()
    }

    /// Submits what was encoded, if anything was.
    pub(crate) fn submit(&self) {
        if let Some(commands) = self.0.commands.take() {
            self.queue().submit([commands.finish()]);
        }
    }

    /// Waits until the queue has done its work.
    ///
    /// # Errors
    /// Returns the first error since the last call, in wgpu's words.
    pub(crate) fn wait(&self) -> Result<(), CaseError> {
        let waited = self.device().poll(wgpu::PollType::wait_indefinitely());
        self.0.errors.take()?;
        waited.map(drop).map_err(CaseError::new)
    }

    fn count_encoded(&self) {
        self.0.encoded.set(self.0.encoded.get() + 1);
    }

    /// Encodes work that is not a launch's.
    pub(crate) fn encode<T>(&self, encode: impl FnOnce(&mut CommandEncoder) -> T) -> T {
        let taken = self.0.commands.take();
        let mut commands = taken.unwrap_or_else(|| {
            self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
        });
        let done = encode(&mut commands);
        self.0.commands.replace(Some(commands));
        done
    }

    /// Waits until the queue has done its work, and returns the bytes of a buffer.
    pub(crate) fn read_mapped(&self, buffer: &Buffer) -> Result<Vec<u8>, CaseError> {
        let (send, receive) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |mapped| _ = send.send(mapped));
        self.wait()?;
        receive.recv().map_err(CaseError::new)?.map_err(CaseError::new)?;
        let bytes = buffer.get_mapped_range(..).map_err(CaseError::new)?.to_vec();
        buffer.unmap();
        Ok(bytes)
    }
}

impl StreamSource for Encoder {
    const KIND: &'static str = "wgpu";
}

impl LaunchStream for Encoder {
    type Source = Self;
    type Owned = Self;

    fn open(source: &mut Self) -> Result<Self, CaseError> {
        Ok(source.clone())
    }
}

/// Makes a buffer without a label.
pub(crate) fn buffer(device: &Device, size: u64, usage: BufferUsages) -> Buffer {
    device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}
