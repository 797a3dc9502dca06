//! Launches that do nothing: one that waits for what came before, as every launch does that shares memory with it, and rows of launches
//! that do not. In: an encoder; out: the launches, and the time that one more of a row takes.

use gpubench_stats::units::Nanoseconds;
use wgpu::{
    BufferDescriptor, BufferUsages, ComputePipeline, ComputePipelineDescriptor, PipelineCompilationOptions,
    ShaderModuleDescriptor, ShaderSource,
};

use crate::encoder::Encoder;
use crate::kernel::Kernel;

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
    unbound: ComputePipeline,
}

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
        let bound = Kernel::new(encoder, (EMPTY, "empty"), &[], &[&buffer]);
        let source = ShaderSource::Wgsl(UNBOUND.into());
        let module = encoder.device().create_shader_module(ShaderModuleDescriptor { label: None, source });
        let unbound = encoder.device().create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("empty"),
            compilation_options: PipelineCompilationOptions::default(),
            cache: None,
        });
        Self { bound, unbound }
    }

    /// Encodes one launch in a pass, behind what wgpu puts between launches that share memory.
    pub(crate) fn launch(&self, encoder: &Encoder) {
        self.bound.launch(encoder, 1);
    }

    /// Encodes so many launches in a pass, with nothing between them.
    pub(crate) fn row(&self, encoder: &Encoder, launches: usize) {
        encoder.pass(|pass| {
            pass.set_pipeline(&self.unbound);
            (0..launches).for_each(|_| pass.dispatch_workgroups(1, 1, 1));
        });
    }
}

/// The time that one more empty launch adds to a row of them, and its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneMore {
    pub(crate) time: Nanoseconds,
    pub(crate) error: Nanoseconds,
}
