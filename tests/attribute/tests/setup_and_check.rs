//! The ways to write `setup` and `check`: a function, a closure, an expression, with and without a type for errors.

use gpubench::gpu_bench;
use gpubench::host::Stream;

use crate::support::Benchmarks;

struct Data {
    n: usize,
    label: &'static str,
}

impl Data {
    fn of(n: usize) -> Result<Self, String> {
        Ok(Self { n, label: "made" })
    }

    fn verify(&self, n: usize) {
        assert_eq!((self.n, self.label), (n, "made"));
    }
}

#[gpu_bench(args(n = [2]), setup = Data::of, check = Data::verify)]
fn paths(data: &Data, _stream: &Stream) {
    assert_eq!(data.n, 2);
}

#[gpu_bench(args(n = [2usize, 3], m = ["4", "four"]), setup = |rows, columns| Ok(vec![0.0; rows * columns.parse::<usize>()?]),
    check = |x, n, m| { assert_eq!(x.len(), n * m.parse::<usize>()?); Ok(()) })]
fn closures(x: &mut Vec<f32>, _stream: &Stream) {
    x.fill(1.0);
}

#[gpu_bench(args(n = 2..5), setup = |n: usize| -> Result<_, std::num::ParseIntError> { let m: usize = "4".parse()?; Ok((n, m)) },
    check = |n: &usize, m: usize, same: usize| -> Result<(), String> {
        if *n == 3 { return Err(format!("{m} is not {same}")); }
        Ok(())
    })]
fn typed_closures(n_: &usize, m: usize, _stream: &Stream) {
    assert_eq!((*n_, m), (2.max(*n_), 4));
}

#[gpu_bench(args(n = [2]), setup = Ok(vec![0u8; n]), check = assert_eq!(x.len(), n), bytes = x.len())]
fn expressions(x: &[u8], _stream: &Stream) {
    assert_eq!(x, [0, 0]);
}

#[gpu_bench(args(n = [2]), setup = on(stream, n), check = Data::verify(data, n))]
fn on_the_stream(data: &Data, stream: &Stream) {
    stream.run(|| data.verify(2));
}

fn on(stream: &Stream, n: usize) -> Result<Data, String> {
    stream.run(|| Data::of(n))
}

#[gpu_bench(args(n = [2]), setup = |n| stream.run(|| Data::of(n)), check = { let n = data.n; if n == 2 { Ok(()) } else { Err("not two") } })]
fn block(data: &Data, stream: &Stream) {
    stream.run(|| data.verify(2));
}

#[gpu_bench(args(n = [1, 2]), setup = prepare, check = |n| if n == 2 { return Err("two"); } else { Ok(()) })]
fn nothing_made(_stream: &Stream) {}

fn prepare(n: u8) -> Result<(), String> {
    assert!(n < 3);
    Ok(())
}

// The statement form, where an early return is the only hint of the type.
#[gpu_bench(args(n = [1, 2]), setup = |n| { if n == 2 { return Err("two is one too many"); } Ok([n; 2]) })]
fn early(pair: &[i64; 2], _stream: &Stream) {
    assert_eq!(pair, &[1, 1]);
}

// No `Result`: each form returns the inputs themselves.
#[gpu_bench(args(n = [2]), setup = pair_of, check = assert_eq!(x.len() + usize::from(*a), n + 1))]
fn plain_path(a: &u8, x: &mut [f32], _stream: &Stream) {
    x.fill(f32::from(*a));
}

fn pair_of(n: usize) -> (u8, Vec<f32>) {
    (1, vec![0.0; n])
}

#[gpu_bench(args(n = [2]), setup = |n| (1, vec![stream.threads(); n]), check = |a, x, n| assert_eq!((*a, x.len()), (1, n)))]
fn plain_closure(a: &u8, x: &[usize], stream: &Stream) {
    assert_eq!((*a, x), (1, &[stream.threads(); 2][..]));
}

#[gpu_bench(args(n = [1, 2]), setup = |n| { if n == 2 { return Vec::new(); } vec![0; n] }, check = assert_eq!(x.len(), n % 2))]
fn plain_early(x: &[u8], _stream: &Stream) {
    assert!(x.len() < 2);
}

#[gpu_bench(args(n = [2]), setup = Data { n, label: "plain" }, check = assert_eq!(data.label, "plain"))]
fn plain_struct(data: &Data, _stream: &Stream) {
    assert_eq!(data.n, 2);
}

#[gpu_bench(types(T = [u8, f32]), setup = (vec![T::default(); 2], T::default()), check = assert_eq!(x[0], *first))]
fn plain_generic<T: Copy + Default + PartialEq + std::fmt::Debug>(x: &mut [T], first: &T, _stream: &Stream) {
    x.fill(*first);
}

#[gpu_bench(args(n = [2]), setup = assert!(n == 2), check = ())]
fn plain_nothing(_stream: &Stream) {}

// A field or a method that is called like a parameter is not that parameter.
#[gpu_bench(setup = Data::of(3), check = assert_eq!(data.n, 3), bytes = data.n)]
fn names_of_fields(data: &Data, _stream: &Stream) {
    data.verify(3);
}

#[gpu_bench(args(n = [3], label = ["made"]), setup = Data::of(n), check = assert_eq!(data.label, "made"))]
fn axes_called_like_fields(data: &Data, _stream: &Stream) {
    data.verify(3);
}

// A name inside a format string is a use of it.
#[gpu_bench(args(n = [3]), setup = Ok::<_, String>(format!("{n}")), check = assert_eq!(format!("{text}{n:?}"), "33"))]
fn format_strings(text: &str, _stream: &Stream) {
    assert_eq!(text, "3");
}

// One parameter more than inputs and arguments: what the launch function returned.
#[gpu_bench(args(n = [2, 3]), setup = |n| Ok(vec![1; n]), check = |sum, x, n| if n == 3 { Err(format!("{sum} of {}", x.len())) } else { Ok(()) })]
fn outputs(x: &[u32], _stream: &Stream) -> Result<u32, String> {
    Ok(x.iter().sum())
}

#[gpu_bench(check = |made| assert_eq!(made, "made"))]
fn output_alone(_stream: &Stream) -> Result<String, String> {
    Ok("made".to_owned())
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn inputs_are_set_up_and_checked() {
    for name in [
        "paths",
        "closures",
        "typed_closures",
        "expressions",
        "on_the_stream",
        "block",
        "nothing_made",
        "outputs",
        "output_alone",
        "plain_path",
        "plain_closure",
        "plain_early",
        "plain_struct",
        "plain_nothing",
    ] {
        assert!(OURS.run(name).checked, "{name}");
    }
    for name in ["early", "names_of_fields", "axes_called_like_fields", "format_strings"] {
        OURS.run(name);
    }
    let failure = |name, n| OURS.run_with(name, &[("n", n)]).unwrap_err().to_string();
    assert_eq!(failure("typed_closures", "3"), "check: 4 is not 3");
    assert_eq!(failure("nothing_made", "2"), "check: two");
    assert_eq!(failure("outputs", "3"), "check: 3 of 3");
    assert_eq!(failure("early", "2"), "setup: two is one too many");
    let failure = OURS.run_with("closures", &[("m", "four")]).unwrap_err();
    assert_eq!(failure.to_string(), "setup: invalid digit found in string");
    assert_eq!(OURS.run("expressions").counts.bytes, Some(2));
}
