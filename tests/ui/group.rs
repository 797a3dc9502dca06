#![allow(unused_variables)]

use gpubench::{gpu_bench, group, host};

const NO_GROUP: &str = "text";

#[gpu_bench(group = NO_GROUP)]
fn of_text(_stream: &host::Stream) {}

#[gpu_bench(group = MISSING)]
fn of_nothing(_stream: &host::Stream) {}

group!(cold);
group!(TRANSFERS, setup = inputs, cold, cold, max_tiem = 3, tags = [nightly]);
group!(NAMED = 3);
group!();

fn main() {}
