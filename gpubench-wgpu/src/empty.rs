//! A launch that does nothing. In: an encoder; out: the launch, and the time that one more of it takes.

use gpubench_stats::units::Nanoseconds;
use wgpu::{BufferDescriptor, BufferUsages};

use crate::encoder::Encoder;
use crate::kernel::Kernel;

/// A kernel that does nothing. It binds a buffer for writing, so that wgpu puts between two of them what it puts between two
/// launches that use the same memory.
const EMPTY: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn empty(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&y)) { y[0] = id.x; }
}";

/// The empty launch.
pub(crate) struct EmptyKernel(Kernel);

impl EmptyKernel {
    pub(crate) fn new(encoder: &Encoder) -> Self {
        // One word for each invocation: none of them writes.
        let descriptor = BufferDescriptor {
            label: None,
            size: 4 * 32,
            usage: BufferUsages::STORAGE,
            mapped_at_creation: false,
        };
        let buffer = encoder.device().create_buffer(&descriptor);
        Self(Kernel::new(encoder, (EMPTY, "empty"), &[], &[&buffer]))
    }

    pub(crate) fn launch(&self, encoder: &Encoder) {
        self.0.launch(encoder, 1);
    }
}

/// The time that one more empty launch adds to a row of them, and its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneMore {
    pub(crate) time: Nanoseconds,
    pub(crate) error: Nanoseconds,
}
