//! The values of `args(…)`, `types(…)` and `consts(…)`, which are swept, and of `tune(…)`, which names some of
//! them.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, bracketed, ext::IdentExt as _, parenthesized, token};

use super::{NamedExpr, display_tokens, literal_number, parse_separated, skip_value, value};
use crate::code::without_parentheses;
use crate::errors::Errors;

/// The arguments of the option `args`, with their values.
#[derive(Default)]
pub(crate) struct ArgSweeps {
    /// All arguments, in order.
    pub axes: Vec<NamedExpr>,
    /// The number of arguments in each sweep: 1, or that of a `zip`.
    pub sweeps: Vec<usize>,
}

/// The choices for a type parameter, or for a constant parameter if `constant` is true.
pub(crate) struct GenericChoices {
    /// The name of the parameter.
    pub name: Ident,
    pub constant: bool,
    pub values: Vec<TokenStream>,
}

/// Parses the value of `args`: `(n = [1, 2], zip(m = 3..5, k = ["a", "b"]))`.
pub(super) fn parse_args(option: &Ident, input: ParseStream, errors: &mut Errors) -> syn::Result<ArgSweeps> {
    let mut args = ArgSweeps::default();
    parse_list(option, "arguments with their values: `args(n = [1, 2])`", input, errors, |input, errors| {
        let name = input.call(Ident::parse)?;
        let before = args.axes.len();
        if name == "zip" && input.peek(token::Paren) {
            let mut given = 0;
            let content;
            parenthesized!(content in input);
            parse_separated(&content, errors, |input, errors| {
                given += 1;
                args.parse_axis(input.call(Ident::parse)?, input, errors)
            });
            if given < 2 {
                errors.at(&name, "`zip` has several arguments go together: `zip(n = [1, 2], m = [3, 4])`");
            }
            check_zip_lengths(&args.axes[before..], errors);
        } else {
            args.parse_axis(name, input, errors)?;
        }
        let together = args.axes.len() - before;
        args.sweeps.extend((together > 0).then_some(together));
        Ok(())
    })?;
    Ok(args)
}

impl ArgSweeps {
    /// Parses the values of the argument `name`, and adds the argument. One that is given twice, has an empty
    /// list or is a bare number is reported and not added.
    fn parse_axis(&mut self, name: Ident, input: ParseStream, errors: &mut Errors) -> syn::Result<()> {
        let value = value(&name, input, Expr::parse)?;
        if self.axes.iter().any(|arg| arg.name.unraw() == name.unraw()) {
            errors.at(&name, format_args!("argument `{}` is given twice", name.unraw()));
        } else if matches!(&value, Expr::Array(array) if array.elems.is_empty()) {
            errors.at(&value, format_args!("argument `{}` has no values", name.unraw()));
        } else if is_number(&value) {
            errors.at(
                &value,
                format_args!("`{0}` lists its values between brackets: `{0} = […]`", name.unraw()),
            );
        } else {
            self.axes.push(NamedExpr { name, value });
        }
        Ok(())
    }
}

/// Returns true for a literal number, and for arithmetic that begins with one.
fn is_number(value: &Expr) -> bool {
    match without_parentheses(value) {
        Expr::Binary(sum) => is_number(&sum.left),
        value => literal_number(value).is_some(),
    }
}

/// Reports zipped lists whose lengths differ from that of the first. Only literal lists have a length here;
/// ranges and calls are not checked.
fn check_zip_lengths(axes: &[NamedExpr], errors: &mut Errors) {
    let mut lists = axes.iter().filter_map(|axis| match &axis.value {
        Expr::Array(array) => Some((axis, array.elems.len())),
        _ => None,
    });
    let Some((first, length)) = lists.next() else { return };
    for (axis, other) in lists.filter(|(_, other)| *other != length) {
        let (name, first) = (axis.name.unraw(), first.name.unraw());
        errors.at(
            &axis.value,
            format_args!("`{name}` has {other} values and `{first}` {length}: zipped, they go together"),
        );
    }
}

/// Parses the value of `tune`: `(BLOCK, UNROLL)`. Reports a name that is given twice.
pub(super) fn parse_tune(option: &Ident, input: ParseStream, errors: &mut Errors) -> syn::Result<Vec<Ident>> {
    let mut tuned: Vec<Ident> = Vec::new();
    parse_list(
        option,
        "what may be chosen for speed: `tune(BLOCK, UNROLL)`",
        input,
        errors,
        |input, errors| {
            let name = input.call(Ident::parse)?;
            if tuned.iter().any(|other| other.unraw() == name.unraw()) {
                errors.at(&name, format_args!("`tune` names `{}` twice", name.unraw()));
            } else {
                tuned.push(name);
            }
            Ok(())
        },
    )?;
    Ok(tuned)
}

/// Parses the value of `types`, such as `(T = [f32, f64])`, or, if `constant` is true, that of `consts`, such
/// as `(BLOCK = [128, 256])`. Reports and drops a choice that is listed twice for a parameter, and a
/// parameter that is given twice.
pub(super) fn parse_choices<T: Parse + ToTokens>(
    option: &Ident,
    constant: bool,
    input: ParseStream,
    errors: &mut Errors,
) -> syn::Result<Vec<GenericChoices>> {
    let what = if constant {
        "constants for each parameter: `consts(BLOCK = [128, 256])`"
    } else {
        "types for each parameter: `types(T = [f32, f64])`"
    };
    let mut choices: Vec<GenericChoices> = Vec::new();
    parse_list(option, what, input, errors, |input, errors| {
        let name = input.call(Ident::parse)?;
        let mut values: Vec<TokenStream> = Vec::new();
        value(&name, input, |input| {
            if !input.peek(token::Bracket) {
                let message = format!(
                    "`{}` lists its choices between brackets: each makes an instance of the function",
                    name.unraw()
                );
                return Err(syn::Error::new(input.span(), message));
            }
            let content;
            let brackets = bracketed!(content in input);
            if content.is_empty() {
                errors.push(syn::Error::new(
                    brackets.span.join(),
                    format_args!("`{}` has no choices", name.unraw()),
                ));
            }
            parse_separated(&content, errors, |input, errors| {
                let choice = input.parse::<T>()?.into_token_stream();
                let text = display_tokens(choice.clone());
                if values.iter().any(|other| display_tokens(other.clone()) == text) {
                    errors.at(&choice, format_args!("`{text}` is listed twice"));
                } else {
                    values.push(choice);
                }
                Ok(())
            });
            Ok(())
        })?;
        if choices.iter().any(|choice| choice.name.unraw() == name.unraw()) {
            errors.at(&name, format_args!("parameter `{}` is given twice", name.unraw()));
        } else {
            choices.push(GenericChoices { name, constant, values });
        }
        Ok(())
    })?;
    Ok(choices)
}

/// Parses `(ITEM, …)` with `item`. Returns an error if there are no parentheses; `what` is the part of its
/// message that describes the list.
fn parse_list(
    option: &Ident,
    what: &str,
    input: ParseStream,
    errors: &mut Errors,
    item: impl FnMut(ParseStream, &mut Errors) -> syn::Result<()>,
) -> syn::Result<()> {
    if !input.peek(token::Paren) {
        skip_value(input);
        return Err(syn::Error::new_spanned(option, format_args!("`{}` lists {what}", option.unraw())));
    }
    let content;
    parenthesized!(content in input);
    parse_separated(&content, errors, item);
    Ok(())
}
