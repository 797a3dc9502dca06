//! Parses the options in the parentheses of the attribute. A mistake is reported and costs only its own option,
//! so that the others are still checked.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse as _, ParseStream, Parser as _};
use syn::{
    Expr, ExprLit, Ident, Lit, LitStr, Path, Token, Type, UnOp, bracketed, ext::IdentExt as _, parenthesized,
};

use crate::code::{UserCode, without_parentheses};
use crate::errors::{Errors, did_you_mean};

pub(crate) use crate::parse::data::{
    GROUP_OPTIONS, GroupOption, GroupableOptions, group, parse_name_part, some_code,
};
pub(crate) use crate::parse::sweeps::{ArgSweeps, GenericChoices};

mod data;
mod sweeps;

/// The names of the attribute's options that are not in [`GROUP_OPTIONS`]. Of these, a group takes only
/// `crate`.
const ATTRIBUTE_OPTIONS: [&str; 21] = [
    "args",
    "types",
    "consts",
    "tune",
    "setup",
    "bytes",
    "reads",
    "writes",
    "flops",
    "items",
    "metric",
    "intermediates",
    "reset",
    "restore",
    "check",
    "skip_if",
    "name",
    "group",
    "stream",
    "unsafe",
    "crate",
];

/// The options of the attribute, as the user wrote them.
#[derive(Default)]
pub(crate) struct AttributeOptions {
    pub args: ArgSweeps,
    /// The choices of `types` and `consts`.
    pub generics: Vec<GenericChoices>,
    /// The arguments, types and constants to choose for speed.
    pub tune: Vec<Ident>,
    pub setup: Option<UserCode>,
    pub reset: Option<UserCode>,
    /// The inputs that a reset puts back, which gpubench writes in place of `reset`.
    pub restore: Vec<Ident>,
    pub check: Option<UserCode>,
    /// The condition under which a case is skipped, and the reason.
    pub skip_if: Option<(Expr, LitStr)>,
    /// The options `bytes`, `reads`, `writes`, `intermediates`, `flops` and `items` with their values.
    pub counts: Vec<NamedExpr>,
    /// The unit of `items`.
    pub item: Option<LitStr>,
    pub metrics: Vec<Metric>,
    /// The options that a group can give defaults for.
    pub data: GroupableOptions,
    pub name: Option<LitStr>,
    pub group: Option<GroupOption>,
    pub stream: Option<Ident>,
    pub unsafety: Option<Token![unsafe]>,
    /// The path in the option `crate`.
    pub krate: Option<Path>,
}

/// A name with an expression: an axis with its values, or a count option with its value.
pub(crate) struct NamedExpr {
    pub name: Ident,
    pub value: Expr,
}

/// A metric of the user: `metric("name", "unit") = value`.
pub(crate) struct Metric {
    pub name: LitStr,
    pub unit: LitStr,
    pub value: Expr,
}

