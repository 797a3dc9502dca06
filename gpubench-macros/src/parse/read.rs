//! Reads lists, values and literals. In: a stream of tokens. Out: the parsed item, or a mistake at its token.
//! A mistake costs only its own item.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Token, UnOp};

use crate::errors::Errors;

/// Reads comma-separated items. Notes a failed one and goes on at the next comma.
pub(super) fn separated(
    input: ParseStream,
    errors: &mut Errors,
    mut item: impl FnMut(ParseStream, &mut Errors) -> syn::Result<()>,
) {
    while !input.is_empty() {
        let read = item(input, errors).and_then(|()| {
            let ends = input.is_empty() || input.peek(Token![,]);
            if ends { Ok(()) } else { Err(input.error("expected `,`")) }
        });
        if let Err(error) = read {
            errors.push(error);
            skip_to_comma(input);
        }
        // Absent only at the end.
        let _ = input.parse::<Option<Token![,]>>();
    }
}

/// Reads `= VALUE`.
pub(super) fn value<T>(
    name: &Ident,
    input: ParseStream,
    parse: impl FnOnce(ParseStream) -> syn::Result<T>,
) -> syn::Result<T> {
    let missing =
        || syn::Error::new_spanned(name, format_args!("`{0}` takes a value: `{0} = …`", name.unraw()));
    input.parse::<Token![=]>().map_err(|_| missing())?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(missing());
    }
    parse(input)
}

/// Reads the string after a value: `, "why"`.
pub(super) fn text_after(input: ParseStream) -> Option<LitStr> {
    let ahead = input.fork();
    let text = ahead.parse::<Token![,]>().and_then(|_| ahead.parse::<LitStr>());
    // Otherwise the next option follows, which may not even be well formed.
    if text.is_ok() && (ahead.is_empty() || ahead.peek(Token![,])) {
        let _ = input.parse::<Token![,]>();
        return input.parse().ok();
    }
    None
}

/// Skips the value of an option that is already wrong, commas included.
pub(crate) fn skip_value(input: ParseStream) {
    if input.peek(Token![=]) {
        let _ = input.parse::<Token![=]>().and_then(|_| input.parse::<Expr>());
    }
    skip_to_comma(input);
}

pub(super) fn skip_to_comma(input: ParseStream) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<TokenTree>();
    }
}

/// Returns the value of a literal number, with or without a sign.
pub(super) fn number(value: &Expr) -> Option<f64> {
    match bare(value) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            Lit::Float(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => number(&unary.expr).map(|number| -number),
        _ => None,
    }
}

/// Returns a literal string.
pub(super) fn text(value: &Expr) -> Option<&LitStr> {
    match ungrouped(value) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// Takes an expression out of the invisible groups that a macro adds when it passes one on.
pub(super) fn ungrouped(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => ungrouped(&group.expr),
        value => value,
    }
}

/// Takes an expression out of parentheses too.
pub(crate) fn bare(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => bare(&group.expr),
        Expr::Paren(paren) => bare(&paren.expr),
        value => value,
    }
}

/// Formats tokens as people write them: `Vec<f32>`, not `Vec < f32 >`.
pub(crate) fn written(tokens: TokenStream) -> String {
    fn write(tokens: TokenStream, text: &mut String) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                        proc_macro2::Delimiter::Bracket => ("[", "]"),
                        proc_macro2::Delimiter::Brace => ("{", "}"),
                        proc_macro2::Delimiter::None => ("", ""),
                    };
                    if ["mut", "dyn", "const"].iter().any(|word| text.ends_with(word)) {
                        text.push(' ');
                    }
                    text.push_str(open);
                    write(group.stream(), text);
                    text.push_str(close);
                }
                TokenTree::Punct(punct) => {
                    text.push(punct.as_char());
                    if matches!(punct.as_char(), ',' | ';' | '+') {
                        text.push(' ');
                    }
                }
                word => {
                    if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                        text.push(' ');
                    }
                    text.push_str(&word.to_string());
                }
            }
        }
    }
    let mut text = String::new();
    write(tokens, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let number = |text: &str| number(&syn::parse_str(text).expect(text));
        assert_eq!([number("0"), number("-1_0"), number("(2.5f64)")], [Some(0.0), Some(-10.0), Some(2.5)]);
        assert_eq!([number("n"), number("\"1\""), number("1 + 1")], [None, None, None]);
    }

    #[test]
    fn types_are_shown_as_they_are_written() {
        for ty in
            ["f32", "host::Stream", "Vec<f32>", "[f32; 4]", "&'static mut [u8]", "HashMap<u8, Box<dyn Fn()>>"]
        {
            assert_eq!(written(ty.parse().expect(ty)), ty);
        }
    }
}
