//! The attribute of gpubench.

use proc_macro::TokenStream;
use quote::quote;

use crate::check::Benchmark;
use crate::errors::Errors;
use crate::parse::Options;
use crate::signature::Launch;

mod check;
mod code;
mod errors;
mod expand;
mod parse;
mod scope;
mod signature;

/// Registers a launch function as a benchmark.
#[proc_macro_attribute]
pub fn gpu_bench(options: TokenStream, function: TokenStream) -> TokenStream {
    let function = proc_macro2::TokenStream::from(function);
    let registration =
        register(options.into(), function.clone()).unwrap_or_else(syn::Error::into_compile_error);
    quote!(#function #registration).into()
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
