//! `group!`: defaults for benchmarks that have something in common. In: the path of gpubench, a name and
//! options. Out: a constant that `group = NAME` refers to.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{Attribute, Expr, Ident, LitStr, Token, Visibility, ext::IdentExt as _, parenthesized};

use crate::errors::{Errors, generated};
use crate::parse::{Data, GROUP_OPTIONS, crate_path, each_option, name_of, skip_value, tell_unknown};

/// Returns the constant that `group!` defines, or the mistakes in its arguments.
pub(crate) fn group(tokens: TokenStream) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let parser = |input: ParseStream| constant(input, &mut errors);
    let constant = parser.parse2(tokens).map_err(|error| errors.push(error)).ok();
    errors.finish(constant)
}

/// Parses `($crate) #[…] pub NAME = "shown", cold, …`, and writes the constant. `$crate` is gpubench's path as the calling macro sees
/// it, valid under any name. Mistakes in single options go to `errors`.
fn constant(input: ParseStream, errors: &mut Errors) -> syn::Result<TokenStream> {
    let own;
    parenthesized!(own in input);
    let mut krate: TokenStream = own.parse()?;
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility: Visibility = input.parse()?;
    let name: Ident = input.parse().map_err(|error| {
        syn::Error::new(error.span(), "a group begins with its name: `group!(TRANSFERS, cold)`")
    })?;
    let mut shown = LitStr::new(&name.unraw().to_string().to_lowercase(), name.span());
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        let value = input.call(Expr::parse)?;
        match name_of(&name, &value, errors) {
            Some(text) => shown = text.unwrap_or(shown),
            None => errors.at(value, "a group is shown as a string: `TRANSFERS = \"transfers\"`"),
        }
    }
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    let mut data = Data::default();
    each_option(input, errors, |name, input, errors| {
        if name == "crate" {
            krate = crate_path(name, input)?.into_token_stream();
        } else if !data.option(name, input, errors)? {
            tell_unknown(name, GROUP_OPTIONS.into_iter().chain(["crate"]), errors);
            skip_value(input);
        }
        Ok(())
    });
    let fields = data.fields(true);
    Ok(generated! {
        #(#attributes)*
        #visibility const #name: #krate::Group = {
            use #krate::__private as __gb;
            __gb::Group::new(__gb::BenchmarkOptions {
                group: ::core::option::Option::Some(#shown),
                #fields
                ..__gb::BenchmarkOptions::DEFAULT
            })
        };
    })
}
