//! The attribute `#[gpu_bench]` and the macro `group!`. The attribute leaves the function unchanged and adds a
//! `const` block that registers it. `parse` reads the options, `signature` the function, `check` combines both,
//! and `expand` writes the block.

use proc_macro::TokenStream;
use proc_macro2::{Ident, Span};
use quote::{ToTokens, quote};

use crate::errors::{Errors, generated};
use crate::{check::Benchmark, code::UserCode, parse::AttributeOptions, signature::LaunchFunction};

mod check;
mod code;
mod errors;
mod expand;
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

/// Writes the constant that `gpubench::group!` defines. That macro passes on the user's tokens, which its
/// documentation describes, after `($crate)`: the path of gpubench, whatever its name in the user's crate is.
#[proc_macro]
pub fn group(tokens: TokenStream) -> TokenStream {
    parse::group(tokens.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Returns the code that follows the function: its registration, or a compiler error for each mistake in the
/// attribute.
fn register(
    options: proc_macro2::TokenStream,
    function: proc_macro2::TokenStream,
) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let options = AttributeOptions::parse(options, &mut errors);
    let launch = LaunchFunction::parse(function, &mut errors);
    let benchmark = launch.and_then(|launch| Benchmark::check(options, launch, &mut errors));
    let expanded = errors.finish(benchmark.as_ref()).map(expand::expand);
    expanded.unwrap_or_else(|errors| mistakes_and_code(errors.into_compile_error(), benchmark.as_ref()))
}

/// Returns the `mistakes`, which are code, and the user's expressions in code that never runs. All names in
/// the expressions have the type of an error, so that the compiler reports no mistakes there. Without the
/// expressions, it would report items that only they use as unused. Without a benchmark, or for a generic
/// function, returns the mistakes alone.
fn mistakes_and_code(
    mistakes: proc_macro2::TokenStream,
    benchmark: Option<&Benchmark>,
) -> proc_macro2::TokenStream {
    // The code of a generic function may name its parameters, for which there may be no choice.
    let is_plain = |benchmark: &&Benchmark| benchmark.launch.generics.is_empty();
    let Some(Benchmark { options, launch, .. }) = benchmark.filter(is_plain) else { return mistakes };
    let (axes, stream) = (&options.args.axes, Ident::new("stream", Span::call_site()));
    let codes = [&options.setup, &options.reset, &options.check].into_iter().flatten();
    let codes = codes.map(|code| match code {
        UserCode::Closure(closure) => {
            let (patterns, body) = (closure.inputs.iter(), &closure.body);
            generated!(#(let #patterns = error;)* #body)
        }
        code => code.value_expr().to_token_stream(),
    });
    let metrics = options.metrics.iter().map(|metric| &metric.value);
    let values = axes.iter().chain(&options.counts).map(|named| &named.value).chain(metrics);
    let values = values.map(ToTokens::to_token_stream).chain(codes);
    let names = axes.iter().map(|axis| &axis.name).chain([&stream]);
    let names = names.chain(launch.params.iter().filter_map(|param| param.name.as_ref()));
    generated! {
        #[allow(warnings)]
        const _: fn() = || {
            let error = { #mistakes };
            #(let #names = error;)*
            #(let _ = || { if true { return error; } #values };)*
        };
    }
}

/// Snapshots of the attribute's output in readable form, of the smallest and of the largest: the code that every user compiles.
#[cfg(test)]
mod tests {
    use proc_macro2::{TokenStream, TokenTree};

    use super::register;

    /// Returns the registration that the attribute writes for this function with these options.
    fn expansion(options: &str, function: &str) -> TokenStream {
        register(options.parse().expect(options), function.parse().expect(function))
    }

    /// Formats an expansion as readable code.
    fn pretty(expansion: TokenStream) -> String {
        prettyplease::unparse(&syn::parse2(expansion).expect("items"))
    }

    /// Counts the tokens, including those within brackets.
    fn tokens(stream: TokenStream) -> usize {
        let count = |token| match token {
            TokenTree::Group(group) => 2 + tokens(group.stream()),
            _ => 1,
        };
        stream.into_iter().map(count).sum()
    }

    #[test]
    fn the_smallest() {
        let expansion = expansion("", "fn nothing(stream: &host::Stream) {}");
        assert!(tokens(expansion.clone()) < 300, "{}", tokens(expansion));
        insta::assert_snapshot!(pretty(expansion));
    }

    #[test]
    fn the_largest() {
        let expansion = expansion(
            "unsafe, types(T = [f32, f64]), consts(BLOCK = [128]), args(n = pow2(10..=12), zip(m = 0..2, k = [1, 2])), tune(BLOCK, n), \
             setup = |n, m, k| Ok(made::<T>(n)?), reset = clear, check = verify(x, y, n), skip_if = n > BLOCK, \"too many\", \
             reads = 4 * x.len(), writes = f(y), flops = 2 * n * k, items = n, \"elements\", cold, data_type = \"f64\", \
             link = d2d, name = \"another name\", group = GROUP, tags = [\"nightly\"], max_time = 1, timeout = 2, ignore, \
             stream = queue, crate = crate::renamed",
            "#[cfg(feature = \"bench\")] pub unsafe fn largest<'a, T: Copy, const BLOCK: usize>(k: usize, x: &'a [T], \
             queue: &Stream, y: &mut impl AsMut<[T]>, a: f32) -> Result<(), Error> { body }",
        );
        assert!(tokens(expansion.clone()) < 2_350, "{}", tokens(expansion));
        insta::assert_snapshot!(pretty(expansion));
    }
}
