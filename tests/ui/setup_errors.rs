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

#[gpu_bench(args(n = [4]), setup = |n| { let x = made(n)?; (x.clone(), x) })]
fn plain_after_a_question(x: &[u8], y: &mut [u8], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| { if n == 0 { return Err("empty"); } (vec![0_u8; n], 1) })]
fn plain_after_an_error(x: &[u8], y: usize, _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = undisplayed)]
fn error_without_display(x: &[u8], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| { _ = made(n); })]
fn nothing_made(x: &[u8], _stream: &host::Stream) {}

fn made(n: usize) -> Result<Vec<u8>, String> {
    Ok(vec![0; n])
}

struct Opaque;

fn undisplayed(n: usize) -> Result<Vec<u8>, Opaque> {
    if n == 0 { Err(Opaque) } else { Ok(vec![0; n]) }
}

fn main() {}
