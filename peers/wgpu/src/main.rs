//! The suite's `copy` of WGSL as users of wgpu time it: by `Instant` around a submission and the wait for it, and by the timestamps at
//! the begin and the end of its pass, alone in its submission. In: an adapter; out: the medians of 200 launches after 50 of warm-up, by
//! the size of an array. Neither takes anything off.
//!
//! ```sh
//! cargo run --release --manifest-path peers/wgpu/Cargo.toml
//! ```

use std::error::Error;
use std::time::Instant;

use wgpu::{
    Backends, BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages,
    ComputePassDescriptor, ComputePassTimestampWrites, ComputePipeline, ComputePipelineDescriptor, Device,
    DeviceDescriptor, Features, Instance, InstanceDescriptor, MapMode, PipelineCompilationOptions, PollType,
    PowerPreference, QuerySet, QuerySetDescriptor, QueryType, Queue, RequestAdapterOptions,
    ShaderModuleDescriptor, ShaderSource,
};

const KERNELS: &str = include_str!("../../../gpubench-kernels/src/wgpu/elementwise.wgsl");
/// The threads of a workgroup, each of which moves 16 bytes.
const WIDTH: u64 = 256;
/// The most workgroups in x, as the suite launches them.
const MOST_IN_X: u64 = 32_768;
const WARM_UP: usize = 50;
const LAUNCHES: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut descriptor = InstanceDescriptor::new_without_display_handle();
    descriptor.backends = Backends::VULKAN;
    let instance = Instance::new(descriptor);
    let wanted =
        RequestAdapterOptions { power_preference: PowerPreference::HighPerformance, ..Default::default() };
    let adapter = pollster::block_on(instance.request_adapter(&wanted))?;
    let descriptor = DeviceDescriptor {
        required_features: Features::TIMESTAMP_QUERY,
        required_limits: adapter.limits(),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
    println!("{}, hot\n", adapter.get_info().name);
    println!("{:>9}  {:>14}  {:>16}", "an array", "Instant, µs", "its pass, µs");
    for size in [1 << 16, 1 << 20, 1 << 24, 40 << 20, 1 << 28, 1 << 30] {
        let copy = Copy::new(&device, &queue, size);
        for _ in 0..WARM_UP {
            copy.time()?;
        }
        let times = (0..LAUNCHES).map(|_| copy.time()).collect::<Result<Vec<_>, _>>()?;
        let [instant, pass] = [0, 1].map(|which| median(times.iter().map(|times| times[which]).collect()));
        println!("{:>5} KiB  {instant:14.2}  {pass:16.2}", size >> 10);
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A copy with a place for its timestamps.
struct Copy<'a> {
    device: &'a Device,
    queue: &'a Queue,
    pipeline: ComputePipeline,
    arrays: BindGroup,
    workgroups: u64,
    stamps: QuerySet,
    resolved: Buffer,
    read: Buffer,
}

impl<'a> Copy<'a> {
    fn new(device: &'a Device, queue: &'a Queue, size: u64) -> Self {
        let buffer = |size, usage| {
            device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let arrays = [(); 2].map(|()| buffer(size, BufferUsages::STORAGE | BufferUsages::COPY_DST));
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
        Self {
            device,
            queue,
            pipeline,
            arrays,
            workgroups: size.div_ceil(16 * WIDTH),
            stamps: device.create_query_set(&QuerySetDescriptor {
                label: None,
                ty: QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer(16, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: buffer(16, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
        }
    }

    /// The time of a launch by `Instant` and by its pass, in µs.
    fn time(&self) -> Result<[f64; 2], Box<dyn Error>> {
        let begin = Instant::now();
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let timestamp_writes = ComputePassTimestampWrites {
            query_set: &self.stamps,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        };
        let descriptor = ComputePassDescriptor { label: None, timestamp_writes: Some(timestamp_writes) };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.arrays, &[]);
        let x = self.workgroups.min(MOST_IN_X);
        pass.dispatch_workgroups(x as u32, self.workgroups.div_ceil(x) as u32, 1);
        drop(pass);
        self.queue.submit([encoder.finish()]);
        self.device.poll(PollType::wait_indefinitely())?;
        let instant = begin.elapsed().as_secs_f64() * 1e6;
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.resolve_query_set(&self.stamps, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, 16);
        self.queue.submit([encoder.finish()]);
        self.read.slice(..).map_async(MapMode::Read, |_| {});
        self.device.poll(PollType::wait_indefinitely())?;
        let pass = {
            let bytes = self.read.slice(..).get_mapped_range()?;
            let [begin, end] =
                [0, 8].map(|at| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte])));
            end.wrapping_sub(begin) as f64 * f64::from(self.queue.get_timestamp_period()) / 1e3
        };
        self.read.unmap();
        Ok([instant, pass])
    }
}
