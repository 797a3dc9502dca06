//! Checks outputs on the device against a reference for each element. Copies the output in pieces, so that checking a gigabyte
//! takes 8 MiB of the host's memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use cust::memory::{CopyDestination as _, DeviceBuffer, LockedBuffer, bytemuck};
use cust::sys;
use rayon::prelude::*;

use super::inputs::{Element, Refusal};
use crate::vectorised::vectorised;

/// The elements that a thread checks at once. Rayon's own search asks for each element whether another thread has found one, which
/// costs ten times as much as the comparison.
const SHARE: usize = 1 << 14;
/// The shares of a piece, which is copied while the piece before is checked.
const PIECE: usize = 32;
/// The fewest shares that are copied into locked memory. A transfer into it takes 55 GB/s on an H200's host, and 15 into other
/// memory; to lock 8 MiB takes 2.4 ms, once in a process.
const WORTH_LOCKING: usize = 16;
/// The bytes of the largest output whose shares are all checked.
const CHECKED_AS_A_WHOLE: usize = 256 << 20;
/// Of larger outputs, one share in this many is checked, and the last one. In a matrix of such a size a share is at most one row, so
/// that no tile of a kernel is missed.
const STRIDE: usize = 8;

/// Memory on the host for two pieces, which stays locked until the process ends.
type Locked = ManuallyDrop<[LockedBuffer<u64>; 2]>;

thread_local! {
    static LOCKED: RefCell<Option<Locked>> = const { RefCell::new(None) };
}

/// Checks that elements of `output` are exactly the reference's: all of them, or of a large output those in one share of
/// [`STRIDE`].
pub(super) fn expect<T: Element>(
    output: &DeviceBuffer<T>,
    reference: impl Fn(usize) -> T + Sync,
) -> Result<(), Refusal> {
    let shares = checked_shares(output.len(), size_of::<T>());
    if shares.len() < WORTH_LOCKING {
        let mut rooms = [(); 2].map(|()| vec![T::zeroed(); output.len()]);
        return expect_in(rooms.each_mut().map(|room| &mut room[..]), output, &shares, &reference);
    }
    LOCKED.with_borrow_mut(|locked| {
        let rooms = match locked {
            Some(rooms) => rooms,
            None => {
                let new = || LockedBuffer::new(&0, PIECE * SHARE);
                locked.insert(ManuallyDrop::new([new()?, new()?]))
            }
        };
        let rooms = rooms.each_mut().map(|room| bytemuck::cast_slice_mut(&mut room[..]));
        expect_in(rooms, output, &shares, &reference)
    })
}

/// Returns the shares of an output that are checked. Only the last one may have fewer elements than [`SHARE`].
fn checked_shares(elements: usize, size: usize) -> Vec<Range<usize>> {
    let stride = if elements * size > CHECKED_AS_A_WHOLE { STRIDE } else { 1 };
    let shares = (0..elements).step_by(SHARE).map(|first| first..elements.min(first + SHARE));
    let is_checked = |(number, share): &(usize, Range<usize>)| number % stride == 0 || share.end == elements;
    shares.enumerate().filter(is_checked).map(|(_, share)| share).collect()
}

/// The same, with room for two pieces: one is copied while the other one is checked.
fn expect_in<T: Element>(
    [mut next, mut arrived]: [&mut [T]; 2],
    output: &DeviceBuffer<T>,
    shares: &[Range<usize>],
    reference: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Refusal> {
    let mut before: &[Range<usize>] = &[];
    for piece in shares.chunks(PIECE) {
        let (mut checked, mut copied) = (Ok(()), Ok(()));
        // The closure itself stays on this thread, which has the context.
        rayon::in_place_scope(|scope| {
            let (arrived, checked) = (&*arrived, &mut checked);
            scope.spawn(move |_| *checked = expect_piece(arrived, before, reference));
            copied = copy_shares(output, piece, next);
        });
        checked?;
        copied?;
        std::mem::swap(&mut next, &mut arrived);
        before = piece;
    }
    expect_piece(arrived, before, reference)
}

/// Copies shares of `output` into `room`, one after the other, and waits at the end. Neighbours are copied at once. On an H200's
/// host, a quarter of 1 GiB is checked in 20 ms, and in 45 ms with a wait after each share.
fn copy_shares<T: Element>(
    output: &DeviceBuffer<T>,
    shares: &[Range<usize>],
    room: &mut [T],
) -> Result<(), Refusal> {
    let mut filled = 0;
    for neighbours in shares.chunk_by(|share, next| share.end == next.start) {
        let part = output.index(neighbours[0].start..neighbours[neighbours.len() - 1].end);
        let end = filled + part.len();
        let (to, from) = (room[filled..end].as_mut_ptr().cast(), part.as_device_ptr().as_raw());
        // SAFETY: both have this many bytes, and stay until the wait below.
        succeeded(unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, size_of::<T>() * part.len(), null_mut()) })?;
        filled = end;
    }
    // SAFETY: it waits for the default stream.
    succeeded(unsafe { sys::cuStreamSynchronize(null_mut()) })
}

