//! A compute shader with its buffers, for launch functions that need no more.

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, ComputePipeline, ComputePipelineDescriptor,
    PipelineCompilationOptions, ShaderModuleDescriptor, ShaderSource,
};

use crate::encoder::Encoder;

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
