//! Launch functions as they are found: unsafe ones, several attributes, errors of every kind, conditional and generated
//! ones. The rows are right: each does what its name says, once.

#![deny(warnings)]

use std::error::Error;
use std::fmt;

use gpubench::{gpu_bench, host::Stream};

use crate::support::Benchmarks;

/// # Safety
/// `x` has two elements or more.
#[gpu_bench(unsafe, setup = Ok(vec![1u8, 2]), check = assert_eq!(x, &[1, 3]), writes = x.len())]
unsafe fn unchecked(x: &mut [u8], stream: &Stream) -> Result<(), String> {
    // SAFETY: there are two elements.
    stream.run(|| unsafe { *x.get_unchecked_mut(1) += 1 });
    Ok(())
}

/// # Safety
/// None is needed.
#[gpu_bench(unsafe, types(T = [u8, f32]), consts(N = [3]), setup = Ok([T::default(); N]), bytes = size_of_val(x))]
pub(crate) unsafe extern "C" fn unchecked_generic<T: Default + Copy, const N: usize>(
    x: &[T; N],
    _stream: &Stream,
) {
    let _ = x;
}

#[gpu_bench(name = "small", args(n = [1]))]
#[gpu_bench(name = "large", args(n = [1 << 10]))]
#[cfg_attr(all(), gpu_bench(name = "by cfg_attr", args(n = [7])))]
fn several_attributes(n: usize, _stream: &Stream) {
    assert!([1, 1 << 10, 7].contains(&n));
}

#[cfg(any())]
#[gpu_bench(types(T = [NoSuchType]))]
fn configured_out<T>(_stream: &NoSuchType) {}

// In this order the attribute sees the condition.
#[gpu_bench(types(T = [NoSuchType]))]
#[cfg(any())]
fn configured_out_below<T>(_stream: &NoSuchType) {}

#[gpu_bench(setup = Err::<(), _>("text"))]
fn texts(_stream: &Stream) {}

#[gpu_bench(setup = Err::<(), String>("text".to_owned()), check = Err(String::new()))]
fn strings(_stream: &Stream) -> Result<u8, String> {
    Ok(1)
}

/// Displays, and is no `Error`.
#[derive(Debug)]
struct Shown;

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is shown")
    }
}

#[gpu_bench]
fn shown(_stream: &Stream) -> Result<(), Shown> {
    Err(Shown)
}

#[gpu_bench]
fn boxed(_stream: &Stream) -> Result<(), Box<dyn Error>> {
    "x".parse::<u8>()?;
    Ok(())
}

#[gpu_bench]
fn boxed_and_sent(_stream: &Stream) -> Result<String, Box<dyn Error + Send + Sync + 'static>> {
    Err("sent")?
}

/// Displays, and is no `Error` either.
#[gpu_bench(setup = anyhow_inputs, check = |n| -> anyhow::Result<()> { n.to_string().parse::<i8>()?; Ok(()) })]
fn anyhows(n: u64, _stream: &Stream) -> anyhow::Result<()> {
    anyhow::ensure!(n > 0, "nothing to do");
    Ok(())
}

fn anyhow_inputs() -> anyhow::Result<u64> {
    Ok("300".parse()?)
}

/// Several kernels a launch, on any number of inputs.
#[gpu_bench(setup = Ok((1u8, [2u8], vec![3u8], 4i8, 'x', "y", Some(5), [6.0], (7, 8), Box::new(9), 10u16, ())),
    check = |a, b: &[u8; 1], c, d, e, f, g, h, i, j: Box<i32>, k, l| {
        assert_eq!((a, b, c, d, e, f, *g, *h, i, *j, k, l), (1, &[3], &[4][..], 4, 'x', "y", Some(6), [6.0], (7, 8), 9, 10, ()));
    })]
