//! Launch functions on this machine's CPU, honest, mistaken and deceptive, and the verdict that each must get.
//!
//! ```sh
//! cpu_caught                       # all of them, as a table of 80 columns; exit 1 if one has another verdict
//! cpu_caught copies lazy           # two of them
//! ```

mod expected;
mod honest;
mod mistaken;

use std::process::ExitCode;

use crate::expected::GROUPS;

/// The elements of most arrays here: 256 KiB.
const N: usize = 1 << 16;
/// The elements of an array to sort, which takes milliseconds without optimisation.
const SORTED: usize = N / 8;

fn main() -> ExitCode {
    gpubench::program(|suite| end_to_end::caught::run(suite, GROUPS))
}

/// An array to fill, and the number of launches so far.
struct Filled {
    y: Vec<f32>,
    launches: u64,
}

impl Filled {
    fn new(n: usize) -> Self {
        Self { y: vec![0.0; n], launches: 0 }
    }

    /// The number of this launch, from 1.
    fn number(&mut self) -> u64 {
        self.launches += 1;
        self.launches
    }
}

/// Compares every element with a value.
fn all_are(y: &[f32], expected: f32) -> Result<(), String> {
    match y.iter().position(|y| y.to_bits() != expected.to_bits()) {
        Some(index) => Err(format!("element {index} is {} and not {expected}", y[index])),
        None => Ok(()),
    }
}

/// Numbers in no order, the same for the same seed.
fn unsorted(n: usize, seed: u32) -> Vec<u32> {
    let next = |x: &u32| Some(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(seed), next).map(|x| x.rotate_left(16)).take(n).collect()
}