/// Returns an error unless the driver reports success.
fn succeeded(code: sys::CUresult) -> Result<(), Refusal> {
    if code == sys::CUresult::CUDA_SUCCESS {
        Ok(())
    } else {
        Err(format!("copying an output: {code:?}").into())
    }
}

/// The same for an `output` on the host.
pub(super) fn expect_host<T: Element>(
    output: &[T],
    reference: impl Fn(usize) -> T + Sync,
) -> Result<(), Refusal> {
    expect_piece(output, &checked_shares(output.len(), 0), &reference)
}

/// The same for `shares` of an output, which lie one after the other in `piece`.
fn expect_piece<T: Element>(
    piece: &[T],
    shares: &[Range<usize>],
    reference: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Refusal> {
    let wrong_in = |(share, range): (&[T], &Range<usize>)| {
        let (share, first) = (&share[..range.len()], range.start);
        if !vectorised(|| any_differs(share, first, reference)) {
            return None;
        }
        let mut elements = (first..).zip(share.iter().copied());
        // Whatever the search says, a share that differs is wrong.
        elements.find(|(index, found)| *found != reference(*index)).or(Some((first, share[0])))
    };
    let wrong = piece.par_chunks(SHARE).zip(shares).find_map_first(wrong_in);
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
/// `tolerance`. Sums of random inputs are exact here up to n = 2²⁹: they are multiples of 2⁻²⁴. A process computes the sum of each
/// `name` and `n` once.
pub(super) fn expect_sum(
    output: &DeviceBuffer<f64>,
    (name, n): (&'static str, usize),
    reference: impl Fn(usize) -> f64 + Sync,
    tolerance: f64,
) -> Result<(), Refusal> {
    static SUMS: Mutex<BTreeMap<(&str, usize), f64>> = Mutex::new(BTreeMap::new());
    let mut found = [f64::NAN];
    output.copy_to(&mut found)?;
    // What a panic left is whole: there is one insertion.
    let mut sums = SUMS.lock().unwrap_or_else(PoisonError::into_inner);
    let expected = *sums.entry((name, n)).or_insert_with(|| {
        let shares = checked_shares(n, 0);
        shares.into_par_iter().map(|share| vectorised(|| sum(share, &reference))).sum()
    });
    // A comparison in this direction is false for a NaN.
    if (found[0] - expected).abs() <= tolerance * expected.abs() {
        Ok(())
    } else {
        Err(format!("the sum is {}, not {expected}", found[0]).into())
    }
}

/// Returns the sum of `reference` over `indices`, in lanes that a loop of vector instructions can have.
#[inline(always)]
fn sum(indices: Range<usize>, reference: &impl Fn(usize) -> f64) -> f64 {
    const LANES: usize = 16;
    let mut lanes = [0.0; LANES];
    let whole = indices.len() / LANES;
    for row in 0..whole {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += reference(indices.start + LANES * row + lane);
        }
    }
    let rest = (indices.start + LANES * whole..indices.end).map(reference);
    lanes.iter().sum::<f64>() + rest.sum::<f64>()
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
        let elements = (CHECKED_AS_A_WHOLE / 4).next_multiple_of(STRIDE * SHARE) + 7 * SHARE - 5;
        let shares = checked_shares(elements, 4);
        assert_eq!(shares[..2], [0..SHARE, STRIDE * SHARE..(STRIDE + 1) * SHARE]);
        assert_eq!(shares.last(), Some(&(elements + 5 - SHARE..elements)));
        assert_eq!(shares.len(), elements.div_ceil(STRIDE * SHARE) + 1);
        assert_eq!(checked_shares(elements - 7 * SHARE, 3).len(), (elements - 7 * SHARE).div_ceil(SHARE));
    }

    #[test]
    fn the_index_of_a_wrong_element_is_that_in_the_output() {
        let mut piece = vec![0.5; 2 * SHARE - 5];
        let shares = [SHARE..2 * SHARE, 6 * SHARE..7 * SHARE - 5];
        expect_piece(&piece, &shares, &|_| 0.5).expect("all are equal");
        piece[SHARE + 7] = -1.0;
        let message = expect_piece(&piece, &shares, &|_| 0.5).expect_err("an element differs").to_string();
        assert_eq!(message, format!("element {} is -1, not 0.5", 6 * SHARE + 7));
    }

    #[test]
    fn a_sum_has_every_index_once() {
        for range in [0..0, 3..10, 5..5 + 16, 1..1000] {
            let expected: usize = range.clone().sum();
            assert_eq!(sum(range, &|index| index as f64), expected as f64);
        }
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
