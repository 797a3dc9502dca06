//! What an attribute with a mistake uses is not reported as unused, and nothing of it is reported twice.
#![allow(unused_variables)]

use std::cmp::max;
use std::iter::repeat_n;

use gpubench::{gpu_bench, host, pow2};

use crate::inputs::{Element, made, same};

#[gpu_bench(args(n = pow2(4..=6)), setup = |n| { let x = made(max(n, 4))?; Ok(x) }, check = same(x), bytes = 4 * x.len(), flop = 2)]
fn misspelt(x: &[f32], stream: &host::Stream) {}

#[gpu_bench(args(n = [1]), setup = made, reset = |x, s| drop(repeat_n(f32::of(x), 2)), skip_if = max(n, 2) > 3)]
fn without_a_reason(x: &mut [f32], stream: &host::Stream) {}

mod inputs {
    pub trait Element {
        fn of(_: &[f32]) -> usize {
            1
        }
    }

    impl Element for f32 {}

    pub fn made(n: usize) -> Result<Vec<f32>, String> {
        Ok(vec![0.0; n])
    }

    pub fn same(_: &[f32]) {}
}

fn main() {}
