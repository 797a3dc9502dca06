//! Launches that do nothing, by which the overhead of the timer is measured.

use wgpu::BufferUsages;

use crate::encoder::Encoder;
use crate::kernel::{Kernel, buffer};

/// A kernel that does nothing. It binds a buffer for writing, so that wgpu puts between two of them what it puts between two
/// launches that use the same memory.
const EMPTY: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn empty(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&y)) { y[0] = id.x; }
}";

/// A kernel that does nothing and binds nothing, so that nothing stands between two of them in a pass.
const UNBOUND: &str = "@compute @workgroup_size(32) fn empty() {}";

/// The empty launches.
pub(crate) struct EmptyKernel {
    bound: Kernel,
    unbound: Kernel,
}

impl EmptyKernel {
    pub(crate) fn new(encoder: &Encoder) -> Self {
        // One word for each invocation: none of them writes.
        let y = buffer(encoder.device(), 4 * 32, BufferUsages::STORAGE);
        let bound = Kernel::new(encoder, (EMPTY, "empty"), &[], &[&y]);
        let unbound = Kernel::new(encoder, (UNBOUND, "empty"), &[], &[]);
        Self { bound, unbound }
    }

    /// Encodes one launch in a pass, behind what wgpu puts between launches that share memory.
    pub(crate) fn launch(&self, encoder: &Encoder) {
        self.bound.launch(encoder, 1);
    }

    /// Encodes this many launches in a pass, with nothing between them.
    pub(crate) fn row(&self, encoder: &Encoder, launches: usize) {
        self.unbound.launch_many(encoder, 1, launches);
    }
}
