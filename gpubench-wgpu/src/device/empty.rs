//! Launches that do nothing, by which the overhead of the timer is measured.

use wgpu::{Buffer, BufferUsages};

use crate::encoder::{Encoder, buffer};
use crate::kernel::Kernel;

/// The shader of an empty kernel that binds a buffer for writing. Between two launches of it wgpu puts the
/// same barriers as between two launches that use the same memory.
const BOUND_SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn empty(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&y)) { y[0] = id.x; }
}";

/// The shader of an empty kernel without bindings: wgpu puts nothing between two launches of it in a pass.
const UNBOUND_SHADER: &str = "@compute @workgroup_size(32) fn empty() {}";

/// The empty kernels by which the overhead of the timer is measured.
#[derive(Clone)]
pub(crate) struct EmptyKernels {
    /// For one launch in a pass, with wgpu's barriers between launches that share memory.
    pub(crate) bound: Kernel,
    /// For many launches in a pass, with nothing between them.
    pub(crate) unbound: Kernel,
}

impl EmptyKernels {
    /// Compiles both kernels on the encoder's device.
    pub(crate) fn new(encoder: &Encoder) -> Self {
        // One word for each invocation: none of them writes.
        let y = buffer(encoder.device(), 4 * 32, BufferUsages::STORAGE);
        let kernel = |wgsl, buffers: &[&Buffer]| Kernel::new(encoder, (wgsl, "empty"), &[], buffers);
        Self { bound: kernel(BOUND_SHADER, &[&y]), unbound: kernel(UNBOUND_SHADER, &[]) }
    }
}
