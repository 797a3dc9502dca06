//! A function for the CPU, on all its threads.

use gpubench::{gpu_bench, host};
use rayon::prelude::*;

gpubench::main!();

/// The brightness of each pixel.
#[gpu_bench(
    args(n = [1 << 12, 1 << 20]),
    setup = |n| Ok((vec![[200, 100, 50]; n], vec![0; n])),
    reads = 3 * n,
    writes = n,
    items = n, "pixels",
    check = assert!(luma.iter().all(|luma| *luma == 124)),
)]
fn gray(rgb: &[[u8; 3]], luma: &mut [u8], stream: &host::Stream) {
    let block = stream.block_of::<u8>(luma.len());
    stream.run(|| {
        luma.par_chunks_mut(block).zip(rgb.par_chunks(block)).for_each(|(luma, rgb)| {
            for (luma, [r, g, b]) in luma.iter_mut().zip(rgb) {
                *luma = ((77 * u16::from(*r) + 150 * u16::from(*g) + 29 * u16::from(*b)) >> 8) as u8;
            }
        });
    });
}
