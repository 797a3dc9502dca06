//! Checks outputs on the device against a reference for each element. Copies the output in pieces, so that checking a gigabyte
//! takes 8 MiB of the host's memory.

use cust::memory::{CopyDestination as _, DeviceBuffer, LockedBuffer};
use rayon::prelude::*;

use super::inputs::{Element, Refusal};
use crate::vectorised::vectorised;

/// The bytes of a piece. On an H200's host a transfer into memory that is not locked takes 15 GB/s, and one into memory that is 55; to
/// lock memory takes 0.3 ms for each MiB.
const PIECE: usize = 4 << 20;
/// Buffers of fewer pieces are not worth locking memory for: by these figures that gains nothing below 48 MiB.
const WORTH_LOCKING: usize = 12;
/// The elements that a thread looks through at once: enough to be worth one. Rayon's own search asks for each element whether another
/// thread has found one, which costs ten times as much as the comparison.
const SHARE: usize = 1 << 14;
/// The bytes of the largest output whose shares are all checked.
const CHECKED_AS_A_WHOLE: usize = 256 << 20;
/// Of larger outputs, one share in this many is checked, and the last one. In a matrix of such a size a share is at most one row, so
/// that no tile of a kernel is missed.
const STRIDE: usize = 4;

/// Checks that elements of `output` are exactly the reference's: all of them, or of a large output those in one share of
/// [`STRIDE`].
pub(super) fn expect<T: Element>(
    output: &DeviceBuffer<T>,
    reference: impl Fn(usize) -> T + Sync,
) -> Result<(), Refusal> {
    let most = PIECE / size_of::<T>();
    if output.len() < WORTH_LOCKING * most {
        let mut rooms = [(); 2].map(|()| vec![T::zeroed(); most.min(output.len())]);
        return expect_in(rooms.each_mut().map(|room| &mut room[..]), output, &reference);
    }
    let mut rooms = [LockedBuffer::new(&T::zeroed(), most)?, LockedBuffer::new(&T::zeroed(), most)?];
    expect_in(rooms.each_mut().map(|room| &mut room[..]), output, &reference)
}

/// The same, with room for two pieces: one is copied while the other one is checked.
fn expect_in<T: Element>(
    [mut next, mut arrived]: [&mut [T]; 2],
    output: &DeviceBuffer<T>,
    reference: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Refusal> {
    let (most, mut before) = (next.len().max(1), 0..0);
    let stride = if output.len() * size_of::<T>() > CHECKED_AS_A_WHOLE { STRIDE } else { 1 };
    for start in (0..output.len()).step_by(most) {
        let range = start..output.len().min(start + most);
        let (mut checked, mut copied) = (Ok(()), Ok(()));
        // The closure itself stays on this thread, which has the context.
        rayon::in_place_scope(|scope| {
            let (piece, first) = (&arrived[..before.len()], before.start);
            let checked = &mut checked;
            scope.spawn(move |_| *checked = expect_piece(piece, first, stride, reference));
            copied = output.index(range.clone()).copy_to(&mut next[..range.len()]);
        });
        checked?;
        copied?;
        std::mem::swap(&mut next, &mut arrived);
        before = range;
    }
    expect_piece(&arrived[..before.len()], before.start, stride, reference)
}

/// The same for an `output` on the host.
pub(super) fn expect_host<T: Element>(
    output: &[T],
    reference: impl Fn(usize) -> T + Sync,
) -> Result<(), Refusal> {
    expect_piece(output, 0, 1, &reference)
}

/// The same for the elements from `start` on. Checks one share of `stride`, and the last one.
fn expect_piece<T: Element>(
    piece: &[T],
    start: usize,
    stride: usize,
    reference: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Refusal> {
    let wrong_in = |(number, share): (usize, &[T])| {
        let first = start + number * SHARE;
        if !vectorised(|| any_differs(share, first, reference)) {
            return None;
        }
        let mut elements = (first..).zip(share.iter().copied());
        // Whatever the search says, a share that differs is wrong.
        elements.find(|(index, found)| *found != reference(*index)).or(Some((first, share[0])))
    };
    let shares = piece.par_chunks(SHARE);
    let last = shares.len().saturating_sub(1);
    let is_checked = |(number, _): &(usize, &[T])| number % stride == 0 || *number == last;
    let wrong = shares.enumerate().filter(is_checked).find_map_first(wrong_in);
    wrong.map_or(Ok(()), |(index, found)| {
        Err(format!("element {index} is {found}, not {}", reference(index)).into())
    })
}

/// Returns whether an element of `share` differs, where `first` is the index of its first one. A NaN differs from everything. It looks
/// at every element, since a loop that ends early is not vectorised.
#[inline(always)]
fn any_differs<T: Element>(share: &[T], first: usize, reference: &impl Fn(usize) -> T) -> bool {
    let indices = first..first + share.len();
    share.iter().zip(indices).fold(false, |any, (found, index)| any | (*found != reference(index)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// In the middle of the second share, which is not whole.
    const WRONG: usize = SHARE + SHARE / 3;
    const COUNT: usize = 2 * SHARE - 5;

    fn message(output: &[f32], reference: impl Fn(usize) -> f32 + Sync) -> String {
        expect_host(output, reference).expect_err("an element differs").to_string()
    }

    #[test]
    fn the_first_element_that_differs_is_named() {
        let mut output: Vec<f32> = (0..COUNT).map(|index| index as f32).collect();
        expect_host(&output, |index| index as f32).expect("all are equal");
        output[WRONG] = -1.0;
        output[COUNT - 1] = -2.0;
        assert_eq!(message(&output, |index| index as f32), format!("element {WRONG} is -1, not {WRONG}"));
        output[0] = 7.0;
        assert_eq!(message(&output, |index| index as f32), "element 0 is 7, not 0");
    }

    #[test]
    fn a_large_output_is_checked_in_part_and_to_its_end() {
        let mut output = vec![0.5; 7 * SHARE - 5];
        let checked = |output: &[f32]| expect_piece(output, 0, STRIDE, &|_| 0.5);
        for wrong in [0, 4 * SHARE + 7, 7 * SHARE - 6] {
            output[wrong] = -1.0;
            let message = checked(&output).expect_err("an element differs").to_string();
            assert_eq!(message, format!("element {wrong} is -1, not 0.5"));
            output[wrong] = 0.5;
        }
        checked(&output).expect("all are equal");
    }

    #[test]
    fn a_nan_differs_from_everything() {
        let mut output = vec![0.5; COUNT];
        output[WRONG] = f32::NAN;
        assert_eq!(message(&output, |_| 0.5), format!("element {WRONG} is NaN, not 0.5"));
        assert_eq!(message(&output, |_| f32::NAN), "element 0 is 0.5, not NaN");
    }

    #[test]
    fn nothing_differs_from_nothing() {
        expect_host(&[], |_| f32::NAN).expect("there is no element");
    }
}
