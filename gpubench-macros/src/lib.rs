//! The attribute of gpubench. In: its options and a launch function. Out: the unchanged function, and a
//! `const` block that registers it. One step a file: `parse` and `signature` → `check` → `expand`.

use proc_macro::TokenStream;
use quote::quote;

use crate::{check::Benchmark, errors::Errors, parse::AttributeOptions, signature::Launch};

mod check;
mod code;
mod errors;
mod exact;
mod expand;
#[cfg(test)]
mod expansions;
mod group;
mod parse;
mod signature;

// Its examples need gpubench, and are tests of that crate.
#[cfg_attr(not(doctest), doc = include_str!("gpu_bench.md"))]
#[proc_macro_attribute]
pub fn gpu_bench(options: TokenStream, function: TokenStream) -> TokenStream {
    let function = proc_macro2::TokenStream::from(function);
    let registration = register(options.into(), function.clone());
    quote!(#function #registration).into()
}

/// Writes the constant of `gpubench::group!`. That macro knows the name that gpubench goes by here, and
/// passes it on before the user's own tokens. Its documentation describes those tokens.
#[proc_macro]
pub fn group(tokens: TokenStream) -> TokenStream {
    group::group(tokens.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Returns the code that follows the function: its registration, or all mistakes in the attribute. Parses,
/// checks and expands.
fn register(
    options: proc_macro2::TokenStream,
    function: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let options = AttributeOptions::parse(options, &mut errors);
    let launch = Launch::parse(function, &mut errors);
    let benchmark = launch.and_then(|launch| Benchmark::check(options, launch, &mut errors));
    let expanded = errors.finish(benchmark.as_ref()).map(expand::expand);
    expanded
        .unwrap_or_else(|errors| expand::mistakes_with_code(errors.into_compile_error(), benchmark.as_ref()))
}