impl AttributeOptions {
    /// Parses the options between the parentheses of the attribute. Mistakes go to `errors`, and an option
    /// with a mistake may keep its default.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let parser = |input: ParseStream| {
            parse_each_option(input, errors, |name, input, errors| options.parse_option(name, input, errors));
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            errors.push(error);
        }
        options
    }

    /// Parses the value of the option `name` from `input`, and stores it. An unknown option is reported, and
    /// its value is skipped.
    fn parse_option(&mut self, name: &Ident, input: ParseStream, errors: &mut Errors) -> syn::Result<()> {
        if self.data.parse_option(name, input, errors)? {
            return Ok(());
        }
        match name.unraw().to_string().as_str() {
            "args" => self.args = sweeps::parse_args(name, input, errors)?,
            "types" => self.generics.extend(sweeps::parse_choices::<Type>(name, false, input, errors)?),
            "consts" => self.generics.extend(sweeps::parse_choices::<Expr>(name, true, input, errors)?),
            "tune" => self.tune = sweeps::parse_tune(name, input, errors)?,
            code @ ("setup" | "reset" | "check") => {
                let value = Some(UserCode::from(value(name, input, Expr::parse)?));
                match code {
                    "setup" => self.setup = value,
                    "reset" => self.reset = value,
                    _ => self.check = value,
                }
            }
            "restore" => {
                let names = value(name, input, |input| {
                    let content;
                    bracketed!(content in input);
                    content.parse_terminated(Ident::parse_any, Token![,])
                });
                let message = "`restore` lists parameters: `restore = [x, y]`";
                let names = names.map_err(|error| syn::Error::new(error.span(), message));
                self.restore = names?.into_iter().collect();
                if self.restore.is_empty()
                    || (0..self.restore.len()).any(|at| self.restore[..at].contains(&self.restore[at]))
                {
                    return Err(syn::Error::new(
                        name.span(),
                        "`restore` lists each parameter once: `restore = [x, y]`",
                    ));
                }
            }
            "skip_if" => {
                let condition = value(name, input, Expr::parse)?;
                match parse_text_after_comma(input).filter(|why| !why.value().is_empty()) {
                    Some(why) => self.skip_if = Some((condition, why)),
                    None => {
                        errors.at(name, "`skip_if` says why too: `skip_if = n > 1 << 20, \"takes minutes\"`");
                    }
                }
            }
            "bytes" | "reads" | "writes" | "intermediates" | "flops" | "items" => {
                let value = value(name, input, Expr::parse)?;
                if name == "items" {
                    self.item = parse_text_after_comma(input);
                }
                if literal_number(&value).is_some_and(|number| number <= 0.0) {
                    errors.at(&value, format_args!("`{name}` is positive: leave it out if there are none"));
                }
                self.counts.push(NamedExpr { name: name.unraw(), value });
            }
            "metric" => {
                let metric = parse_metric(name, input)?;
                let named = metric.name.value();
                if named.trim().is_empty() {
                    errors.at(&metric.name, "a metric has a name, which heads its column");
                } else if self.metrics.iter().any(|other| other.name.value() == named) {
                    errors.at(&metric.name, format_args!("metric `{named}` is given twice"));
                }
                self.metrics.push(metric);
            }
            "name" => {
                let value = value(name, input, Expr::parse)?;
                match parse_name_part(name, &value, errors) {
                    Some(text) => self.name = text,
                    None => errors.at(value, "`name` is a string such as \"copy in place\""),
                }
            }
            "group" => self.group = GroupOption::parse(name, input, errors)?,
            "stream" => {
                let value = value(name, input, Expr::parse)?;
                match value {
                    Expr::Path(path) if path.path.get_ident().is_some() => {
                        self.stream = path.path.get_ident().cloned();
                    }
                    other => errors.at(other, "`stream` is the name of the parameter that is the stream"),
                }
            }
            "unsafe" => self.unsafety = Some(Token![unsafe](name.span())),
            "crate" => self.krate = Some(crate_path(name, input)?),
            _ => {
                report_unknown_option(name, ATTRIBUTE_OPTIONS.into_iter().chain(GROUP_OPTIONS), errors);
                skip_value(input);
                let _ = parse_text_after_comma(input);
            }
        }
        Ok(())
    }
}

/// Parses `("name", "unit") = VALUE`.
fn parse_metric(option: &Ident, input: ParseStream) -> syn::Result<Metric> {
    let read = |input: ParseStream| {
        let content;
        parenthesized!(content in input);
        let name = content.parse()?;
        content.parse::<Token![,]>()?;
        let unit = content.parse()?;
        content.parse::<Option<Token![,]>>()?;
        if content.is_empty() { Ok((name, unit)) } else { Err(content.error("two strings")) }
    };
    let usage = "`metric` takes a name and a unit: `metric(\"fill\", \"%\") = …`";
    let (name, unit) = read(input).map_err(|error| syn::Error::new(error.span(), usage))?;
    input.parse::<Token![=]>().map_err(|_| syn::Error::new(option.span(), usage))?;
    Ok(Metric { name, unit, value: input.parse()? })
}

/// Parses comma-separated options: calls `option` with each name and the input after it. An option that is
/// given twice is reported and skipped, except for `metric`.
pub(crate) fn parse_each_option(
    input: ParseStream,
    errors: &mut Errors,
    mut option: impl FnMut(&Ident, ParseStream, &mut Errors) -> syn::Result<()>,
) {
    let mut given: Vec<Ident> = Vec::new();
    parse_separated(input, errors, |input, errors| {
        let name = input
            .call(Ident::parse_any)
            .map_err(|error| syn::Error::new(error.span(), "expected an option such as `cold`"))?;
        if name != "metric" && given.contains(&name.unraw()) {
            errors.at(&name, format_args!("`{}` is given twice", name.unraw()));
            skip_value(input);
            let _ = parse_text_after_comma(input);
            return Ok(());
        }
        given.push(name.unraw());
        option(&name, input, errors)
    });
}

/// Reports that there is no option `name`, and suggests the most similar of the `known` options, or lists all of
/// them.
pub(crate) fn report_unknown_option(
    name: &Ident,
    known: impl Iterator<Item = &'static str> + Clone,
    errors: &mut Errors,
) {
    let unknown = name.unraw().to_string();
    let mut hint = did_you_mean(&unknown, known.clone());
    if hint.is_empty() {
        let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
        hint = format!(": the options are {}", known.join(", "));
    }
    errors.at(name, format_args!("option `{unknown}` is not known{hint}"));
}

/// Parses the value of `crate = PATH`.
pub(crate) fn crate_path(name: &Ident, input: ParseStream) -> syn::Result<Path> {
    value(name, input, |input| {
        Path::parse_mod_style(input).map_err(|error| {
            syn::Error::new(error.span(), "`crate` is the path of gpubench, such as `crate::renamed`")
        })
    })
}

