//! How many blocks of how many threads a launch has. In: the device's size and the work; out: a [`Grid`]. The kernels are
//! right with any grid, so that this is a matter of speed alone.

use cust::context::CurrentContext;
use cust::device::DeviceAttribute;
use cust::error::CudaResult;

/// The bytes that a thread loads or stores at once.
const VECTOR: usize = 16;

/// As much of a device as launches are cut to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    multiprocessors: u32,
    /// How many threads a multiprocessor holds.
    threads: u32,
}

/// Blocks and the threads of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// How many blocks.
    pub blocks: u32,
    /// How many threads each of them has.
    pub threads: u32,
}

impl Geometry {
    /// Of a device with so many multiprocessors that hold so many threads each.
    #[must_use]
    pub const fn new(multiprocessors: u32, threads: u32) -> Self {
        Self { multiprocessors, threads }
    }

    /// Of the device whose context is current.
    ///
    /// # Errors
    /// Where there is none.
    pub fn of_current_device() -> CudaResult<Self> {
        let device = CurrentContext::get_device()?;
        let read = |attribute| Ok(device.get_attribute(attribute)?.unsigned_abs());
        Ok(Self::new(
            read(DeviceAttribute::MultiprocessorCount)?,
            read(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
        ))
    }

    /// For the element-wise kernels over arrays of `bytes` bytes: 1024 threads a multiprocessor, each with eight vectors
    /// under way in up to 64 registers, in blocks of 256. Small arrays are spread as far as one vector a thread goes.
    #[must_use]
    pub fn elementwise(self, bytes: usize) -> Grid {
        self.grid(256, self.threads.min(1024)).cut_to(bytes)
    }

    /// For the reduction of `bytes` bytes: as many threads as a multiprocessor holds, each with four vectors under way in
    /// about 32 registers, in blocks of 512, since every block has a partial sum to hand over.
    #[must_use]
    pub fn reduction(self, bytes: usize) -> Grid {
        self.grid(512, self.threads).cut_to(bytes)
    }

    /// The whole device filled with `resident` threads a multiprocessor, in blocks of `threads`.
    fn grid(self, threads: u32, resident: u32) -> Grid {
        let blocks = self.multiprocessors.max(1).saturating_mul((resident / threads).max(1));
        Grid { blocks, threads }
    }
}

impl Grid {
    /// No more blocks than have a vector for each of their threads, but one.
    fn cut_to(self, bytes: usize) -> Self {
        let blocks = bytes.div_ceil(VECTOR).div_ceil(self.threads as usize);
        Self { blocks: u32::try_from(blocks).unwrap_or(u32::MAX).clamp(1, self.blocks), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Geometry = Geometry::new(132, 2048);
    const ODD: [usize; 16] =
        [0, 1, 2, 3, 4, 5, 127, 1023, 1024, 1025, 4095, 4099, 65_537, 262_147, 1_000_003, 5_000_011];

    /// How often the loops of the kernels touch each of `n` elements: `batch` vectors of `width` a round, then the rest.
    fn touched(n: usize, width: usize, batch: usize, grid: Grid) -> Vec<u8> {
        let (vectors, stride) = (n / width, grid.blocks as usize * grid.threads as usize);
        let mut touched = vec![0; n];
        for thread in 0..stride {
            let mut first = thread;
            while first < vectors {
                for vector in (0..batch).map(|k| first + k * stride).filter(|i| *i < vectors) {
                    touched[width * vector..][..width].iter_mut().for_each(|times| *times += 1);
                }
                first += batch * stride;
            }
            if let Some(times) = touched.get_mut(width * vectors + thread) {
                *times += 1;
            }
        }
        touched
    }

    #[test]
    fn every_element_is_touched_once() {
        for geometry in [H200, Geometry::new(3, 1536), Geometry::new(1, 1024), Geometry::new(0, 0)] {
            for n in ODD {
                for (width, batch, grid) in [
                    (4, 8, geometry.elementwise(4 * n)),
                    (2, 4, geometry.elementwise(8 * n)),
                    (4, 4, geometry.reduction(4 * n)),
                ] {
                    let touched = touched(n, width, batch, grid);
                    assert!(touched.iter().all(|times| *times == 1), "{n} elements, {grid:?}");
                }
            }
        }
    }

    #[test]
    fn blocks_follow_the_work_and_end_with_the_device() {
        let elementwise = |bytes| H200.elementwise(bytes).blocks;
        assert_eq!(
            [0, 1, 4096, 4097, 64 << 10, 1 << 20, 1 << 30].map(elementwise),
            [1, 1, 1, 2, 16, 256, 528]
        );
        assert_eq!(H200.reduction(8193), Grid { blocks: 2, threads: 512 });
        assert_eq!(H200.reduction(usize::MAX), Grid { blocks: 528, threads: 512 });
        // A Turing GPU, whose multiprocessors hold fewer threads.
        assert_eq!(Geometry::new(40, 1024).reduction(1 << 30), Grid { blocks: 80, threads: 512 });
    }
}
