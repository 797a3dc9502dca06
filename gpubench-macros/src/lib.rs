//! The attribute of gpubench. In: its options and a launch function; out: the function as it was, and a `const`
//! block that registers it. One step a file: `parse` and `signature` → `check` → `expand`.

use proc_macro::TokenStream;
use quote::quote;

use crate::check::Benchmark;
use crate::errors::Errors;
use crate::parse::Options;
use crate::signature::Launch;

mod check;
mod code;
mod errors;
mod exact;
mod expand;
mod group;
mod parse;
mod scope;
mod signature;
mod spans;
mod variants;

/// Registers a launch function as a benchmark. The function stays what it was: other code goes on calling it.
///
/// Least of all, it takes a stream:
///
/// ```
/// use gpubench::{gpu_bench, host};
///
/// #[gpu_bench]
/// fn nothing(_stream: &host::Stream) {}
/// ```
///
/// Most of the time it takes inputs too, and the attribute says who makes them, how much work they are, and how
/// to tell that the outputs are right:
///
/// ```
/// use gpubench::{gpu_bench, host};
///
/// /// y ← a·x + y
/// #[gpu_bench(
///     args(n = [1 << 16, 1 << 20, 20 << 20]), // every value is a case
///     setup = inputs,                         // untimed
///     reads = 4 * (x.len() + y.len()),
///     writes = 4 * y.len(),
///     flops = 2 * n,
///     cold,                                   // measured beside hot
///     check = verify,                         // once, after one launch on fresh inputs
/// )]
/// pub fn saxpy(a: f32, x: &[f32], y: &mut [f32], stream: &host::Stream) {
///     stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x));
/// }
///
/// fn inputs(n: usize) -> Result<(f32, Vec<f32>, Vec<f32>), String> {
///     Ok((2.0, vec![1.0; n], vec![3.0; n]))
/// }
///
/// fn verify(a: f32, x: &[f32], y: &[f32], n: usize) -> Result<(), String> {
///     let wrong = (0..n).find(|&i| y[i] != 3.0 + a * x[i]);
///     wrong.map_or(Ok(()), |i| Err(format!("element {i} is {}", y[i])))
/// }
/// ```
///
/// # Options
///
/// | option | meaning |
/// |---|---|
/// | `args(n = [1, 2], m = 3..5)` | arguments to sweep: a case for each combination of their values. Values are anything to iterate over, of a type that is `Clone` and either `Display` or `Debug`; with `FromStr`, the command line takes others too |
/// | `setup = …` | makes the inputs: a `Result` of them, whose error can be displayed |
/// | `reads = …`, `writes = …` | bytes that one launch reads and writes |
/// | `bytes = …` | their sum, where they cannot be told apart |
/// | `flops = …` | floating-point operations of one launch |
/// | `cold` | measure with an empty cache too |
/// | `reset = …` | enqueued on the stream before each sample and its flush, untimed: for launches that change their inputs |
/// | `check = …` | looks at the outputs: panics, or returns `()` or a `Result` |
/// | `precision = "f64"` | the compute peak to be held against; `f32` if not given |
/// | `max_time = 0.5` | the budget for sampling one case, in seconds |
/// | `stream = name` | which parameter is the stream |
/// | `crate = path` | where gpubench is found, if not at `::gpubench` |
///
/// # Parameters
///
/// **The stream** is the parameter that `stream = …` names, else the one named `stream`, else the last one. It is
/// taken by `&` or by value. Its type says which device measures, and is anything that implements
/// `gpubench::LaunchStream`.
///
/// **An argument** of `args` is handed to the parameter of the same name, if there is one.
///
/// **The others** are what `setup` returned, in order: a tuple with one element each, or the bare value for one. The
/// function takes them by `&`, `&mut` or value; where it takes a `&[f32]`, a `Vec<f32>` will do. What is taken by
/// value is cloned for each launch, within the time that is measured, so let clones be cheap.
///
/// # Code in options
///
/// `setup`, `reset` and `check` are each a function, a closure or any other expression:
///
/// | | a function or closure is given | an expression sees |
/// |---|---|---|
/// | `setup` | the arguments, in order | the arguments and the stream |
/// | `reset` | the inputs as the function takes them; then the stream | the inputs by `&` or `&mut`, the stream and the arguments |
/// | `check` | the inputs as the function takes them, but `&` for `&mut`; then the arguments | the inputs by `&`, and the arguments |
/// | counts | (an expression always) | the inputs by `&`, and the arguments |
///
/// The body of a closure in `setup` sees the stream too. Where a closure or expression uses `?` or ends in `Ok(…)`
/// without saying which error it means, that is `Box<dyn Error + Send + Sync>`:
///
/// ```
/// use gpubench::{gpu_bench, host};
///
/// #[gpu_bench(
///     args(n = [1 << 10], seed = ["7", "11"]),
///     setup = |n, seed| Ok(vec![seed.parse::<u64>()?; n]),
///     bytes = size_of_val(&x[..]),
///     check = assert!(x.iter().all(|x| x.to_string() != seed)),
/// )]
/// fn scramble(x: &mut [u64], stream: &host::Stream) {
///     stream.run(|| x.iter_mut().for_each(|x| *x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
/// }
/// ```
///
/// A count is evaluated once for each case, on its real inputs. It is an integer or float of at least 1 that fits 64
/// bits; use `usize` or `u64`, in which the products of sizes do not overflow. An argument that only counts mention
/// is an `i32` unless its values say otherwise: `args(n = [1u64 << 20])`.
///
/// # Where it goes
///
/// On safe, free functions without type or constant parameters, private and nested ones included. A method is
/// measured through a function that calls it.
#[proc_macro_attribute]
pub fn gpu_bench(options: TokenStream, function: TokenStream) -> TokenStream {
    let function = proc_macro2::TokenStream::from(function);
    let registration =
        register(options.into(), function.clone()).unwrap_or_else(syn::Error::into_compile_error);
    quote!(#function #registration).into()
}

/// Defaults for benchmarks that have something in common, as a constant that `group = NAME` refers to.
///
/// ```
/// use gpubench::{gpu_bench, group, host};
///
/// group!(TRANSFERS = "transfers", cold, max_time = 0.5, tags = ["bus"]);
///
/// #[gpu_bench(group = TRANSFERS)] // shown as `…::transfers::up`, measured cold too
/// fn up(_stream: &host::Stream) {}
///
/// #[gpu_bench(group = TRANSFERS, cold = false, tags = ["slow"])] // tagged `bus` and `slow`
/// fn down(_stream: &host::Stream) {}
/// # fn main() {}
/// ```
///
/// The name may have attributes and a visibility before it: `group!(#[doc = "…"] pub(crate) TRANSFERS, …)`. What the group
/// is shown as is its name in small letters unless `= "…"` says otherwise. It takes `cold`, `precision`, `max_time`,
/// `timeout`, `ignore`, `tags` and `link`; what a benchmark says itself goes before that, but for `tags`, which add up.
#[proc_macro]
pub fn group(tokens: TokenStream) -> TokenStream {
    group::group(tokens.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// What follows the function: parse, check, expand.
fn register(
    options: proc_macro2::TokenStream,
    function: proc_macro2::TokenStream,
) -> syn::Result<proc_macro2::TokenStream> {
    let mut errors = Errors::default();
    let options = Options::parse(options, &mut errors);
    let launch = Launch::parse(function, &mut errors);
    let benchmark = launch.and_then(|launch| Benchmark::check(options, launch, &mut errors));
    Ok(expand::expand(&errors.finish(benchmark)?))
}
