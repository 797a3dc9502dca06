//! Error types of `setup`, `check` and `reset`: named, inferred, and left open by a conversion such as `"empty".into()`.

use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use cust::error::{CudaError, CudaResult};
use gpubench::gpu_bench;
use gpubench::host::Stream;

use crate::support::Benchmarks;

/// An error without conversions.
#[derive(Debug)]
struct Empty;

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("empty")
    }
}

impl std::error::Error for Empty {}

/// An error that implements `Display` and not `std::error::Error`.
#[derive(Debug)]
struct Plain(usize);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is refused", self.0)
    }
}

impl From<&str> for Plain {
    fn from(text: &str) -> Self {
        Self(text.len())
    }
}

struct Data(Vec<f32>);

impl Data {
    fn inputs(n: usize) -> Result<(Self, f32), String> {
        if n == 0 { Err("empty".into()) } else { Ok((Self(vec![1.0; n]), 2.0)) }
    }

    fn same(&self, _a: f32, n: usize) -> Result<(), Plain> {
        if self.0.len() == n { Ok(()) } else { Err("another length".into()) }
    }
}

fn made(n: usize) -> Result<Vec<f32>, String> {
    if n == 0 { Err("empty".to_owned()) } else { Ok(vec![1.0; n]) }
}

fn made_on_gpu(n: usize) -> CudaResult<Vec<f32>> {
    if n == 0 { Err(CudaError::InvalidValue) } else { Ok(vec![1.0; n]) }
}

// Every value leaves the error type open: it becomes a boxed error.

#[gpu_bench(args(n = [0, 4]), setup = |n| { if n == 0 { return Err("empty".into()); } Ok((vec![1.0_f32; n], 2.0)) })]
fn text_into(x: &[f32], a: f32, _stream: &Stream) {
    assert_eq!((x.len(), a), (4, 2.0));
}

#[gpu_bench(args(n = [0, 4]), setup = |n| if n == 0 { Err(format!("empty: {n}").into()) } else { Ok(vec![1.0_f32; n]) })]
fn formatted_into(_x: &[f32], _stream: &Stream) {}

#[gpu_bench(args(n = [0_usize, 4]), setup = |n| match n { 0 => Err(Into::into("empty")), 1 => Err(From::from(Empty)), n => Ok(vec![0_u8; n]) })]
fn matched(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n: usize| {
    let Some(last) = n.checked_sub(1) else { return Err(Empty.into()) };
    Ok(vec![0_u8; last])
})]
fn let_else(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| made_on_gpu(n).map_err(Into::into))]
fn mapped(_x: &[f32], _stream: &Stream) {}

#[gpu_bench(args(n = [0_usize, 4]), setup = |n| n.checked_sub(1).ok_or_else(|| "empty".into()))]
fn from_an_option(_last: usize, _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = { if n == 0 { return Err("empty".into()); } Ok(vec![0_u8; n]) })]
fn expression(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| { if stream.run(|| n == 0) { return Err("empty".into()); } Ok(vec![0_u8; n]) })]
fn on_the_stream(_x: &[u8], stream: &Stream) {
    stream.run(|| ());
}

#[gpu_bench(args(rows = [0, 4], columns = [2_usize, 0], what = ["rows", "columns"]), setup = |rows: usize, columns, what| {
    if rows * columns == 0 { return Err(format!("no {what}").into()); }
    Ok(vec![0_u8; rows * columns])
})]
fn several_axes(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(types(T = [f32, f64]), args(n = [0, 4]), setup = |n| { if n == 0 { return Err("empty".into()); } Ok(vec![T::default(); n]) })]
fn generic<T: Default + Clone>(_x: &[T], _stream: &Stream) {}

// `?` converts errors of several types to a boxed error.

#[gpu_bench(args(n = [0, 4], text = ["4", "four"]), setup = |n, text| {
    if n == 0 { return Err("empty".into()); }
    let more: usize = text.parse()?;
    let (on_host, on_gpu) = (made(n)?, made_on_gpu(n)?);
    anyhow::Ok(())?;
    Ok((on_host, on_gpu, more))
})]
fn questions(_x: &[f32], _y: &[f32], _more: usize, _stream: &Stream) {}

// Another value fixes the error type, or the closure names it.

