#![deny(unsafe_code)]

use gpubench::{gpu_bench, host};

// What is allowed for the function is allowed for its launches.
#[gpu_bench(unsafe)]
#[allow(unsafe_code)]
unsafe fn allowed(_stream: &host::Stream) {}

#[gpu_bench(unsafe)]
unsafe fn refused(_stream: &host::Stream) {}

fn main() {}
