//! Launches that draw as much power as a GPU can: arithmetic on all of it for a given time, from registers
//! alone.
//!
//! They show a GPU under load: its clocks, its power, and the energy of an operation. An H200 drew 558 W for `fma` and 690
//! W, of the 700 W that it may, for `tensor`.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;
use rayon::prelude::*;

use super::X;
use super::check::expect;
use super::geometry::{Geometry, Grid};
use super::inputs::Inputs;
use super::modules::launch_kernel;
use crate::inputs::element;
use crate::reference::power::{PAIRS, THREADS, turned};

const POWER: &str = include_str!("../../ptx/power.ptx");
const TENSOR: &str = include_str!("../../ptx/tensor.ptx");

/// The products that a warp has in flight, and the threads of a warp.
const TILES: u64 = 8;
const WARP: usize = 32;
/// The angle by which a step turns a pair.
const ANGLE: f32 = 0.3;

/// A module of this file, loaded, and the size of its device.
#[derive(Debug)]
pub struct Load {
    module: Module,
    grid: Grid,
}

impl Load {
    fn of(ptx: &str) -> CudaResult<Self> {
        let geometry = Geometry::of_current_device()?;
        Ok(Self { module: Module::from_ptx(ptx, &[])?, grid: geometry.filled(256) })
    }

    fn threads(&self) -> usize {
        self.grid.blocks as usize * self.grid.threads as usize
    }
}

/// Fused multiply-adds of `f32`: 8 pairs a thread that each step turns by a small angle, two of them a pair. One launch
/// does 32 operations a thread and step, and moves next to nothing.
#[gpu_bench(
    args(steps = [1_u64 << 14]),
    setup = |_steps| {
        let (load, inputs) = (Load::of(POWER)?, Inputs::on(stream)?);
        let sums = inputs.unwritten(load.threads())?;
        Ok((load, ANGLE, inputs.random(X, 2 * PAIRS * THREADS)?, sums))
    },
    flops = 4 * 8 * steps * (sums.len() as u64),
    energy,
    check = |_load, a, _inputs, sums, steps| {
        let input = |thread: usize| std::array::from_fn(|index| element(X, 2 * PAIRS * thread + index) as f32);
        let block: Vec<f32> = (0..THREADS).into_par_iter().map(|thread| turned(a, steps, input(thread))).collect();
        expect(sums, |i| block[i % THREADS])
    },
)]
pub fn fma(
    load: &Load,
    a: f32,
    inputs: &DeviceBuffer<f32>,
    steps: u64,
    sums: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!((inputs.len(), sums.len()), (2 * PAIRS * THREADS, load.threads()), "inputs and sums");
    launch_kernel!(load.turn(a, inputs.as_device_ptr(), steps, sums.as_device_ptr()), load.grid, stream)
}

/// Products of a 16 × 16 and a 16 × 8 matrix of `bf16` on tensor cores, 8 a warp and step, added in `f32`. One launch does
/// 1024 operations a thread and step, and moves next to nothing. After a multiple of 4 steps all sums are 0, which would
/// check little. From compute capability 8.0.
#[gpu_bench(
    args(steps = [4097_u64]),
    setup = |_steps| {
        let (load, inputs) = (Load::of(TENSOR)?, Inputs::on(stream)?);
        let sums = inputs.unwritten(4 * load.threads())?;
        let parts = [Matrices::new(0), Matrices::new(1)];
        let left = parts.iter().flat_map(Matrices::left).collect::<Vec<u32>>();
        let right = parts.iter().flat_map(Matrices::right).collect::<Vec<u32>>();
        Ok((load, DeviceBuffer::from_slice(&left)?, DeviceBuffer::from_slice(&right)?, sums))
    },
    flops = 2 * 16 * 16 * 8 * TILES * steps * ((load.threads() / WARP) as u64),
    data_type = "bf16 tensor",
    energy,
    ignore,
    check = |_load, _left, _right, sums, steps| {
        let matrices = [Matrices::new(0), Matrices::new(1)];
        let parts: Vec<f32> = (0..4 * WARP).map(|part| Matrices::sum(&matrices, part / 4, part % 4, steps)).collect();
        expect(sums, |i| parts[i % parts.len()])
    },
)]
pub fn tensor(
    load: &Load,
    left: &DeviceBuffer<u32>,
    right: &DeviceBuffer<u32>,
    steps: u64,
    sums: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!((left.len(), right.len()), (2 * WARP * 4, 2 * WARP * 2), "two pairs of matrices");
    assert_eq!(sums.len(), 4 * load.threads(), "there is room for the sums");
    launch_kernel!(
        load.products(left.as_device_ptr(), right.as_device_ptr(), steps, sums.as_device_ptr()),
        load.grid,
        stream
    )
}

