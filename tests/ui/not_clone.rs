#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

struct Handle;

#[gpu_bench(setup = Ok(Handle))]
fn by_value(_handle: Handle, _stream: &host::Stream) {}

fn main() {}
