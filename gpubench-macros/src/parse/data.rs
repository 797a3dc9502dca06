//! The options that a group can give defaults for, and `group!`, which defines a group. [`GroupableOptions`]
//! writes the options as fields of a registry entry.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident};
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{
    Attribute, Expr, Ident, LitBool, LitStr, Path, Token, Visibility, ext::IdentExt as _, parenthesized,
    token,
};

use super::{
    crate_path, literal_number, literal_text, parse_each_option, report_unknown_option, skip_value, value,
};
use crate::code::without_parentheses;
use crate::errors::{Errors, did_you_mean, generated, generated_span};

/// The names of the options that a group can give defaults for.
pub(crate) const GROUP_OPTIONS: [&str; 10] = [
    "cold",
    "energy",
    "data_type",
    "max_time",
    "timeout",
    "ignore",
    "tags",
    "link",
    "host_work",
    "accumulates",
];
/// The values of `link`, each with the variant of `Link` that it means.
const LINKS: [(&str, &str); 4] = [("h2d", "H2d"), ("d2h", "D2h"), ("d2d", "D2d"), ("p2p", "P2p")];

/// The options among [`GROUP_OPTIONS`] that the user gave: for each, its name, which is a field of
/// `BenchmarkOptions`, and its value as code.
#[derive(Default)]
pub(crate) struct GroupableOptions(Vec<(Ident, TokenStream)>);

impl GroupableOptions {
    /// Parses the value of the option `name` and adds the option, if it is one of [`GROUP_OPTIONS`]. A wrong
    /// value is reported and not added. Returns false and reads nothing for any other option.
    pub(crate) fn parse_option(
        &mut self,
        name: &Ident,
        input: ParseStream,
        errors: &mut Errors,
    ) -> syn::Result<bool> {
        let option = name.unraw().to_string();
        let read = match &*option {
            "cold" | "energy" | "ignore" | "host_work" | "accumulates" => parse_switch(name, input, errors),
            "data_type" | "max_time" | "timeout" | "tags" | "link" => {
                let value = value(name, input, Expr::parse)?;
                match &*option {
                    "data_type" => parse_data_type(&value, errors),
                    "tags" => parse_tags(&value, errors),
                    "link" => parse_link(&value, errors),
                    _ => parse_seconds(name, &value, errors),
                }
            }
            _ => return Ok(false),
        };
        self.0.extend(read.map(|value| (name.unraw(), value)));
        Ok(true)
    }