/// Parses comma-separated items with `item`. Reports an item that fails, and continues after the next comma.
fn parse_separated(
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

/// Parses `= VALUE` with `parse`. Returns an error that names the option `name` if there is no value.
fn value<T>(
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

/// Parses a string after a comma, such as the reason in `skip_if = …, "why"`. Returns `None` and consumes nothing
/// if no such string follows.
fn parse_text_after_comma(input: ParseStream) -> Option<LitStr> {
    let ahead = input.fork();
    let text = ahead.parse::<Token![,]>().and_then(|_| ahead.parse::<LitStr>());
    // Otherwise the next option follows, which may not even be well formed.
    if text.is_ok() && (ahead.is_empty() || ahead.peek(Token![,])) {
        let _ = input.parse::<Token![,]>();
        return input.parse().ok();
    }
    None
}

/// Skips the value of an option that is already reported: a whole expression, even with commas within it, and
/// everything before the next comma.
pub(crate) fn skip_value(input: ParseStream) {
    if input.peek(Token![=]) {
        let _ = input.parse::<Token![=]>().and_then(|_| input.parse::<Expr>());
    }
    skip_to_comma(input);
}

/// Skips all tokens before the next comma.
fn skip_to_comma(input: ParseStream) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _ = input.parse::<TokenTree>();
    }
}

/// Returns the value of a literal number, with or without a minus sign; `None` for any other expression.
fn literal_number(value: &Expr) -> Option<f64> {
    match without_parentheses(value) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            Lit::Float(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            literal_number(&unary.expr).map(|number| -number)
        }
        _ => None,
    }
}

/// Returns the string literal that `value` is; `None` for any other expression.
fn literal_text(value: &Expr) -> Option<&LitStr> {
    match without_parentheses(value) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// Formats tokens as people write them: `Vec<f32>`, not `Vec < f32 >`.
pub(crate) fn display_tokens(tokens: TokenStream) -> String {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut text = String::new();
    for part in tokens.to_string().split_whitespace() {
        let after_keyword = ["mut", "dyn", "const"].iter().any(|word| text.ends_with(word));
        if text.ends_with(is_word)
            && (part.starts_with(is_word) || (after_keyword && part.starts_with(['[', '('])))
        {
            text.push(' ');
        }
        text += part;
    }
    text.replace(',', ", ").replace(';', "; ").replace('+', "+ ")
}

#[cfg(test)]
mod parse_tests {
    use super::*;

    fn parse(options: &str) -> (AttributeOptions, Vec<String>) {
        let mut errors = Errors::default();
        let options = AttributeOptions::parse(options.parse().expect(options), &mut errors);
        let errors = errors.finish(Some(())).err().into_iter().flatten().map(|error| error.to_string());
        (options, errors.collect())
    }

    fn axes(options: &AttributeOptions) -> Vec<String> {
        options.args.axes.iter().map(|axis| axis.name.to_string()).collect()
    }

    #[test]
    fn a_mistake_costs_its_own_option() {
        let (options, errors) =
            parse("args(n = , m = [1]), setup = , max_tiem = f::<a, b>, r#items = 3, flops = 2 * m");
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert_eq!(axes(&options), ["m"]);
        assert!(options.setup.is_none() && options.counts.len() == 2);
    }

    #[test]
    fn zipped_arguments_are_one_sweep() {
        let (options, errors) = parse("args(a = [1], zip(b = 0..2, c = [3, 4]), zip = [5])");
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(
            (axes(&options), options.args.sweeps),
            (["a", "b", "c", "zip"].map(str::to_owned).into(), vec![1, 2, 1])
        );
    }

    #[test]
    fn a_string_belongs_to_the_value_before_it() {
        let (options, errors) = parse("items = n, \"keys\", skip_if = n > 2, \"long\", name = \"x\"");
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(options.item.map(|item| item.value()), Some("keys".to_owned()));
        assert_eq!(options.skip_if.map(|(_, why)| why.value()), Some("long".to_owned()));
        assert!(options.name.is_some());
    }
}

#[cfg(test)]
mod read_tests {
    use super::*;

    #[test]
    fn numbers() {
        let number = |text: &str| literal_number(&syn::parse_str(text).expect(text));
        assert_eq!([number("0"), number("-1_0"), number("(2.5f64)")], [Some(0.0), Some(-10.0), Some(2.5)]);
        assert_eq!([number("n"), number("\"1\""), number("1 + 1")], [None, None, None]);
    }

    #[test]
    fn types_are_shown_as_they_are_written() {
        for ty in
            ["f32", "host::Stream", "Vec<f32>", "[f32; 4]", "&'static mut [u8]", "HashMap<u8, Box<dyn Fn()>>"]
        {
            assert_eq!(display_tokens(ty.parse().expect(ty)), ty);
        }
    }
}
