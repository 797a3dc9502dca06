//! The suite's `copy` of WGSL as users of wgpu time it: by `Instant` around a submission and the wait for it,
//! and by the timestamps at the begin and the end of its pass, alone in its submission. Neither takes
//! anything off.
//!
//! ```sh
//! cargo run --release --manifest-path peers/wgpu/Cargo.toml
//! ```

use std::time::Instant;

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BufferUsages, ComputePassDescriptor, ComputePipeline,
    ComputePipelineDescriptor, PipelineCompilationOptions, ShaderModuleDescriptor, ShaderSource,
};
use wgpu_peer::kernel::grid;
use wgpu_peer::stamps::Stamps;
use wgpu_peer::{Failure, Gpu, median};

const KERNELS: &str = include_str!("../../../gpubench-kernels/src/wgpu/elementwise.wgsl");
/// The threads of a workgroup, each of which moves 16 bytes.
const WIDTH: u64 = 256;
/// The most workgroups in x, as the suite launches them.
const MOST_IN_X: u64 = 32_768;
const WARM_UP: usize = 50;
const LAUNCHES: usize = 200;

fn main() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    println!("{}, hot\n", gpu.name);
    println!("{:>9}  {:>14}  {:>16}", "an array", "Instant, µs", "its pass, µs");
    for size in [1 << 16, 1 << 20, 1 << 24, 40 << 20, 1 << 28, 1 << 30] {
        let mut copy = Copy::new(&gpu, size)?;
        for _ in 0..WARM_UP {
            copy.time()?;
        }
        let times = (0..LAUNCHES).map(|_| copy.time()).collect::<Result<Vec<_>, _>>()?;
        let [instant, pass] = [0, 1].map(|which| median(times.iter().map(|times| times[which]).collect()));
        println!("{:>5} KiB  {instant:14.2}  {pass:16.2}", size >> 10);
    }
    Ok(())
}

/// A copy with a place for its timestamps.
struct Copy<'a> {
    gpu: &'a Gpu,
    pipeline: ComputePipeline,
    arrays: BindGroup,
    grid: [u32; 2],
    stamps: Stamps<'a>,
}

impl<'a> Copy<'a> {
    fn new(gpu: &'a Gpu, size: u64) -> Result<Self, Failure> {
        let device = &gpu.device;
        let arrays = [(); 2].map(|()| gpu.buffer(size, BufferUsages::STORAGE | BufferUsages::COPY_DST));
        let source = ShaderSource::Wgsl(KERNELS.into());
        let module = device.create_shader_module(ShaderModuleDescriptor { label: None, source });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("copy"),
            compilation_options: PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries = [(0, &arrays[0]), (1, &arrays[1])]
            .map(|(binding, array)| BindGroupEntry { binding, resource: array.as_entire_binding() });
        let layout = &pipeline.get_bind_group_layout(0);
        let arrays =
            device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
        let grid = grid(size.div_ceil(16 * WIDTH), MOST_IN_X);
        Ok(Self { gpu, pipeline, arrays, grid, stamps: Stamps::new(gpu, 1)? })
    }

    /// The time of a launch by `Instant` and by its pass, in µs.
    fn time(&mut self) -> Result<[f64; 2], Failure> {
        let begin = Instant::now();
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let timestamp_writes = Some(self.stamps.of_pass());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: None, timestamp_writes });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.arrays, &[]);
        pass.dispatch_workgroups(self.grid[0], self.grid[1], 1);
        drop(pass);
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.wait()?;
        let instant = begin.elapsed().as_secs_f64() * 1e6;
        Ok([instant, self.stamps.take()?[0]])
    }
}
