//! Gravity between all pairs of bodies. Its speed is in the problem's own unit, interactions a second.

use cust::error::CudaResult;
use cust::memory::{CopyDestination as _, DeviceBuffer};
use cust::stream::Stream;
use gpubench::gpu_bench;
use rayon::prelude::*;

use super::geometry::Grid;
use super::inputs::{Refusal, with_one_input};
use super::modules::{launch_kernel, modules};
use super::product::Rounding;
use crate::inputs::element;
use crate::reference::nbody::pull;

/// The seed of the bodies.
const BODIES: u64 = 5;

/// A term added to every squared distance, so that the force between bodies that meet stays finite.
const SOFTENING: f32 = 1e-3;

/// The threads of a block, and bodies of a tile.
const TILE: u32 = 256;

modules! {
    /// The module of the kernel, loaded.
    Bodies "nbody";
}

/// The acceleration of each of n bodies by all, for `f32`: four numbers a body, which are place and mass of the bodies
/// and the acceleration with a 0 behind it. One launch reads 16 n bytes, writes 16 n bytes and has n² interactions.
/// Each counts as 20 operations by convention (Nyland, Harris & Prins, *Fast N-body simulation with CUDA*, GPU Gems 3,
/// chapter 31, 2007), whatever the GPU makes of its square root: here it is twelve instructions.
#[gpu_bench(
    args(n = [65_536]),
    setup = |n| with_one_input(Bodies::load()?, BODIES, 4 * n, stream),
    reads = 4 * bodies.len(),
    writes = 4 * accelerations.len(),
    flops = 20 * n * n,
    items = n * n, "interactions",
    check = |_kernels, _bodies, accelerations, n| expect_gravity(accelerations, n),
)]
pub fn gravity(
    kernels: &Bodies,
    bodies: &DeviceBuffer<f32>,
    accelerations: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(
        bodies.len() == accelerations.len() && bodies.len().is_multiple_of(4),
        "each body has four numbers"
    );
    let (n, a) = (bodies.len() / 4, SOFTENING);
    launch_kernel!(
        kernels.nbody(bodies.as_device_ptr(), accelerations.as_device_ptr(), n as u64, a),
        Grid::covering(n, TILE),
        stream
    )
}

/// Body `index`: place and mass.
fn body(index: usize) -> [f64; 4] {
    [0, 1, 2, 3].map(|part| element(BODIES, 4 * index + part))
}

/// Checks the `accelerations` of one body for each block of the kernel, or of all bodies if they are few.
///
/// Each part of an acceleration is a sum of n terms of both signs, so that it may be off by a fraction of the sum of
/// their absolute values. Adding up costs what it costs any sum; a term itself is off by 24 units of 2⁻²⁴ at the most:
/// one from the difference of places, three and twice that one in the squared distance, of which the root takes half
/// and adds four (`rsqrtf` errs by 2 ulp at most, CUDA C++ Programming Guide, mathematical functions), that three times
/// and two in its cube, one for the mass and one for the difference again.
fn expect_gravity(accelerations: &DeviceBuffer<f32>, n: usize) -> Result<(), Refusal> {
    let tile = TILE as usize;
    // Each block checks another of its bodies, and the last block its last, so that a tail is checked.
    let looked_at: Vec<usize> = match n {
        ..=1024 => (0..n).collect(),
        _ => (0..n / tile).map(|block| block * tile + (37 * block) % tile).chain([n - 1]).collect(),
    };
    let tolerance = Rounding::Nearest.tolerance(n) + 24.0 * 2_f64.powi(-24);
    let bodies: Vec<[f64; 4]> = (0..n).into_par_iter().map(body).collect();
    let mut found = vec![[0.0; 4]; looked_at.len()];
    for (index, found) in looked_at.iter().zip(&mut found) {
        accelerations.index(4 * index..4 * (index + 1)).copy_to(found)?;
    }
    let wrong = looked_at.into_par_iter().zip(found).find_map_first(|(index, found)| {
        let (sums, absolute) = pull(bodies.iter().copied(), bodies[index], SOFTENING);
        let part = (0..3).find(|part| {
            // A comparison in this direction is false for a NaN.
            let near = (f64::from(found[*part]) - sums[*part]).abs() <= tolerance * absolute[*part];
            !near
        })?;
        Some((index, part, found[part], sums[part]))
    });
    match wrong {
        Some((index, part, found, sum)) => {
            let axis = ["x", "y", "z"][part];
            Err(format!("the acceleration of body {index} along {axis} is {found}, not {sum}").into())
        }
        None => Ok(()),
    }
}
