//! `group!`: defaults for benchmarks that have something in common. In: the path of gpubench, a name and
//! options. Out: a constant that `group = NAME` refers to.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{Attribute, Expr, Ident, LitStr, Path, Token, Visibility, ext::IdentExt as _, parenthesized};

use crate::errors::{Errors, generated};
use crate::parse::{Data, GROUP_OPTIONS, crate_path, each_option, name_of, skip_value, tell_unknown};

/// Returns the constant that `group!` defines, or the mistakes in its arguments.
pub(crate) fn group(tokens: TokenStream) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let parser = |input: ParseStream| GroupInput::read(input, &mut errors);
    let group = parser.parse2(tokens).map_err(|error| errors.push(error)).ok();
    Ok(errors.finish(group)?.expand())
}

/// The parsed arguments of `group!`.
struct GroupInput {
    /// gpubench's path as the calling macro sees it, valid under any name.
    own: TokenStream,
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    shown: LitStr,
    data: Data,
    krate: Option<Path>,
}

impl GroupInput {
    /// Parses `($crate) #[…] pub NAME = "shown", cold, …`. Mistakes in single options go to `errors`.
    fn read(input: ParseStream, errors: &mut Errors) -> syn::Result<Self> {
        let own;
        parenthesized!(own in input);
        let own = own.parse()?;
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
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
        let (mut data, mut krate) = (Data::default(), None);
        each_option(input, errors, |name, input, errors| {
            if name == "crate" {
                krate = Some(crate_path(name, input)?);
                return Ok(());
            }
            if !data.option(name, input, errors)? {
                tell_unknown(name, GROUP_OPTIONS.into_iter().chain(["crate"]), errors);
                skip_value(input);
            }
            Ok(())
        });
        Ok(Self { own, attributes, visibility, name, shown, data, krate })
    }

    /// Writes the constant.
    fn expand(&self) -> TokenStream {
        let Self { own, attributes, visibility, name, shown, data, krate } = self;
        let krate = krate.as_ref().map_or_else(|| own.clone(), ToTokens::to_token_stream);
        let fields = data.fields(true);
        generated! {
            #(#attributes)*
            #visibility const #name: #krate::Group = {
                use #krate::__private as __gb;
                __gb::Group::new(__gb::BenchmarkOptions {
                    group: ::core::option::Option::Some(#shown),
                    #fields
                    ..__gb::BenchmarkOptions::DEFAULT
                })
            };
        }
    }
}