/// A 16 × 16 and a 16 × 8 matrix of whole numbers from −255 to 255, which `bf16` holds exactly, as `f32` holds sums of two
/// of their products.
struct Matrices {
    left: [[f32; 16]; 16],
    right: [[f32; 8]; 16],
}

impl Matrices {
    /// The matrices of this number.
    fn new(number: usize) -> Self {
        let whole = |index| (511.0 * element(X, 1024 * number + index)).floor() as f32 - 255.0;
        Self {
            left: std::array::from_fn(|row| std::array::from_fn(|column| whole(16 * row + column))),
            right: std::array::from_fn(|row| std::array::from_fn(|column| whole(512 + 8 * row + column))),
        }
    }

    // Which thread holds which element is in the PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".

    /// The words of each thread's part of the left matrix.
    fn left(&self) -> impl Iterator<Item = u32> {
        let words = (0..WARP).flat_map(|lane| [(0, 0), (8, 0), (0, 8), (8, 8)].map(|place| (lane, place)));
        words.map(|(lane, (row, column))| {
            let row = &self.left[lane / 4 + row][lane % 4 * 2 + column..];
            word(row[0], row[1])
        })
    }

    /// The words of each thread's part of the right matrix.
    fn right(&self) -> impl Iterator<Item = u32> {
        (0..WARP)
            .flat_map(|lane| [0, 8].map(|row| (lane, lane % 4 * 2 + row)))
            .map(|(lane, row)| word(self.right[row][lane / 4], self.right[row + 1][lane / 4]))
    }

    /// Element `part` of a thread's part of their product.
    fn product(&self, lane: usize, part: usize) -> f32 {
        let (row, column) = (lane / 4 + part / 2 * 8, lane % 4 * 2 + part % 2);
        (0..16).map(|k| self.left[row][k] * self.right[k][column]).sum()
    }

    /// The sum of the two products that [`tensor`] leaves there, rounded as on the device.
    fn sum(pairs: &[Self; 2], lane: usize, part: usize, steps: u64) -> f32 {
        let [first, second] = pairs.each_ref().map(|pair| pair.product(lane, part));
        let turns = [first, second, -first, -second];
        (0..TILES).fold(0.0, |sum, tile| {
            // Four successive steps add up to 0.
            let added: f32 = (0..steps % 4).map(|step| turns[((tile + step) % 4) as usize]).sum();
            ((tile + 1) as f32).mul_add(added, sum)
        })
    }
}

/// Two numbers that `bf16` holds exactly, in a word.
fn word(low: f32, high: f32) -> u32 {
    low.to_bits() >> 16 | high.to_bits() & 0xffff_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_matrices_hold_each_element_once() {
        let matrices = Matrices::new(0);
        let values = |words: Vec<u32>| {
            let mut values: Vec<f32> =
                words.iter().flat_map(|word| [word << 16, word & 0xffff_0000].map(f32::from_bits)).collect();
            values.sort_unstable_by(f32::total_cmp);
            values
        };
        let sorted = |values: &[f32]| {
            let mut values = values.to_vec();
            values.sort_unstable_by(f32::total_cmp);
            values
        };
        assert_eq!(values(matrices.left().collect()), sorted(matrices.left.as_flattened()));
        assert_eq!(values(matrices.right().collect()), sorted(matrices.right.as_flattened()));
    }
}
