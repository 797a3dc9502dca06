//! The blocks of a launch and their threads.

use cust::context::CurrentContext;
use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::function::{BlockSize, GridSize};

/// The bytes that a thread loads or stores at once.
pub(super) const VECTOR: usize = 16;

/// The size of a device, to which grids are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    multiprocessors: u32,
    /// The threads that a multiprocessor holds.
    threads: u32,
}

/// Blocks and the threads of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The number of blocks.
    pub blocks: u32,
    /// The number of threads of each block.
    pub threads: u32,
}

impl Geometry {
    /// The geometry of a device with this number of multiprocessors, which hold this number of threads each.
    #[must_use]
    pub const fn new(multiprocessors: u32, threads: u32) -> Self {
        Self { multiprocessors, threads }
    }

    /// The geometry of the device whose context is current.
    ///
    /// # Errors
    /// There is no such device.
    pub fn of_current_device() -> CudaResult<Self> {
        let device = CurrentContext::get_device()?;
        let read = |attribute| Ok(device.get_attribute(attribute)?.unsigned_abs());
        Ok(Self::new(
            read(DeviceAttribute::MultiprocessorCount)?,
            read(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
        ))
    }

    /// The grid of a reduction of `bytes` bytes: 1024 threads a multiprocessor, each with eight vectors in flight, in blocks
    /// of 512, since every block has a partial sum to hand over. A small array has a vector a thread.
    #[must_use]
    pub fn reduction(self, bytes: usize) -> Grid {
        let most = self.filled(512);
        Grid { blocks: Grid::covering(bytes.div_ceil(VECTOR), 512).blocks.min(most.blocks), ..most }
    }

    /// Blocks of this number of threads, as many as make 1024 threads a multiprocessor, or fewer if it holds fewer.
    #[must_use]
    pub fn filled(self, threads: u32) -> Grid {
        let each = (self.threads.min(1024) / threads).max(1);
        Grid { blocks: self.multiprocessors.max(1).saturating_mul(each), threads }
    }
}

impl Grid {
    /// The grid of an element-wise kernel over arrays of `bytes` bytes: a thread for each vector.
    #[must_use]
    pub fn elementwise(bytes: usize) -> Self {
        Self::covering(bytes / VECTOR, 256)
    }

    /// Blocks of `threads` threads with a thread for each unit of `work`, at least one block.
    #[must_use]
    pub fn covering(work: usize, threads: u32) -> Self {
        let blocks = work.div_ceil(threads as usize).max(1);
        Self { blocks: u32::try_from(blocks).unwrap_or(u32::MAX), threads }
    }
}

/// The sizes of a grid and of a block that have more than one dimension, or a grid whose size does not follow from the
/// work.
pub(super) fn shape(grid: impl Into<GridSize>, block: impl Into<BlockSize>) -> (GridSize, BlockSize) {
    (grid.into(), block.into())
}

impl From<Grid> for (GridSize, BlockSize) {
    fn from(grid: Grid) -> Self {
        (grid.blocks.into(), grid.threads.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Geometry = Geometry::new(132, 2048);
    const ODD: [usize; 16] =
        [0, 1, 2, 3, 4, 5, 127, 1023, 1024, 1025, 4095, 4099, 65_537, 262_147, 1_000_003, 5_000_011];

    /// Counts how often the kernels touch each of `n` elements in vectors of `width`: a thread takes those that
    /// `of_thread` tells, of so many, then its element of the rest.
    fn touched(
        n: usize,
        width: usize,
        grid: Grid,
        of_thread: impl Fn(usize, usize) -> Vec<usize>,
    ) -> Vec<u8> {
        let vectors = n / width;
        let mut touched = vec![0; n];
        for thread in 0..grid.blocks as usize * grid.threads as usize {
            for vector in of_thread(thread, vectors) {
                touched[width * vector..][..width].iter_mut().for_each(|times| *times += 1);
            }
            if let Some(times) = touched.get_mut(width * vectors + thread) {
                *times += 1;
            }
        }
        touched
    }

    #[test]
    fn every_element_is_touched_once() {
        for n in ODD {
            for (width, bytes) in [(4, 4 * n), (2, 8 * n)] {
                let own = |thread, vectors| (thread..vectors).take(1).collect();
                let touched = touched(n, width, Grid::elementwise(bytes), own);
                assert!(touched.iter().all(|times| *times == 1), "{n} elements of {width} a vector");
            }
            for geometry in [H200, Geometry::new(3, 1536), Geometry::new(1, 1024), Geometry::new(0, 0)] {
                for batch in [4, 8] {
                    let grid = geometry.reduction(4 * n);
                    let (blocks, threads) = (grid.blocks as usize, grid.threads as usize);
                    let (tile, all) = (batch * threads, blocks * threads);
                    let tiles = |thread: usize, vectors: usize| {
                        let whole = vectors - vectors % (batch * all);
                        let first = thread / threads * tile + thread % threads;
                        let rounds = (first..whole).step_by(batch * all);
                        let of_rounds = rounds.flat_map(|first| (0..batch).map(move |k| first + k * threads));
                        let rest = (0..batch).map(|k| whole + thread + k * all);
                        of_rounds.chain(rest).filter(|vector| *vector < vectors).collect()
                    };
                    let touched = touched(n, 4, grid, tiles);
                    assert!(touched.iter().all(|times| *times == 1), "{n} elements, {grid:?}");
                }
            }
        }
    }

    #[test]
    fn blocks_follow_the_work_and_those_of_reductions_end_with_the_device() {
        let elementwise = |bytes| Grid::elementwise(bytes).blocks;
        assert_eq!(
            [0, 1, 4096, 4112, 64 << 10, 1 << 20, 1 << 30].map(elementwise),
            [1, 1, 1, 2, 16, 256, 262_144]
        );
        assert_eq!(H200.reduction(8193), Grid { blocks: 2, threads: 512 });
        assert_eq!(H200.reduction(usize::MAX), Grid { blocks: 264, threads: 512 });
        assert_eq!(H200.filled(256), Grid { blocks: 528, threads: 256 });
        // A Turing GPU, whose multiprocessors hold fewer threads.
        assert_eq!(Geometry::new(40, 1024).reduction(1 << 30), Grid { blocks: 80, threads: 512 });
    }
}