#[gpu_bench(args(n = [0, 4]), setup = |n| { if n == 1 { return Err("one".into()); } made(n) })]
fn text_of_a_function(_x: &[f32], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| { if n == 1 { return Err("one".into()); } if n == 0 { return Err(Plain(n)); } Ok(vec![0_u8; n]) })]
fn of_another_value(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| if n == 0 { Err(CudaError::InvalidValue) } else { Ok(vec![0_u8; n]) })]
fn cust_error(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| {
    if n == 0 { return Err(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)); }
    Ok(vec![0_u8; n])
})]
fn cudarc_error(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| { if n == 0 { return Err(anyhow::anyhow!("empty")); } Ok(vec![0_u8; n]) })]
fn anyhow_error(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| -> anyhow::Result<_> { anyhow::ensure!(n > 0, "empty"); Ok((made(n).map_err(anyhow::Error::msg)?, made_on_gpu(n)?)) })]
fn anyhow_result(_x: &[f32], _y: &[f32], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| -> Result<_, Plain> { if n == 0 { return Err("empty".into()); } Ok(vec![0_u8; n]) })]
fn named(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = |n| made(n).map_err(|_| Empty))]
fn mapped_to_a_type(_x: &[f32], _stream: &Stream) {}

#[gpu_bench(args(n = [0_usize, 4]), setup = |n| n.checked_sub(1).ok_or("empty"))]
fn option_or_text(_last: usize, _stream: &Stream) {}

#[gpu_bench(args(n = [0, 4]), setup = Data::inputs, check = Data::same)]
fn paths(_data: &Data, _a: f32, _stream: &Stream) {}

// The same in `check` and `reset`.

#[gpu_bench(args(n = [0, 4]), setup = |n| Ok(vec![0_u8; n]), check = |x, n| { if n == 0 { return Err("empty".into()); } assert_eq!(x.len(), n); Ok(()) })]
fn checked(_x: &[u8], _stream: &Stream) {}

#[gpu_bench(
    args(n = [0, 4]),
    setup = |n| Ok(vec![1_u8; n]),
    reset = |x, _stream| if x.is_empty() { Err("empty".into()) } else { x.fill(0); Ok(()) },
)]
fn restored(_x: &mut Vec<u8>, _stream: &Stream) {}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn inputs_are_made_and_errors_are_shown() {
    // Each accepts 4 and refuses 0 with this error.
    let cuda = "setup: \"invalid argument\"";
    for (name, error) in [
        ("text_into", "setup: empty"),
        ("formatted_into", "setup: empty: 0"),
        ("matched", "setup: empty"),
        ("let_else", "setup: empty"),
        ("mapped", cuda),
        ("from_an_option", "setup: empty"),
        ("expression", "setup: empty"),
        ("generic", "setup: empty"),
        ("questions", "setup: empty"),
        ("text_of_a_function", "setup: empty"),
        ("of_another_value", "setup: 0 is refused"),
        ("cust_error", cuda),
        ("anyhow_error", "setup: empty"),
        ("anyhow_result", "setup: empty"),
        ("named", "setup: 5 is refused"),
        ("mapped_to_a_type", "setup: empty"),
        ("option_or_text", "setup: empty"),
        ("paths", "setup: empty"),
        ("checked", "check: empty"),
        ("restored", "reset: empty"),
    ] {
        OURS.run_with(name, &[("n", "4")]).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let failure = OURS.run_with(name, &[("n", "0")]).unwrap_err().to_string();
        assert_eq!(failure, error, "{name}");
    }
    // The words of cudarc's error come from libcuda.
    OURS.run_with("cudarc_error", &[("n", "4")]).unwrap();
    OURS.run("on_the_stream");
    let failed = |name, chosen: &[_]| OURS.run_with(name, chosen).unwrap_err().to_string();
    assert_eq!(failed("matched", &[("n", "1")]), "setup: empty");
    assert_eq!(failed("of_another_value", &[("n", "1")]), "setup: 3 is refused");
    assert_eq!(failed("text_of_a_function", &[("n", "1")]), "setup: one");
    assert_eq!(failed("questions", &[("n", "4"), ("text", "four")]), "setup: invalid digit found in string");
    let chosen = [("rows", "4"), ("columns", "0"), ("what", "columns")];
    assert_eq!(failed("several_axes", &chosen), "setup: no columns");
    assert_eq!(failed("generic", &[("T", "f64"), ("n", "0")]), "setup: empty");
}
