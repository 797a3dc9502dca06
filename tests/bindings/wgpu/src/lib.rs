//! A launch on any vendor's GPU by wgpu: y ← a·x + y.

use std::error::Error;

use gpubench::gpu_bench;
use gpubench::wgpu::wgpu::util::{BufferInitDescriptor, DeviceExt as _};
use gpubench::wgpu::wgpu::{Buffer, BufferUsages};
use gpubench::wgpu::{Encoder, Kernel};

const SAXPY: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
override A: f32;

@compute @workgroup_size(256)
fn saxpy(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
         @builtin(local_invocation_index) lane: u32) {
    let i = (group.y * groups.x + group.x) * 256u + lane;
    if (i < arrayLength(&y)) { y[i] = A * x[i] + y[i]; }
}";

/// A pipeline with its vectors of n numbers, and the encoder, which a check reads through.
pub struct Saxpy {
    kernel: Kernel,
    y: Buffer,
    encoder: Encoder,
}

impl Saxpy {
    /// Makes the vectors x = 1 and y = 0.
    #[must_use]
    pub fn new(n: usize, encoder: &Encoder) -> Self {
        let vector = |value: f32| {
            encoder.device().create_buffer_init(&BufferInitDescriptor {
                label: None,
                contents: &value.to_ne_bytes().repeat(n),
                usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
            })
        };
        let (x, y) = (vector(1.0), vector(0.0));
        let kernel = Kernel::new(encoder, (SAXPY, "saxpy"), &[("A", 2.0)], &[&x, &y]);
        Self { kernel, y, encoder: encoder.clone() }
    }

    /// Encodes a launch over n numbers.
    pub fn launch(&self, n: usize, encoder: &Encoder) {
        self.kernel.launch(encoder, n.div_ceil(256) as u64);
    }

    /// Encodes y ← 0.
    pub fn clear(&self, encoder: &Encoder) {
        encoder.commands(|commands| commands.clear_buffer(&self.y, 0, None));
    }

    /// Checks that every number of y is `expected`.
    ///
    /// # Errors
    /// Returns the first other number, or wgpu's error.
    pub fn expect(&self, expected: f32) -> Result<(), Box<dyn Error + Send + Sync>> {
        let bytes = self.encoder.read(&self.y)?;
        let mut numbers = bytes.as_chunks().0.iter().map(|word| f32::from_ne_bytes(*word));
        match numbers.find(|y| *y != expected) {
            Some(y) => Err(format!("y is {y}, not {expected}").into()),
            None => Ok(()),
        }
    }
}

/// y ← 2·x + y over n numbers. The check sees the first launch.
#[gpu_bench(
    args(n = [1 << 12, 1 << 20]),
    setup = |n| Ok(Saxpy::new(n, encoder)),
    reads = 8 * n,
    writes = 4 * n,
    flops = 2 * n,
    cold,
    check = |state, _n| state.expect(2.0),
)]
pub fn saxpy(state: &Saxpy, n: usize, encoder: &Encoder) {
    state.launch(n, encoder);
}
