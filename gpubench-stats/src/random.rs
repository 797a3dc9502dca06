//! Reproducible pseudo-random numbers.

/// Returns the `SplitMix64` hash of `number`: a pseudo-random number that is the same in each run. Different
/// numbers have different hashes.
#[doc(hidden)]
pub fn random(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
