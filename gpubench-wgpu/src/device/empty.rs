//! Launches that do nothing, by which the overhead of the timer is measured.

use wgpu::{Buffer, BufferUsages};

use crate::encoder::{Encoder, buffer};
use crate::kernel::Kernel;

/// A kernel that does nothing. It binds a buffer for writing, so that wgpu puts between two of them what it puts between two
/// launches that use the same memory.
const BOUND_SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn empty(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&y)) { y[0] = id.x; }
}";

/// A kernel that does nothing and binds nothing, so that nothing stands between two of them in a pass.
const UNBOUND_SHADER: &str = "@compute @workgroup_size(32) fn empty() {}";

/// Kernels that do nothing.
#[derive(Clone)]
pub(crate) struct EmptyKernels {
    /// One launch in a pass, after what wgpu puts between launches that share memory.
    pub(crate) bound: Kernel,
    /// Many launches in a pass, with nothing between them.
    pub(crate) unbound: Kernel,
}

impl EmptyKernels {
    pub(crate) fn new(encoder: &Encoder) -> Self {
        // One word for each invocation: none of them writes.
        let y = buffer(encoder.device(), 4 * 32, BufferUsages::STORAGE);
        let kernel = |wgsl, buffers: &[&Buffer]| Kernel::new(encoder, (wgsl, "empty"), &[], buffers);
        Self { bound: kernel(BOUND_SHADER, &[&y]), unbound: kernel(UNBOUND_SHADER, &[]) }
    }
}
