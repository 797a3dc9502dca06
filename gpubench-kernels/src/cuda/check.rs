//! The checks of outputs. In: a buffer on the device and the reference for each element; out: the first element that
//! differs. The buffer is copied in pieces, so that checking a gigabyte takes 32 MiB of the host's memory.

use cust::memory::{CopyDestination as _, DeviceBuffer, LockedBuffer};
use rayon::prelude::*;

use super::inputs::{Element, Refusal};

/// The bytes of a piece. On an H200's host a transfer into memory that is not locked takes 15 GB/s, and one into memory that is 55.
/// Buffers of less than a piece are not worth locking memory for.
const PIECE: usize = 32 << 20;
/// The elements that a thread looks through at once: enough to be worth one. Rayon's own search asks for each element whether another
/// thread has found one, which costs ten times as much as the comparison.
const SHARE: usize = 1 << 14;

/// Checks that each element of `output` is exactly the reference's.
pub(super) fn expect<T: Element>(
    output: &DeviceBuffer<T>,
    reference: impl Fn(usize) -> T + Sync,
) -> Result<(), Refusal> {
    let most = PIECE / size_of::<T>();
    if output.len() < most {
        return expect_in(&mut vec![T::zeroed(); output.len()], output, &reference);
    }
    expect_in(&mut LockedBuffer::new(&T::zeroed(), most)?, output, &reference)
}

/// The same, with room for a piece.
fn expect_in<T: Element>(
    room: &mut [T],
    output: &DeviceBuffer<T>,
    reference: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Refusal> {
    for start in (0..output.len()).step_by(room.len().max(1)) {
        let end = output.len().min(start + room.len());
        let piece = &mut room[..end - start];
        output.index(start..end).copy_to(piece)?;
        expect_piece(piece, start, reference)?;
    }
    Ok(())
}

/// The same for an `output` on the host.
pub(super) fn expect_host<T: Element>(
    output: &[T],
    reference: impl Fn(usize) -> T + Sync,
) -> Result<(), Refusal> {
    expect_piece(output, 0, &reference)
}

/// The same for the elements from `start` on.
fn expect_piece<T: Element>(
    piece: &[T],
    start: usize,
    reference: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Refusal> {
    let wrong_in = |(number, share): (usize, &[T])| {
        let first = start + number * SHARE;
        // A NaN differs from everything.
        let differs = |(offset, found): &(usize, &T)| **found != reference(first + offset);
        share.iter().enumerate().find(differs).map(|(offset, found)| (first + offset, *found))
    };
    let wrong = piece.par_chunks(SHARE).enumerate().find_map_first(wrong_in);
    wrong.map_or(Ok(()), |(index, found)| {
        Err(format!("element {index} is {found}, not {}", reference(index)).into())
    })
}

/// Checks that the only element of `output` is the sum of `reference` over all indices below `n`, within a relative
/// `tolerance`. Sums of random inputs are exact here up to n = 2²⁹: they are multiples of 2⁻²⁴.
pub(super) fn expect_sum(
    output: &DeviceBuffer<f64>,
    n: usize,
    reference: impl Fn(usize) -> f64 + Sync,
    tolerance: f64,
) -> Result<(), Refusal> {
    let mut found = [f64::NAN];
    output.copy_to(&mut found)?;
    let expected: f64 = (0..n).into_par_iter().with_min_len(SHARE).map(&reference).sum();
    // A comparison in this direction is false for a NaN.
    if (found[0] - expected).abs() <= tolerance * expected.abs() {
        Ok(())
    } else {
        Err(format!("the sum is {}, not {expected}", found[0]).into())
    }
}
