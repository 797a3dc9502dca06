//! The options between the parentheses of the attribute. In: its tokens; out: [`Options`], each as it was written.
//! A mistake is noted and costs its own option only, so that the others are still looked at.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path, Token, UnOp, parenthesized, token};

use crate::errors::{Errors, did_you_mean};

const KNOWN: [&str; 13] = [
    "args",
    "setup",
    "bytes",
    "reads",
    "writes",
    "flops",
    "cold",
    "reset",
    "check",
    "precision",
    "max_time",
    "stream",
    "crate",
];

/// What the attribute says.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) args: Vec<Named>,
    pub(crate) setup: Option<Expr>,
    pub(crate) reset: Option<Expr>,
    pub(crate) check: Option<Expr>,
    /// `bytes`, `reads`, `writes` and `flops`, as far as they are given.
    pub(crate) counts: Vec<Named>,
    pub(crate) cold: bool,
    pub(crate) precision: Option<LitStr>,
    pub(crate) max_time: Option<f64>,
    pub(crate) stream: Option<Ident>,
    pub(crate) krate: Option<Path>,
}

/// An axis with its values, or a count with its number.
pub(crate) struct Named {
    pub(crate) name: Ident,
    pub(crate) value: Expr,
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let parser = |input: ParseStream| {
            options.read(input, errors);
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            errors.push(error);
        }
        options
    }

    fn read(&mut self, input: ParseStream, errors: &mut Errors) {
        let mut given: Vec<Ident> = Vec::new();
        separated(input, errors, |input, errors| {
            let name = input
                .call(Ident::parse_any)
                .map_err(|error| syn::Error::new(error.span(), "expected an option such as `cold`"))?;
            if given.contains(&name.unraw()) {
                errors.at(&name, format_args!("`{}` is given twice", name.unraw()));
                skip_value(input);
                return Ok(());
            }
            given.push(name.unraw());
            self.option(&name, input, errors)
        });
    }

    fn option(&mut self, name: &Ident, input: ParseStream, errors: &mut Errors) -> syn::Result<()> {
        match name.unraw().to_string().as_str() {
            "args" => self.args = args(name, input, errors)?,
            "setup" => self.setup = Some(value(name, input, Expr::parse)?),
            "reset" => self.reset = Some(value(name, input, Expr::parse)?),
            "check" => self.check = Some(value(name, input, Expr::parse)?),
            "bytes" | "reads" | "writes" | "flops" => {
                let value = value(name, input, Expr::parse)?;
                if number(&value).is_some_and(|number| number <= 0.0) {
                    errors.at(&value, format_args!("`{name}` is positive: leave it out if there are none"));
                }
                self.counts.push(Named { name: name.unraw(), value });
            }
            "cold" if input.peek(Token![=]) || input.peek(token::Paren) => {
                errors.at(name, "`cold` takes no value");
                skip_value(input);
            }
            "cold" => self.cold = true,
            "precision" => match value(name, input, Expr::parse)? {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if !text.value().is_empty() => {
                    self.precision = Some(text);
                }
                other => errors.at(other, "`precision` is a string such as \"f64\""),
            },
            "max_time" => {
                let value = value(name, input, Expr::parse)?;
                self.max_time = number(&value).filter(|seconds| *seconds > 0.0 && seconds.is_finite());
                if self.max_time.is_none() {
                    errors.at(&value, "`max_time` is a positive number of seconds such as `0.5`");
                }
            }
            "stream" => self.stream = Some(value(name, input, Ident::parse_any)?),
            "crate" => self.krate = Some(value(name, input, Path::parse_mod_style)?),
            unknown => {
                let mut hint = did_you_mean(unknown, KNOWN);
                if hint.is_empty() {
                    hint = format!(": the options are {}", KNOWN.map(|name| format!("`{name}`")).join(", "));
                }
                errors.at(name, format_args!("option `{unknown}` is not known{hint}"));
                skip_value(input);
            }
        }
        Ok(())
    }
}

/// The axes: `(n = [1, 2], m = 3..5)`.
fn args(option: &Ident, input: ParseStream, errors: &mut Errors) -> syn::Result<Vec<Named>> {
    if !input.peek(token::Paren) {
        skip_value(input);
        return Err(syn::Error::new_spanned(
            option,
            "`args` lists arguments with their values: `args(n = [1, 2])`",
        ));
    }
    let content;
    parenthesized!(content in input);
    let mut args: Vec<Named> = Vec::new();
    separated(&content, errors, |input, errors| {
        let name = input.call(Ident::parse)?;
        let value = value(&name, input, Expr::parse)?;
        if args.iter().any(|arg| arg.name.unraw() == name.unraw()) {
            errors.at(&name, format_args!("argument `{}` is given twice", name.unraw()));
        } else if matches!(&value, Expr::Array(array) if array.elems.is_empty()) {
            errors.at(&value, format_args!("argument `{}` has no values", name.unraw()));
        } else {
            args.push(Named { name, value });
        }
        Ok(())
    });
    Ok(args)
}

/// Reads items with commas between them. One that fails is noted and left at its comma.
fn separated(
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
        // Absent at the end only.
        let _ = input.parse::<Option<Token![,]>>();
    }
}

/// Reads `= VALUE`.
fn value<T>(name: &Ident, input: ParseStream, parse: fn(ParseStream) -> syn::Result<T>) -> syn::Result<T> {
    let missing =
        || syn::Error::new_spanned(name, format_args!("`{0}` takes a value: `{0} = …`", name.unraw()));
    input.parse::<Token![=]>().map_err(|_| missing())?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(missing());
    }
    parse(input)
}

/// Passes over the value of an option that is wrong already, commas in it included.
fn skip_value(input: ParseStream) {
    if input.peek(Token![=]) {
        let _ = input.parse::<Token![=]>().and_then(|_| input.parse::<Expr>());
    }
    skip_to_comma(input);
}

fn skip_to_comma(input: ParseStream) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<TokenTree>();
    }
}

/// The value of a literal number, with or without a sign.
fn number(value: &Expr) -> Option<f64> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            Lit::Float(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => number(&unary.expr).map(|number| -number),
        Expr::Group(group) => number(&group.expr),
        Expr::Paren(paren) => number(&paren.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &str) -> (Options, Vec<String>) {
        let mut errors = Errors::default();
        let options = Options::parse(options.parse().expect(options), &mut errors);
        let errors = errors.finish(Some(())).err().into_iter().flatten().map(|error| error.to_string());
        (options, errors.collect())
    }

    #[test]
    fn a_mistake_costs_its_own_option() {
        let (options, errors) =
            parse("args(n = , m = [1]), setup = , max_tiem = f::<a, b>, r#cold, flops = 2 * m");
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert_eq!(options.args.iter().map(|axis| axis.name.to_string()).collect::<Vec<_>>(), ["m"]);
        assert!(options.cold && options.setup.is_none() && options.counts.len() == 1);
    }

    #[test]
    fn numbers() {
        let number = |text: &str| number(&syn::parse_str(text).expect(text));
        assert_eq!([number("0"), number("-1_0"), number("(2.5f64)")], [Some(0.0), Some(-10.0), Some(2.5)]);
        assert_eq!([number("n"), number("\"1\""), number("1 + 1")], [None, None, None]);
    }
}
