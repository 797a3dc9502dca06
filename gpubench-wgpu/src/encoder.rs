//! What launch functions take and use: the encoder, whose commands the sampler submits with timestamps around each
//! launch, and compute shaders to encode.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpubench_core::{CaseError, LaunchStream, StreamSource};
use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, CommandBuffer,
    CommandEncoder, ComputePass, ComputePassDescriptor, ComputePipeline, ComputePipelineDescriptor, Device,
    PipelineCompilationOptions, ShaderModuleDescriptor, ShaderSource,
};

/// The encoder that a launch function takes. The launch function encodes its work with it and submits
/// nothing. Clones encode into the same commands.
///
/// `setup` gets the encoder too, for its device and queue.
#[derive(Clone)]
pub struct Encoder(Rc<EncoderState>);

/// The state that all clones of an [`Encoder`] share.
struct EncoderState {
    device: Device,
    queue: wgpu::Queue,
    errors: DeviceErrors,
    /// The commands that were encoded and not submitted yet; `None` if there are none.
    commands: RefCell<Option<CommandEncoder>>,
    /// The number of calls of [`Encoder::pass`] and [`Encoder::commands`] since the last call of
    /// [`Encoder::take_encoded`].
    encoded: Cell<usize>,
}

impl Encoder {
    /// Creates an encoder, and collects the errors of the device from now on.
    pub(crate) fn new(device: Device, queue: wgpu::Queue) -> Self {
        let errors = DeviceErrors::collect_from(&device);
        let commands = RefCell::default();
        Self(Rc::new(EncoderState { device, queue, errors, commands, encoded: Cell::new(0) }))
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
    /// Returns the loss of the device, or else the first error since the last call of [`Self::wait`].
    pub(crate) fn finish(&self) -> Result<(), CaseError> {
        self.submit();
        self.wait()
    }

    /// Returns the number of calls of [`Self::pass`] and [`Self::commands`] since the last call of this
    /// function.
    pub(crate) fn take_encoded(&self) -> usize {
        self.0.encoded.take()
    }

    /// Returns the loss of the device, or else the first error that [`Self::wait`] has not returned yet, in
    /// wgpu's words. Returns `None` if there is neither. Does not forget the error.
    pub(crate) fn untaken_error(&self) -> Option<String> {
        self.0.errors.lock().current()
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
    /// Returns the loss of the device, or else the first error since the last call, in wgpu's words.
    pub(crate) fn wait(&self) -> Result<(), CaseError> {
        let waited = self.device().poll(wgpu::PollType::wait_indefinitely());
        self.0.errors.take()?;
        waited.map(drop).map_err(CaseError::new)
    }

    /// Counts a call of [`Self::pass`] or [`Self::commands`].
    fn count_encoded(&self) {
        self.0.encoded.set(self.0.encoded.get() + 1);
    }

    /// Calls `encode` with the current command encoder, or a new one, without counting the call. Returns its
    /// result.
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

/// The maximum number of workgroups in x; a launch with more of them uses several rows in y.
const MAX_WORKGROUPS_IN_X: u32 = 32_768;

/// A compute shader with the buffers of its `@group(0)`.
#[derive(Clone)]
pub struct Kernel {
    pipeline: ComputePipeline,
    /// The bind group; `None` for a shader without bindings.
    buffers: Option<BindGroup>,
}

impl Kernel {
    /// Compiles a shader: `shader` is its WGSL source and the name of the entry point, and `constants` are
    /// the values of its `override`s. `buffers` are bound at 0, 1 and so on.
    #[must_use]
    pub fn new(
        encoder: &Encoder,
        shader: (&str, &str),
        constants: &[(&str, f64)],
        buffers: &[&Buffer],
    ) -> Self {
        let bindings: Vec<(u32, &Buffer)> = (0..).zip(buffers.iter().copied()).collect();
        Self::with_bindings(encoder, shader, constants, &bindings)
    }

    /// Compiles a shader as [`Self::new`] does, with each buffer at the given binding. `buffers` must be
    /// those that the entry point uses, and no others.
    #[must_use]
    pub fn with_bindings(
        encoder: &Encoder,
        (wgsl, entry): (&str, &str),
        constants: &[(&str, f64)],
        buffers: &[(u32, &Buffer)],
    ) -> Self {
        let device = encoder.device();
        let source = ShaderSource::Wgsl(wgsl.into());
        let module = device.create_shader_module(ShaderModuleDescriptor { label: None, source });
        let compilation_options =
            PipelineCompilationOptions { constants, ..PipelineCompilationOptions::default() };
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options,
            cache: None,
        });
        let entries: Vec<_> = buffers
            .iter()
            .map(|(binding, buffer)| BindGroupEntry {
                binding: *binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let bind = || {
            let layout = &pipeline.get_bind_group_layout(0);
            device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries })
        };
        let buffers = (!entries.is_empty()).then(bind);
        Self { pipeline, buffers }
    }

    /// Encodes a pass that launches at least `workgroups` workgroups, in a grid of x × y: x is at most 32768,
    /// and y is as many rows as needed. If `workgroups` is above 32768, the last row may have more workgroups
    /// than requested.
    ///
    /// The shader computes its workgroup's number as `workgroup_id.y * num_workgroups.x + workgroup_id.x`,
    /// and must skip numbers from `workgroups` on.
    pub fn launch(&self, encoder: &Encoder, workgroups: u64) {
        self.launch_many(encoder, workgroups, 1);
    }

    /// Encodes a pass with `launches` launches of at least `workgroups` workgroups each, with the grid of
    /// [`Self::launch`].
    pub(crate) fn launch_many(&self, encoder: &Encoder, workgroups: u64, launches: usize) {
        let x = workgroups.min(u64::from(MAX_WORKGROUPS_IN_X));
        let y = workgroups.div_ceil(x.max(1));
        encoder.pass(|pass| {
            pass.set_pipeline(&self.pipeline);
            if let Some(buffers) = &self.buffers {
                pass.set_bind_group(0, buffers, &[]);
            }
            for _ in 0..launches {
                pass.dispatch_workgroups(x as u32, u32::try_from(y).unwrap_or(u32::MAX), 1);
            }
        });
    }
}

/// The errors that callbacks of a wgpu device report, from any thread. Clones share them.
#[derive(Clone, Default)]
struct DeviceErrors(Arc<Mutex<ReportedErrors>>);

/// The first error since the last [`DeviceErrors::take`], and the reason that the device is lost.
#[derive(Default)]
struct ReportedErrors {
    first: Option<String>,
    lost: Option<String>,
}

impl ReportedErrors {
    /// Returns the loss of the device, or else the first error; `None` if there is neither.
    fn current(&self) -> Option<String> {
        self.lost.clone().or_else(|| self.first.clone())
    }
}

impl DeviceErrors {
    /// Installs callbacks that collect the errors of `device` from now on. Without them, wgpu panics at an
    /// error.
    fn collect_from(device: &Device) -> Self {
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

    /// Checks for errors, and forgets the first error but not a loss of the device.
    ///
    /// # Errors
    /// Returns the loss of the device on each call, or else the first error since the last call, in wgpu's
    /// words.
    pub(crate) fn take(&self) -> Result<(), CaseError> {
        let mut reported = self.lock();
        let current = reported.current();
        reported.first = None;
        current.map_or(Ok(()), |error| Err(CaseError::new(error)))
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
