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
#[cfg(test)]
mod expansions;
mod group;
mod parse;
mod scope;
mod signature;
mod spans;
mod variants;

#[doc = include_str!("gpu_bench.md")]
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
