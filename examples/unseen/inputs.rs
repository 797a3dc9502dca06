//! Computes inputs from their indices, and checks outputs. Sums of [`small`] numbers are exact in any order.

use std::fmt::Debug;

use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::module::Module;

/// A wrong output, or an error while creating an input.
pub(crate) type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Loads the kernels.
pub(crate) fn load() -> CudaResult<Module> {
    Module::from_ptx(include_str!("kernels.ptx"), &[])
}

/// Creates a buffer of n numbers from their indices.
pub(crate) fn made<T: DeviceCopy>(n: usize, of: impl Fn(usize) -> T) -> CudaResult<DeviceBuffer<T>> {
    DeviceBuffer::from_slice(&(0..n).map(of).collect::<Vec<T>>())
}

/// Creates a buffer of n equal numbers.
pub(crate) fn filled<T: DeviceCopy>(n: usize, value: T) -> CudaResult<DeviceBuffer<T>> {
    DeviceBuffer::from_slice(&vec![value; n])
}

/// Returns a pseudo-random number.
fn mixed(i: usize) -> u32 {
    let mut bits = (i as u32).wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995;
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x85eb_ca6b);
    bits ^ (bits >> 13)
}

/// A number from 0 to 1, with 24 bits.
pub(crate) fn number(i: usize) -> f32 {
    (mixed(i) >> 8) as f32 / (1 << 24) as f32
}

/// A whole number from 0 to 7.
pub(crate) fn small(i: usize) -> f32 {
    (mixed(i) >> 29) as f32
}

/// A byte.
pub(crate) fn byte(i: usize) -> u8 {
    (mixed(i) >> 24) as u8
}

/// Permutes the indices below n, a power of two.
pub(crate) fn place(i: usize, n: usize) -> u32 {
    debug_assert!(n.is_power_of_two(), "an odd factor permutes the numbers below a power of two");
    ((i.wrapping_mul(0x9e37_79b1).wrapping_add(12_345)) & (n - 1)) as u32
}

/// The stencil's value at a point of a cube of [`small`] numbers; 0 on its faces.
pub(crate) fn neighbours(at: usize, side: usize) -> f32 {
    let point = [at % side, at / side % side, at / side / side];
    if point.iter().any(|along| *along == 0 || *along == side - 1) {
        return 0.0;
    }
    let steps = [1, side, side * side];
    let sum: f32 = steps.iter().map(|step| small(at - step) + small(at + step)).sum();
    sum - 6.0 * small(at)
}

/// Checks that each element equals the expected number.
pub(crate) fn expect<T>(output: &DeviceBuffer<T>, of: impl Fn(usize) -> T) -> Result<(), Refusal>
where
    T: DeviceCopy + Debug + Default + PartialEq,
{
    let found = output.as_host_vec()?;
    match (0..found.len()).find(|i| found[*i] != of(*i)) {
        Some(i) => Err(format!("element {i} is {:?}, not {:?}", found[i], of(i)).into()),
        None => Ok(()),
    }
}

/// Checks that the relative error of each element is at most 10⁻⁵.
pub(crate) fn expect_near(output: &DeviceBuffer<f32>, of: impl Fn(usize) -> f32) -> Result<(), Refusal> {
    let found = output.as_host_vec()?;
    // A comparison in this direction is false for a NaN.
    let near = |i: usize| (found[i] - of(i)).abs() <= 1e-5 * of(i);
    match (0..found.len()).find(|i| !near(*i)) {
        Some(i) => Err(format!("element {i} is {}, not {}", found[i], of(i)).into()),
        None => Ok(()),
    }
}

/// Checks the steps of points: 256 in the period-2 disc, 1 outside the circle of radius 2, and at most 256 elsewhere.
pub(crate) fn in_circle(steps: &DeviceBuffer<u32>, side: usize) -> Result<(), Refusal> {
    let found = steps.as_host_vec()?;
    for (i, steps) in found.into_iter().enumerate() {
        let [a, b] =
            [(i % side, -2.25), (i / side, -1.5)].map(|(at, from)| 3.0 * at as f32 / side as f32 + from);
        let outside = a * a + b * b > 4.001;
        // The period-2 disc, of radius 1/4 around −1: its points never leave.
        let within = (a + 1.0).powi(2) + b * b < 0.06;
        if steps > 256 || (outside && steps != 1) || (within && steps != 256) {
            return Err(format!("{steps} steps at {a} + {b}i").into());
        }
    }
    Ok(())
}
