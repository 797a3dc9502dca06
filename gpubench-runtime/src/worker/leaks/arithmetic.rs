//! The floating-point control of a thread: how it rounds, and if it takes denormal numbers for zero. Registers hold it (MXCSR on x86,
//! FPCR on Arm), which only unsafe code can read; sums and products tell it as well.

use std::hint::black_box;

/// The results of sums and products that depend on that control, to the bit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arithmetic([u64; 5]);

impl Arithmetic {
    /// Computes them on this thread.
    pub(super) fn now() -> Self {
        let [one, tiny] = [1.0, f64::EPSILON / 1024.0].map(black_box);
        let [least, denormal, half] = [f64::MIN_POSITIVE, f64::from_bits(1), 0.5].map(black_box);
        // The first three differ in each direction of rounding.
        let results = [one + tiny, -one - tiny, one - tiny, least * half, denormal / black_box(f64::EPSILON)];
        Self(results.map(|result| black_box(result).to_bits()))
    }
}
