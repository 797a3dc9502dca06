//! Numbers that look random and are the same in each run. In: a number; out: another.

/// Returns a number that looks random, of each number another (`SplitMix64`).
#[doc(hidden)]
pub fn random(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
