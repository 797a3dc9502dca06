//! `inputs.cu`: inputs that look random and can be made again from a seed and an index, and the cycle of the chain of loads.

use super::{Array, KernelCall, Reference, set};

/// Element `index` of the input `seed`: uniform in [0, 1), with 24 random bits, so that it is exact as `f32` too.
#[must_use]
pub fn element(seed: u64, index: usize) -> f64 {
    f64::from(bits(seed, index)) / f64::from(1 << 24)
}

/// The 24 random bits of element `index` of the input `seed`.
#[must_use]
pub fn bits(seed: u64, index: usize) -> u32 {
    // The output function of SplitMix64 (Steele, Lea & Flood 2014) on its own Weyl sequence.
    let mut bits = seed.wrapping_add(index as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    (bits >> 40) as u32
}

/// Element `index` of the input `seed` as the bits of a bf16. It cuts off the bits that a bf16 lacks.
#[must_use]
pub fn bf16_bits(seed: u64, index: usize) -> u16 {
    ((element(seed, index) as f32).to_bits() >> 16) as u16
}

/// The value of a bf16 with these bits.
#[must_use]
pub fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The words of a line of 128 bytes.
pub const LINE_WORDS: u64 = 16;

/// The line after `line` in the cycle through all `lines` lines, a power of two: a linear congruential generator of full
/// period (Hull & Dobell 1962), with the multiplier of Knuth's MMIX.
#[must_use]
pub fn next_line(line: u64, lines: u64) -> u64 {
    line.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) & (lines - 1)
}

/// Word `word` of a table of this number of lines. The first word of a line is the index of the first word of the next; the
/// others are never read.
#[must_use]
pub fn cycle(word: u64, lines: u64) -> u64 {
    if word.is_multiple_of(LINE_WORDS) { LINE_WORDS * next_line(word / LINE_WORDS, lines) } else { 0 }
}

/// The output of a kernel that fills an array of elements of `SIZE` bytes.
fn output<const SIZE: u64>(call: &KernelCall) -> Vec<Array> {
    vec![Array::write(call.word(0), call.bytes(1, SIZE))]
}

/// Sets the elements from `first` on to what `element` returns for the seed and their indices.
fn fill<const SIZE: usize>(
    call: &KernelCall,
    first: u64,
    out: &mut [u8],
    element: impl Fn(u64, usize) -> [u8; SIZE],
) {
    let seed = call.word(2);
    set(out, |index| element(seed, first as usize + index));
}

/// The references for these kernels.
pub const KERNELS: &[Reference] = &[
    Reference::elementwise("random_f32", &[8, 8, 8], output::<4>, 4, |call, first, _inputs, y| {
        fill(call, first, y, |seed, index| (element(seed, index) as f32).to_le_bytes());
    }),
    Reference::elementwise("random_u32", &[8, 8, 8], output::<4>, 4, |call, first, _inputs, y| {
        fill(call, first, y, |seed, index| bits(seed, index).to_le_bytes());
    }),
    Reference::elementwise("random_f64", &[8, 8, 8], output::<8>, 8, |call, first, _inputs, y| {
        fill(call, first, y, |seed, index| element(seed, index).to_le_bytes());
    }),
    Reference::elementwise("random_bf16", &[8, 8, 8], output::<2>, 2, |call, first, _inputs, y| {
        fill(call, first, y, |seed, index| bf16_bits(seed, index).to_le_bytes());
    }),
    Reference::elementwise(
        "cycle",
        &[8, 8],
        |call| vec![Array::write(call.word(0), call.bytes(1, 8 * LINE_WORDS))],
        8,
        |call, first, _inputs, y| set(y, |index| cycle(first + index as u64, call.word(1)).to_le_bytes()),
    ),
];
