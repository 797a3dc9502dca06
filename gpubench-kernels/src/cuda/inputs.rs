//! Inputs on the device. A kernel fills them with the numbers of [`crate::inputs`], so that nothing large is
//! copied.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use cust::error::CudaResult;
use cust::launch;
use cust::memory::bytemuck::Pod;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::module::Module;
use cust::stream::Stream;
use cust::sys;

use super::geometry::Grid;

/// The bytes of a line of the caches.
pub(super) const LINE: usize = 128;

const PTX: &str = include_str!("../../ptx/inputs.ptx");

/// The reason that inputs could not be made.
pub type Refusal = Box<dyn Error + Send + Sync>;

/// A type of elements. The value with all bits set is one that no kernel here writes.
pub trait Element: DeviceCopy + Pod + Display + PartialEq + Send + Sync {}

impl<T: DeviceCopy + Pod + Display + PartialEq + Send + Sync> Element for T {}

/// A type of random elements.
pub trait Random: Element {
    /// The entry of the kernel that fills an array of this type with them.
    const KERNEL: &'static str;
}

impl Random for f32 {
    const KERNEL: &'static str = "random_f32";
}

impl Random for f64 {
    const KERNEL: &'static str = "random_f64";
}

impl Random for u32 {
    const KERNEL: &'static str = "random_u32";
}

/// The bits of a bf16.
impl Random for u16 {
    const KERNEL: &'static str = "random_bf16";
}

/// Makes inputs on a stream's device.
pub struct Inputs<'a> {
    module: &'static Module,
    stream: &'a Stream,
}

impl<'a> Inputs<'a> {
    /// Loads the kernels that make them, if they are not.
    ///
    /// # Errors
    /// The driver refuses them.
    pub fn on(stream: &'a Stream) -> CudaResult<Self> {
        Ok(Self { module: kernels()?, stream })
    }

    /// The first `n` elements of the input `seed`.
    ///
    /// # Errors
    /// There is no memory for them, or the launch fails.
    pub fn random<T: Random>(&self, seed: u64, n: usize) -> Result<DeviceBuffer<T>, Refusal> {
        let buffer = allocate(n)?;
        let kernel = self.module.get_function(T::KERNEL)?;
        let (grid, stream) = (Grid::elementwise(size_of::<T>() * n), self.stream);
        // SAFETY: the kernel takes an array of `T` and two u64, and writes the n elements that the array has.
        unsafe {
            launch!(kernel<<<grid.blocks, grid.threads, 0, stream>>>(buffer.as_device_ptr(), n as u64, seed))?;
        }
        // The module may be unloaded as soon as this returns.
        stream.synchronize()?;
        Ok(buffer)
    }

    /// A cycle through this number of lines, a power of two: the first word of each is the index of the first word of the
    /// next.
    pub(super) fn cycle(&self, lines: usize) -> Result<DeviceBuffer<u64>, Refusal> {
        if !lines.is_power_of_two() {
            return Err(format!(
                "{lines} lines of {LINE} bytes are no power of two, which the table's size must be"
            )
            .into());
        }
        let buffer = allocate::<u64>(lines * LINE / size_of::<u64>())?;
        let kernel = self.module.get_function("cycle")?;
        let (grid, stream) = (Grid::covering(lines, 256), self.stream);
        // SAFETY: the kernel takes an array and a u64, and writes the first word of each line that the array has. What else
        // is in them nobody reads.
        unsafe {
            launch!(kernel<<<grid.blocks, grid.threads, 0, stream>>>(buffer.as_device_ptr(), lines as u64))?;
        }
        stream.synchronize()?;
        Ok(buffer)
    }

    /// `n` times `value`.
    pub(super) fn all(&self, value: f32, n: usize) -> Result<DeviceBuffer<f32>, Refusal> {
        let mut buffer: DeviceBuffer<f32> = allocate(n)?;
        // SAFETY: as for `unwritten`.
        unsafe { buffer.set_32_async(value.to_bits(), self.stream)? };
        self.stream.synchronize()?;
        Ok(buffer)
    }

    /// `n` elements to be overwritten. They are not zero, so that a check sees those that were not.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn unwritten<T: Element>(&self, n: usize) -> Result<DeviceBuffer<T>, Refusal> {
        let mut buffer: DeviceBuffer<T> = allocate(n)?;
        // SAFETY: what follows on this stream comes after it, and nobody else has the buffer before the stream was waited for.
        unsafe { buffer.set_8_async(0xff, self.stream)? };
        self.stream.synchronize()?;
        Ok(buffer)
    }
}

/// Returns the kernels that fill arrays. They are loaded once for each context, and stay as long as the process: inputs are made hundreds of
/// times in some cases, and loading takes half of that time.
fn kernels() -> CudaResult<&'static Module> {
    static LOADED: Mutex<BTreeMap<usize, &Module>> = Mutex::new(BTreeMap::new());
    let mut context = std::ptr::null_mut();
    // SAFETY: there is a place for the handle. Without a context loading fails.
    _ = unsafe { sys::cuCtxGetCurrent(&raw mut context) };
    // What a panic left is whole: there is one insertion.
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match loaded.entry(context.addr()) {
        Entry::Occupied(known) => Ok(known.get()),
        Entry::Vacant(place) => Ok(place.insert(Box::leak(Box::new(Module::from_ptx(PTX, &[])?)))),
    }
}

/// Returns `kernels`, the first `n` elements of the input `seed`, and `n` elements to be overwritten.
///
/// # Errors
/// There is no memory for them, or a launch fails.
pub fn with_one_input<K, T: Random>(
    kernels: K,
    seed: u64,
    n: usize,
    stream: &Stream,
) -> Result<(K, DeviceBuffer<T>, DeviceBuffer<T>), Refusal> {
    let inputs = Inputs::on(stream)?;
    Ok((kernels, inputs.random(seed, n)?, inputs.unwritten(n)?))
}

/// Kernels, two inputs, and an output.
type WithTwo<K, T, U> = (K, DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<U>);

/// Returns `kernels`, the first `n` elements of two inputs, and `n` elements to be overwritten.
pub(super) fn with_two_inputs<K, T: Random, U: Element>(
    kernels: K,
    seeds: [u64; 2],
    n: usize,
    stream: &Stream,
) -> Result<WithTwo<K, T, U>, Refusal> {
    let (inputs, [x, y]) = (Inputs::on(stream)?, seeds);
    Ok((kernels, inputs.random(x, n)?, inputs.random(y, n)?, inputs.unwritten(n)?))
}

/// Memory for `n` elements, not yet written.
fn allocate<T: Element>(n: usize) -> Result<DeviceBuffer<T>, Refusal> {
    // SAFETY: who asks fills it before anybody else sees it, and every pattern of bits is a `T`.
    let buffer = unsafe { DeviceBuffer::uninitialized(n) };
    buffer.map_err(|error| {
        let bytes = size_of::<T>() as u128 * n as u128;
        format!("{n} elements take {bytes} bytes on the device: {error}").into()
    })
}
