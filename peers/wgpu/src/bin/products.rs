//! Why the suite's products take longer by wgpu than by CUDA: its shaders with naga's checks and without, in
//! workgroups of two sizes. `products.cu` is CUDA's counterpart.
//!
//! Options: `--adapter 0 --n 2048 --launches 30`. n is a multiple of 32.

use std::fmt::Write as _;

use wgpu::{Buffer, BufferUsages, MapMode};
use wgpu_peer::kernel::{Checks, Kernel, grid};
use wgpu_peer::stamps::Stamps;
use wgpu_peer::{Failure, Gpu, OF_SUITE, median, options};

const SUITE: &str = include_str!("../../../../gpubench-kernels/src/wgpu/square.wgsl");
/// The sides of workgroups: the suite's, and that of CUDA's blocks.
const SIDES: [u64; 2] = [16, 32];
const WARM_UP: usize = 2;
/// The invocations of a workgroup that makes inputs.
const WIDTH: u64 = 256;
/// The most workgroups in a row.
const ROW: u64 = 32768;
/// Makes an operand, of elements from 0 to 1.
const INPUT: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
    let i = (group.y * groups.x + group.x) * 256u + lane;
    if (i < arrayLength(&x)) { x[i] = f32(i % 1021u) / 1021.0; }
}";

fn main() -> Result<(), Failure> {
    options::check(&["adapter", "n", "launches"])?;
    let n = options::number("n", 2048)?;
    let launches = options::number("launches", 30)?.max(1) as usize;
    if n == 0 || !n.is_multiple_of(SIDES[1]) {
        return Err(format!("--n {n}: give a multiple of {}", SIDES[1]).into());
    }
    let gpu = Gpu::open()?;
    println!("{}\nProducts of f32, n = {n}; medians of {launches}, in µs\n", gpu.name);
    println!("{:24}{:>16}{:>20}", "", "naga's checks", "without them");
    let products = Products::new(&gpu, n, launches)?;
    let mut stamps = Stamps::new(&gpu, launches + WARM_UP)?;
    // Wakes the GPU, and says what all others have to come to.
    let mut expected = None;
    products.time(&mut stamps, ("naive", SIDES[0], Checks::On), &mut expected)?;
    for entry in ["naive", "tiled"] {
        for side in SIDES {
            let mut line = format!("{:24}", format!("{entry}, {side} × {side}"));
            for (checks, width) in [(Checks::On, 16), (Checks::Off, 20)] {
                let time = products.time(&mut stamps, (entry, side, checks), &mut expected)?;
                _ = write!(line, "{time:width$.1}");
            }
            println!("{line}");
        }
    }
    Ok(())
}

/// The operands of products, and their result.
struct Products<'a> {
    gpu: &'a Gpu,
    n: u64,
    launches: usize,
    c: Buffer,
    a: Buffer,
    b: Buffer,
}

impl<'a> Products<'a> {
    fn new(gpu: &'a Gpu, n: u64, launches: usize) -> Result<Self, Failure> {
        let [c, a, b] = [(); 3].map(|()| gpu.buffer(4 * n * n, OF_SUITE));
        for input in [&a, &b] {
            let bound = [input.as_entire_binding()];
            let grid = grid((n * n).div_ceil(WIDTH), ROW);
            Kernel::new(gpu, (INPUT, "main"), Checks::On, (&bound, 1), grid).launch(gpu, None)?;
        }
        Ok(Self { gpu, n, launches, c, a, b })
    }

    /// Returns the median time of launches of `entry` in workgroups of `side`², if they come to what is `expected`, or are the first.
    fn time(
        &self,
        stamps: &mut Stamps<'_>,
        (entry, side, checks): (&str, u64, Checks),
        expected: &mut Option<Vec<u8>>,
    ) -> Result<f64, Failure> {
        let source = SUITE
            .replace("override N: u32;", &format!("const N = {}u;", self.n))
            .replace("const SIDE = 16u;", &format!("const SIDE = {side}u;"));
        let bound = [&self.c, &self.a, &self.b].map(Buffer::as_entire_binding);
        let grid = grid((self.n / side).pow(2), ROW);
        let kernel = Kernel::new(self.gpu, (&source, entry), checks, (&bound, 1), grid);
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&self.c, 0, None);
        self.gpu.queue.submit([encoder.finish()]);
        for _ in 0..WARM_UP + self.launches {
            kernel.launch(self.gpu, Some(stamps))?;
        }
        let time = median(stamps.take()?.split_off(WARM_UP));
        let found = self.result()?;
        // All of them add the same products in the same order. The last element is a sum of positive ones.
        let is_launched = found.last_chunk().is_some_and(|last| f32::from_ne_bytes(*last) > 0.0);
        if !is_launched || *expected.get_or_insert_with(|| found.clone()) != found {
            return Err(format!("{entry}, {side} × {side}: another product").into());
        }
        Ok(time)
    }

    /// Returns the bytes of the result.
    fn result(&self) -> Result<Vec<u8>, Failure> {
        let read = self.gpu.buffer(self.c.size(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&self.c, 0, &read, 0, read.size());
        self.gpu.queue.submit([encoder.finish()]);
        read.slice(..).map_async(MapMode::Read, |_| {});
        self.gpu.wait()?;
        Ok(read.slice(..).get_mapped_range()?.to_vec())
    }
}
