#![allow(unused_variables)]

use std::fmt;

use gpubench::{gpu_bench, host};

/// Nothing converts it to a boxed error.
struct Plain;

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("plain")
    }
}

#[gpu_bench(args(n = [4]), setup = |n| { if n == 0 { return Err(Plain.into()); } Ok(vec![0_u8; n]) })]
fn no_error(x: &[u8], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| { let m: usize = "4".parse()?; if n == 0 { return Err("empty"); } Ok(vec![0_u8; n]) })]
fn text_beside_a_question(x: &[u8], _stream: &host::Stream) {}

fn main() {}
