//! Arrays on a GPU that wgpu drives, with the kernels that are launched on them.

use std::error::Error;

use gpubench::wgpu::wgpu::{Buffer, BufferDescriptor, BufferUsages};
use gpubench::wgpu::{Encoder, Kernel};
use pulp::bytemuck::{cast_slice, pod_collect_to_vec};
use rayon::prelude::*;

/// The refusal of an input, or of an output.
pub(super) type Refusal = Box<dyn Error + Send + Sync>;

/// Kernels with their workgroups, launched one behind the other, and the array that they write.
pub struct Arrays {
    kernels: Vec<(Kernel, u64)>,
    output: Buffer,
    encoder: Encoder,
}

impl Arrays {
    pub(super) fn new(kernels: Vec<(Kernel, u64)>, output: Buffer, encoder: &Encoder) -> Self {
        Self { kernels, output, encoder: encoder.clone() }
    }

    /// Encodes a launch.
    pub(super) fn launch(&self, encoder: &Encoder) {
        self.kernels.iter().for_each(|(kernel, workgroups)| kernel.launch(encoder, *workgroups));
    }

    /// Returns the output.
    pub(super) fn read(&self) -> Result<Vec<f32>, Refusal> {
        Ok(pod_collect_to_vec(&self.encoder.read(&self.output)?))
    }

    /// Checks that each of `n` elements of the output is exactly the reference's.
    pub(super) fn expect(&self, n: usize, reference: impl Fn(usize) -> f32 + Sync) -> Result<(), Refusal> {
        let found = self.read()?;
        // A NaN differs from everything.
        let wrong = (0..n).into_par_iter().with_min_len(1 << 14).find_first(|i| found[*i] != reference(*i));
        wrong.map_or(Ok(()), |i| Err(format!("element {i} is {}, not {}", found[i], reference(i)).into()))
    }
}

/// Makes an array of `values`, with zeros up to a multiple of four.
pub(super) fn array(values: &[f32], encoder: &Encoder) -> Result<Buffer, Refusal> {
    let bytes: &[u8] = cast_slice(values);
    let size = (bytes.len() as u64).next_multiple_of(16);
    let largest = encoder.device().limits().max_storage_buffer_binding_size;
    if size > largest {
        return Err(format!("an array has {size} bytes, and this adapter binds {largest} at most").into());
    }
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let descriptor = BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let buffer = encoder.device().create_buffer(&descriptor);
    encoder.queue().write_buffer(&buffer, 0, bytes);
    Ok(buffer)
}
