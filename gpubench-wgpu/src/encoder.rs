//! The encoder that launch functions take. The sampler submits its commands, with timestamps around each
//! launch.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gpubench_core::{CaseError, LaunchStream, StreamSource};
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandBuffer, CommandEncoder, ComputePass,
    ComputePassDescriptor, Device,
};

use crate::errors::DeviceErrors;

/// The encoder that a launch function takes. The launch function encodes its work with it and submits
/// nothing. Clones encode into the same commands.
///
/// `setup` gets the encoder too, for its device and queue.
#[derive(Clone)]
pub struct Encoder(Rc<Shared>);

/// The state that all clones of an [`Encoder`] share.
struct Shared {
    device: Device,
    queue: wgpu::Queue,
    errors: DeviceErrors,
    commands: RefCell<Option<CommandEncoder>>,
    /// The number of passes and commands that launch functions encoded since the last call of
    /// [`Encoder::take_encoded`].
    encoded: Cell<usize>,
}

impl Encoder {
    /// Creates an encoder, and collects the errors of the device from now on.
    pub(crate) fn new(device: Device, queue: wgpu::Queue) -> Self {
        let errors = DeviceErrors::collect_from(&device);
        let commands = RefCell::default();
        Self(Rc::new(Shared { device, queue, errors, commands, encoded: Cell::new(0) }))
    }

    /// Returns the device, which creates buffers, pipelines and bind groups.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Returns the queue, for the writes of `setup`. Work that a launch function submits to the queue itself
    /// is not timed.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.0.queue
    }

    /// Encodes a compute pass: calls `encode` with the new pass.
    pub fn pass(&self, encode: impl FnOnce(&mut ComputePass<'static>)) {
        self.count_encoded();
        let mut pass = self.encode(|commands| {
            commands.begin_compute_pass(&ComputePassDescriptor::default()).forget_lifetime()
        });
        encode(&mut pass);
    }

    /// Calls `encode` with wgpu's own command encoder, for copies, clears and passes of a library. Returns
    /// its result.
    pub fn commands<T>(&self, encode: impl FnOnce(&mut CommandEncoder) -> T) -> T {
        self.count_encoded();
        self.encode(encode)
    }

    /// Submits all encoded work, waits for it, and returns the bytes of the buffer `from`, which needs the
    /// usage `COPY_SRC`. For checks.
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

    /// Submits all encoded work, and waits until the queue has done it.
    ///
    /// # Errors
    /// Returns the first error since the last call, in wgpu's words.
    pub(crate) fn finish(&self) -> Result<(), CaseError> {
        self.submit();
        self.wait()
    }

    /// Returns the number of passes and commands that were encoded since the last call of this function.
    pub(crate) fn take_encoded(&self) -> usize {
        self.0.encoded.take()
    }

    /// Returns an error of the device that [`Self::wait`] has not returned yet, in wgpu's words; `None` if
    /// there is none.
    pub(crate) fn untaken_error(&self) -> Option<String> {
        self.0.errors.untaken_error()
    }

    /// Drops the encoded work that was not submitted.
    pub(crate) fn discard(&self) {
        drop(self.0.commands.take());
    }

    /// Returns the encoded work as a finished command buffer. The encoder is empty then.
    pub(crate) fn take_commands(&self) -> CommandBuffer {
        self.encode(|_| ());
        let commands = self.0.commands.take().expect("commands are encoded");
        commands.finish()
    }

    /// Submits the encoded work to the queue; does nothing if there is none.
    pub(crate) fn submit(&self) {
        if let Some(commands) = self.0.commands.take() {
            self.queue().submit([commands.finish()]);
        }
    }

    /// Waits until the queue has done all submitted work.
    ///
    /// # Errors
    /// Returns the first error since the last call, in wgpu's words.
    pub(crate) fn wait(&self) -> Result<(), CaseError> {
        let waited = self.device().poll(wgpu::PollType::wait_indefinitely());
        self.0.errors.take()?;
        waited.map(drop).map_err(CaseError::new)
    }

    /// Counts a pass or command of a launch function.
    fn count_encoded(&self) {
        self.0.encoded.set(self.0.encoded.get() + 1);
    }

    /// Calls `encode` with the current command encoder, or a new one, without counting it as work of a launch
    /// function. Returns its result.
    pub(crate) fn encode<T>(&self, encode: impl FnOnce(&mut CommandEncoder) -> T) -> T {
        let taken = self.0.commands.take();
        let mut commands = taken.unwrap_or_else(|| {
            self.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
        });
        let done = encode(&mut commands);
        self.0.commands.replace(Some(commands));
        done
    }

    /// Waits until the queue has done all submitted work, and returns the bytes of `buffer`, which needs the
    /// usage `MAP_READ`.
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

/// Creates a buffer of `size` bytes without a label.
pub(crate) fn buffer(device: &Device, size: u64, usage: BufferUsages) -> Buffer {
    device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}
