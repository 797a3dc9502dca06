//! A compute shader with its buffers.

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayoutDescriptor, BindGroupLayoutEntry,
    BindingResource, BindingType, BufferBindingType, CommandEncoder, ComputePassDescriptor,
    ComputePassTimestampWrites, ComputePipeline, ComputePipelineDescriptor, PipelineCompilationOptions,
    PipelineLayoutDescriptor, ShaderModuleDescriptor, ShaderRuntimeChecks, ShaderSource, ShaderStages,
};

use crate::stamps::Stamps;
use crate::{Failure, Gpu};

/// The checks of a shader by naga.
#[derive(Clone, Copy, PartialEq)]
pub enum Checks {
    /// Indices and loops are bounded, as by `create_shader_module`.
    On,
    Off,
}

/// A compute shader with its buffers.
pub struct Kernel {
    pipeline: ComputePipeline,
    buffers: BindGroup,
    grid: [u32; 2],
}

impl Kernel {
    /// Compiles `entry` of `wgsl`. The first `written` bindings are read and written, the others read, whether the shader uses them or not:
    /// what is bound is what wgpu puts barriers for.
    pub fn new(
        gpu: &Gpu,
        (wgsl, entry): (&str, &str),
        checks: Checks,
        (buffers, written): (&[BindingResource<'_>], usize),
        grid: [u32; 2],
    ) -> Self {
        let source = ShaderModuleDescriptor { label: None, source: ShaderSource::Wgsl(wgsl.into()) };
        let module = match checks {
            Checks::On => gpu.device.create_shader_module(source),
            // SAFETY: no index of a shader here is beyond its array, and its loops end.
            Checks::Off => unsafe {
                gpu.device.create_shader_module_trusted(source, ShaderRuntimeChecks::unchecked())
            },
        };
        let entry_of = |binding: usize| BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only: binding >= written },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let entries: Vec<_> = (0..buffers.len()).map(entry_of).collect();
        let layout = gpu
            .device
            .create_bind_group_layout(&BindGroupLayoutDescriptor { label: None, entries: &entries });
        let of_pipeline = gpu.device.create_pipeline_layout(&PipelineLayoutDescriptor {
            bind_group_layouts: &[Some(&layout)],
            ..Default::default()
        });
        let pipeline = gpu.device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: Some(&of_pipeline),
            module: &module,
            entry_point: Some(entry),
            compilation_options: PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, resource)| BindGroupEntry { binding, resource: resource.clone() })
            .collect();
        let descriptor = BindGroupDescriptor { label: None, layout: &layout, entries: &entries };
        Self { pipeline, buffers: gpu.device.create_bind_group(&descriptor), grid }
    }

    /// Launches alone in a submission, between timestamps if there are some, and waits.
    pub fn launch(&self, gpu: &Gpu, stamps: Option<&mut Stamps<'_>>) -> Result<(), Failure> {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        self.encode(&mut encoder, stamps.map(Stamps::of_pass));
        gpu.queue.submit([encoder.finish()]);
        gpu.wait()
    }

    /// Encodes a pass with a launch.
    pub fn encode(&self, encoder: &mut CommandEncoder, stamps: Option<ComputePassTimestampWrites<'_>>) {
        let descriptor = ComputePassDescriptor { label: None, timestamp_writes: stamps };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.buffers, &[]);
        pass.dispatch_workgroups(self.grid[0], self.grid[1], 1);
    }
}

/// Returns a grid of so many workgroups in rows of `row`.
pub fn grid(workgroups: u64, row: u64) -> [u32; 2] {
    let x = workgroups.clamp(1, row);
    [x as u32, workgroups.div_ceil(x) as u32]
}