    /// Returns the options as fields of a `BenchmarkOptions` expression, such as `cold: true,`. If
    /// `of_group` is true, they are the options of a group, whose `tags` go to the field `group_tags`.
    pub(crate) fn fields(&self, of_group: bool) -> TokenStream {
        let fields = self.0.iter().map(|(name, value)| {
            let group = if of_group && name == "tags" { "group_" } else { "" };
            let field = format_ident!("{group}{name}", span = generated_span());
            generated!(#field: #value,)
        });
        fields.collect()
    }
}

/// The value of `group`: `"text"` or a path.
pub(crate) enum GroupOption {
    /// A name, without defaults.
    Name(LitStr),
    /// A constant that `group!` made.
    Defaults(Path),
}

impl GroupOption {
    /// Parses the value of `group`. Returns `None` and reports the mistake if the value is neither a path nor
    /// a string that can be part of a benchmark's name.
    pub(super) fn parse(
        option: &Ident,
        input: ParseStream,
        errors: &mut Errors,
    ) -> syn::Result<Option<Self>> {
        let value = value(option, input, Expr::parse)?;
        if let Some(name) = parse_name_part(option, &value, errors) {
            return Ok(name.map(Self::Name));
        }
        if let Expr::Path(path) = without_parentheses(&value) {
            return Ok(Some(Self::Defaults(path.path.clone())));
        }
        errors.at(value, "`group` is a string, or the name of a constant that `gpubench::group!` made");
        Ok(None)
    }
}

/// Returns the string `value` if it can be part of a benchmark's name. The outer `None` means that `value` is no
/// string. The inner `None` means that the string cannot be part of a name, which is reported.
pub(crate) fn parse_name_part(option: &Ident, value: &Expr, errors: &mut Errors) -> Option<Option<LitStr>> {
    let name = literal_text(value)?;
    let written = name.value();
    // These stand around and between the arguments of a case.
    let reserved = written.contains(['[', ']', ',']) || written.contains(char::is_control);
    if reserved || written.trim() != written || written.is_empty() {
        errors.at(name, format_args!(
            "`{}` becomes a part of the benchmark's name: some text without `[`, `]` or `,`, and without space around it",
            option.unraw()
        ));
        return Some(None);
    }
    Some(Some(name.clone()))
}

/// Parses what follows the name of a switch: nothing, `= true` or `= false`. Returns the value as code.
/// Returns `None` and reports the mistake for anything else.
fn parse_switch(name: &Ident, input: ParseStream, errors: &mut Errors) -> Option<TokenStream> {
    if !input.peek(Token![=]) && !input.peek(token::Paren) {
        return Some(generated!(true));
    }
    let given = input.fork();
    let chosen = given.parse::<Token![=]>().and_then(|_| given.parse::<LitBool>());
    skip_value(input);
    match chosen {
        Ok(chosen) if given.is_empty() || given.peek(Token![,]) => Some(chosen.into_token_stream()),
        _ => {
            errors.at(
                name,
                format_args!("`{0}` stands alone, or as `{0} = false` against its group", name.unraw()),
            );
            None
        }
    }
}

/// Returns the value of `data_type` as code. Reports any value but a string that is not empty.
fn parse_data_type(value: &Expr, errors: &mut Errors) -> Option<TokenStream> {
    let text = literal_text(value).filter(|text| !text.value().is_empty());
    if text.is_none() {
        errors.at(value, "`data_type` is a string such as \"f64\"");
    }
    text.map(ToTokens::to_token_stream)
}

/// Returns the value of `max_time` or `timeout`, which `name` says, as the code `Some(seconds)`. Reports any
/// value but a positive number.
fn parse_seconds(name: &Ident, value: &Expr, errors: &mut Errors) -> Option<TokenStream> {
    let seconds = literal_number(value).filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    if seconds.is_none() {
        errors.at(value, format_args!("`{}` is a positive number of seconds such as `0.5`", name.unraw()));
    }
    seconds.map(some_code)
}

/// Returns the value of `tags` as a slice of strings. Returns `None` and reports the mistake for a value that
/// is no list of strings. Tags that are empty or contain a comma are reported and kept.
fn parse_tags(list: &Expr, errors: &mut Errors) -> Option<TokenStream> {
    let tags: Option<Vec<&LitStr>> = match list {
        Expr::Array(array) => array.elems.iter().map(literal_text).collect(),
        _ => None,
    };
    let Some(tags) = tags else {
        errors.at(list, "`tags` lists strings: `tags = [\"nightly\", \"bus\"]`");
        return None;
    };
    for tag in tags.iter().filter(|tag| tag.value().is_empty() || tag.value().contains(',')) {
        errors.at(tag, "a tag is some text without `,`, which separates them on the command line");
    }
    Some(generated!(&[#(#tags),*]))
}

/// Returns the value of `link` as the code `Some(Link::…)`. Reports any value but `h2d`, `d2h`, `d2d` and
/// `p2p`.
fn parse_link(value: &Expr, errors: &mut Errors) -> Option<TokenStream> {
    let written = value.to_token_stream().to_string();
    if let Some((_, variant)) = LINKS.iter().find(|(link, _)| *link == written) {
        let variant = Ident::new(variant, generated_span());
        return Some(some_code(generated!(__gb::Link::#variant)));
    }
    let hint = did_you_mean(&written, LINKS.map(|(link, _)| link));
    errors.at(value, format_args!("`link` is `h2d`, `d2h`, `d2d` or `p2p`{hint}"));
    None
}

/// Writes `Some(value)`, with the full path of `Some`.
pub(crate) fn some_code(value: impl ToTokens) -> TokenStream {
    generated!(::core::option::Option::Some(#value))
}

/// Returns the constant that `group!` defines, or the mistakes in its arguments.
pub(crate) fn group(tokens: TokenStream) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let parser = |input: ParseStream| parse_group(input, &mut errors);
    let constant = parser.parse2(tokens).map_err(|error| errors.push(error)).ok();
    errors.finish(constant)
}

/// Parses `($crate) #[…] pub NAME = "shown", cold, …`, and writes the constant. `$crate` is the path of
/// gpubench in the calling macro, which is valid whatever name the user's crate has for gpubench. Mistakes in
/// single options go to `errors`.
fn parse_group(input: ParseStream, errors: &mut Errors) -> syn::Result<TokenStream> {
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
        match parse_name_part(&name, &value, errors) {
            Some(text) => shown = text.unwrap_or(shown),
            None => errors.at(value, "a group is shown as a string: `TRANSFERS = \"transfers\"`"),
        }
    }
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    let mut data = GroupableOptions::default();
    parse_each_option(input, errors, |name, input, errors| {
        if name == "crate" {
            krate = crate_path(name, input)?.into_token_stream();
        } else if !data.parse_option(name, input, errors)? {
            report_unknown_option(name, GROUP_OPTIONS.into_iter().chain(["crate"]), errors);
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