#[allow(clippy::too_many_arguments)]
fn twelve(
    a: u8,
    b: &mut [u8; 1],
    c: &mut [u8],
    _d: i8,
    _e: char,
    _f: &str,
    g: &mut Option<i32>,
    h: &[f64; 1],
    (_i, _): (i32, i32),
    j: Box<i32>,
    _: u16,
    (): (),
    stream: &Stream,
) {
    stream.run(|| b[0] += a);
    stream.run(|| c[0] += 1);
    stream.run(|| *g = g.map(|g| g + 1));
    assert_eq!((h.len(), *j), (1, 9));
}

mod deep {
    pub(in crate::found::deep) mod deeper {
        use gpubench::gpu_bench;

        #[gpu_bench(crate = gpubench)]
        pub(super) fn seen_here_only(_stream: &super::super::Stream) {}
    }

    pub(super) fn call(stream: &super::Stream) {
        deeper::seen_here_only(stream);
    }
}

macro_rules! family {
    ($($(#[$attribute:meta])* $name:ident($n:expr) $body:block)*) => {$(
        $(#[$attribute])*
        #[gpu_bench(args(n = [$n]), items = n)]
        fn $name(_: &Stream) $body
    )*};
}

family! {
    one(1u64) {}
    #[allow(dead_code)]
    two(1u64 + 1) {}
}

/// Options may come from a macro too, in the invisible groups that it passes them in.
macro_rules! with_options {
    ($function:ident, $name:literal, $group:expr, $tag:literal, $seconds:expr, $condition:expr, $why:literal, $count:expr) => {
        #[gpu_bench(
            name = $name, group = $group, tags = [$tag], max_time = $seconds, timeout = $seconds, data_type = $tag,
            args(n = [2]), skip_if = $condition, $why, items = $count, $why,
        )]
        fn $function(_: &Stream) {}
    };
}

gpubench::group!(GROUP = "grouped", cold);
with_options!(first_of_macro, "first", GROUP, "tag", 2, 1 > 2, "words", 2);
with_options!(second_of_macro, "second", "text", "tag", 0.5, true, "words", 2 + 1);

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn launch_functions_are_found_and_do_what_they_say() {
    let options = |name| OURS.entry(name).options;
    assert_eq!((options("first").group, options("first").cold), (Some("grouped"), true));
    assert_eq!((options("second").group, options("second").max_time), (Some("text"), Some(0.5)));
    assert_eq!((options("first").item, options("second").data_type), (Some("words"), "tag"));
    assert_eq!((OURS.run("first").skipped, OURS.run("second").skipped), (None, Some("words")));
    assert_eq!(OURS.run("second").counts.items, Some(3));

    let seen = OURS.run("unchecked");
    assert_eq!((seen.counts.writes, seen.checked), (Some(2), true));
    let bytes = |ty| OURS.run_with("unchecked_generic", &[("T", ty)]).unwrap().counts.bytes;
    assert_eq!([bytes("u8"), bytes("f32")], [Some(3), Some(12)]);
    for (name, n) in [("small", "1"), ("large", "1024"), ("by cfg_attr", "7")] {
        assert_eq!(OURS.run(name).axes, [("n", vec![n.to_owned()])]);
    }
    let names: Vec<&str> = OURS.entries().map(|entry| entry.name).collect();
    assert!(!names.iter().any(|name| name.contains("configured_out")));

    let failure = |name| OURS.run_with(name, &[]).unwrap_err().to_string();
    assert_eq!(failure("texts"), "setup: text");
    assert_eq!(failure("strings"), "setup: text");
    assert_eq!(failure("shown"), "launch: it is shown");
    assert_eq!(failure("boxed"), "launch: invalid digit found in string");
    assert_eq!(failure("boxed_and_sent"), "launch: sent");
    assert_eq!(failure("anyhows"), "check: number too large to fit in target type");

    assert!(OURS.run("twelve").checked);
    OURS.run("seen_here_only");
    let _ = deep::call;
    assert_eq!([OURS.run("one"), OURS.run("two")].map(|seen| seen.counts.items), [Some(1), Some(2)]);
}
