//! Times a launch of `gpu_caught` by Criterion, by the host's clock: the launch alone, and the launch with a wait behind it, as
//! people do who bench a kernel by a tool for functions.
//!
//! Criterion writes the results of a launch below `CRITERION_HOME`, as `NAME/queued` and `NAME/waited`.

#![allow(dead_code, reason = "the launches are those of another program")]

#[path = "../../../tests/end-to-end/src/bin/gpu_caught/calls.rs"]
mod calls;
#[path = "../../../tests/end-to-end/src/bin/gpu_caught/deceiving.rs"]
mod deceiving;
#[path = "../../../tests/end-to-end/src/bin/gpu_caught/gpu.rs"]
mod gpu;
#[path = "../../../tests/end-to-end/src/bin/gpu_caught/once_mistaken.rs"]
mod once_mistaken;

use std::time::Duration;
use std::{env, process};

use criterion::Criterion;
use gpubench::cuda::RawStream;
use gpubench::cuda::Cuda;

use crate::deceiving::{Aside, Lazy, MANY, Marked};
use crate::gpu::{Array, Context, Done, Event};
use crate::once_mistaken::{Filled, N};


fn main() {
    let name = env::args().nth(1).unwrap_or_default();
    let mut device = Cuda::open(0).unwrap_or_else(|error| fail(&error.to_string()));
    let stream = device.stream::<RawStream>().unwrap_or_else(|error| fail(&error.to_string()));
    timed(&name, &stream);
    // What some of these leave behind is not waited for.
    process::exit(0);
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    process::exit(1)
}

fn time<T>(name: &str, stream: &RawStream, inputs: Done<T>, launch: impl Fn(&T, &RawStream) -> Done) {
    let inputs = inputs.unwrap_or_else(|error| fail(&error.to_string()));
    let mut criterion = Criterion::default().without_plots();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let launched = || launch(&inputs, stream).unwrap_or_else(|error| fail(&error.to_string()));
    group.bench_function("queued", |bencher| bencher.iter(launched));
    group.bench_function("waited", |bencher| {
        bencher.iter(|| {
            launched();
            calls::synchronize(stream.stream().cast()).unwrap_or_else(|error| fail(&error.to_string()));
        });
    });
}

fn timed(name: &str, stream: &RawStream) {
    macro_rules! launches {
        ($($launch:literal: $inputs:expr => $call:expr;)*) => {
            match name {
                $($launch => time(name, stream, $inputs, $call),)*
                _ => fail(&format!("there is no launch `{name}`")),
            }
        };
    }
    use {deceiving as d, once_mistaken as o};
    launches! {
        "honest": Filled::new(N) => |it, stream| it.fill(0.5, stream.stream().cast());
        "default_stream_alone": Filled::new(N) => o::default_stream_alone;
        "default_stream_beside": Filled::new(N) => o::default_stream_beside;
        "synchronises": Filled::new(N) => o::synchronises;
        "allocates": Filled::new(N) => o::allocates;
        "idles": Filled::new(N) => |it, stream| o::idles(it, &[0.5], stream);
        "claims_all_changes_half": Filled::new(4 * N) => o::claims_all_changes_half;
        "fifty_then_one": Filled::new(N) => o::fifty_then_one;
        "ignores_an_error": Filled::new(N) => o::ignores_an_error;
        "side_stream": Aside::new(0) => d::side_stream;
        "side_stream_later": Aside::new(0) => d::side_stream_later;
        "another_thread": Aside::new(0) => d::another_thread;
        "cached_by_the_host": Filled::new(N) => d::cached_by_the_host;
        "cached_on_the_device": Marked::new(N) => d::cached_on_the_device;
        "yesterdays_result": Marked::new(MANY) => d::yesterdays_result;
        "lazy": Lazy::new(N) => |it, stream| { d::lazy(it, stream); Ok(()) };
        "stale_answer": answers() => |(earlier, c), stream| d::stale_answer(earlier, c, stream);
        "feeds_on_itself": Filled::new(N) => d::feeds_on_itself;
        "right_at_first": Filled::new(N) => d::right_at_first;
        "smaller_grid_later": Filled::new(N) => d::smaller_grid_later;
        "fewer_elements_later": Filled::new(N) => d::fewer_elements_later;
        "another_kernel_later": Aside::new(0) => d::another_kernel_later;
        "fewer_bytes_later": with(Array::of(0.5, N)) => |(it, x), stream| d::fewer_bytes_later(x, it, stream);
        "copies_and_waits": Filled::new(N) => d::copies_and_waits;
        "waits_for_an_event": with(Event::new()) => |(it, event), stream| d::waits_for_an_event(it, event, stream);
        "asks_until_done": Filled::new(N) => d::asks_until_done;
        "frees": Filled::new(N) => d::frees;
        "loads_a_module": Filled::new(N) => d::loads_a_module;
        "leaves_another_context": with(Context::new()) => |(it, other), stream| d::leaves_another_context(it, other, stream);
        "calls_the_host": Filled::new(N) => d::calls_the_host;
        "ignores_an_error_later": Filled::new(N) => d::ignores_an_error_later;
    }
}

fn answers() -> Done<(Array, Array)> {
    Ok((Array::of(0.5, 4096 * 4096)?, Array::of(0.0, 4096 * 4096)?))
}

/// An array to fill beside something else.
fn with<T>(other: Done<T>) -> Done<(Filled, T)> {
    Ok((Filled::new(N)?, other?))
}
