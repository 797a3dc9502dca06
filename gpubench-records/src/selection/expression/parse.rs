//! The parser of expressions. In: text. Out: the tree, or the place of the mistake and what to write there.

use std::str::FromStr;

use winnow::ascii::multispace0;
use winnow::combinator::{alt, cut_err, delimited, fail, peek, preceded, separated};
use winnow::error::{ContextError, ErrMode, StrContext, StrContextValue};
use winnow::token::{any, take_while};
use winnow::{ModalResult, Parser};

use super::{BadExpression, Comparison, Expression, Matcher, Node, Test};
use crate::method::Cache;
use crate::selection::amount::amount;
use crate::selection::filter::{BadFilter, NameFilter};

/// The number of brackets and `!` around a test, beyond which an expression would need more stack than there may be.
const DEEPEST: usize = 100;

impl FromStr for Expression {
    type Err = BadExpression;

    fn from_str(text: &str) -> Result<Self, BadExpression> {
        let parsed = (|input: &mut _| any_of(input, DEEPEST)).parse(text);
        let node = parsed.map_err(|error| {
            let rest = text.get(error.offset()..).unwrap_or_default().to_owned();
            BadExpression { text: text.to_owned(), rest, why: expected(error.inner()) }
        })?;
        Ok(Self { text: text.to_owned(), node })
    }
}

/// The letters of an expression that an error shows.
const SHOWN: usize = 200;

/// Returns the part of a text that an error shows.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Returns the place of a mistake in words.
pub(super) fn place(rest: &str) -> String {
    if rest.is_empty() { "its end".to_owned() } else { format!("`{}`", shown(rest)) }
}

/// Returns what an error's cause says, or what was expected.
fn expected(error: &ContextError) -> String {
    if let Some(cause) = error.cause() {
        return cause.to_string();
    }
    let expected = error.context().find_map(|context| match context {
        StrContext::Expected(StrContextValue::Description(expected)) => Some(*expected),
        _ => None,
    });
    format!("give {}", expected.unwrap_or("`&` or `|` before another test"))
}

impl Node {
    /// Reads `word(content)`.
    fn test(word: &str, content: &str) -> Result<Self, Mistake> {
        let content = content.trim();
        match word {
            "benchmark" => Ok(Self::Benchmark(Matcher::read(content)?)),
            "device" => Ok(Self::Device(Matcher::read(content)?)),
            "tag" => Ok(Self::Tag(Matcher::read(content)?)),
            "cache" => match content {
                "hot" => Ok(Self::Cache(Cache::Hot)),
                "cold" => Ok(Self::Cache(Cache::Cold)),
                _ => Err(Mistake::Cache),
            },
            "arg" => arg(content),
            _ => Err(Mistake::Word(word.to_owned())),
        }
    }
}

impl Matcher {
    fn read(content: &str) -> Result<Self, Mistake> {
        if content.is_empty() {
            return Err(Mistake::Empty);
        }
        Ok(match content.strip_prefix('=') {
            Some(whole) => Self { filter: whole.trim().into(), is_exact: true },
            None => Self { filter: NameFilter::parse(content)?, is_exact: false },
        })
    }
}

/// A test that cannot be read, and what to write instead.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("`{0}` is no test: there are benchmark(…), device(…), tag(…), cache(…) and arg(…)")]
    Word(String),
    #[error("give a part of the name, =NAME or /regular expression/")]
    Empty,
    #[error("give cache(hot) or cache(cold)")]
    Cache,
    #[error("give an argument and its value, such as arg(n>=1M), arg(T=f32), arg(n!=3) or arg(T=/^f/)")]
    Arg,
    #[error("`{0}` is no number to compare with")]
    Number(String),
    #[error(transparent)]
    Filter(#[from] BadFilter),
}

/// Reads `n>=1M`.
fn arg(content: &str) -> Result<Node, Mistake> {
    let at = content.find(['<', '>', '=', '!']).ok_or(Mistake::Arg)?;
    let (name, rest) = content.split_at(at);
    let number = |text: &str| {
        let digits = amount(text).unwrap_or_else(|| text.to_owned());
        digits.parse().map_err(|_| Mistake::Number(text.to_owned()))
    };
    let operator = ["<=", ">=", "!=", "<", ">", "="].into_iter().find(|operator| rest.starts_with(operator));
    let operator = operator.ok_or(Mistake::Arg)?;
    let value = rest[operator.len()..].trim();
    if name.trim().is_empty() || value.is_empty() {
        return Err(Mistake::Arg);
    }
    let test = match operator {
        "<" => Test::Compares(Comparison::Less, number(value)?),
        "<=" => Test::Compares(Comparison::LessOrEqual, number(value)?),
        ">" => Test::Compares(Comparison::Greater, number(value)?),
        ">=" => Test::Compares(Comparison::GreaterOrEqual, number(value)?),
        "!=" => Test::IsNot(value.to_owned()),
        _ => match NameFilter::parse(value)? {
            NameFilter::Text(value) => Test::Is(value),
            pattern @ NameFilter::Pattern(_) => Test::Matches(pattern),
        },
    };
    Ok(Node::Arg { name: name.trim().to_owned(), test })
}

/// Reads tests with `|` between them, in which `depth` brackets and `!` may be around one.
fn any_of(input: &mut &str, depth: usize) -> ModalResult<Node> {
    let part = |input: &mut _| all_of(input, depth);
    separated(1.., part, symbol('|')).map(|parts| one_or(parts, Node::Any)).parse_next(input)
}

fn all_of(input: &mut &str, depth: usize) -> ModalResult<Node> {
    let part = cut_err(|input: &mut _| operand(input, depth));
    separated(1.., part, symbol('&')).map(|parts| one_or(parts, Node::All)).parse_next(input)
}

fn operand(input: &mut &str, depth: usize) -> ModalResult<Node> {
    let Some(within) = depth.checked_sub(1) else {
        return cut_err(fail)
            .context(expects("at most 100 brackets and `!` around a test"))
            .parse_next(input);
    };
    let negated = preceded(symbol('!'), cut_err(|input: &mut _| operand(input, within)));
    let negated = negated.map(|node| Node::Not(Box::new(node)));
    let closed = cut_err(symbol(')')).context(expects("`)`"));
    let in_brackets = delimited(symbol('('), |input: &mut _| any_of(input, within), closed);
    alt((negated, in_brackets, test))
        .context(expects("a test such as device(cuda) or arg(n>=1M)"))
        .parse_next(input)
}

fn test(input: &mut &str) -> ModalResult<Node> {
    let word = delimited(multispace0, take_while(1.., |letter: char| letter.is_alphanumeric()), multispace0);
    let tested =
        (word, cut_err(preceded('(', content)).context(expects("`(` and `)` around what to look for")));
    let tested = tested.try_map(|(word, content)| Node::test(word, content));
    // Where no test begins, the caller says what was expected.
    let begins = (multispace0, any.verify(|letter: &char| letter.is_alphanumeric()));
    peek(begins).void().parse_next(input)?;
    delimited(multispace0, cut_err(tested), multispace0).parse_next(input)
}

/// Takes what stands before the closing bracket, and that bracket. Brackets within it are in pairs, but for those of a regular
/// expression.
fn content<'t>(input: &mut &'t str) -> ModalResult<&'t str> {
    let text = *input;
    let (mut depth, mut in_pattern) = (0_usize, false);
    for (at, letter) in text.char_indices() {
        let before = text[..at].trim_end();
        match letter {
            '/' if in_pattern => in_pattern = !text[at + 1..].trim_start().starts_with(')'),
            '/' if before.is_empty() || before.ends_with('=') => in_pattern = true,
            '(' if !in_pattern => depth += 1,
            ')' if !in_pattern && depth == 0 => {
                *input = &text[at + 1..];
                return Ok(&text[..at]);
            }
            ')' if !in_pattern => depth -= 1,
            _ => {}
        }
    }
    fail.parse_next(input)
}

fn symbol<'t>(symbol: char) -> impl Parser<&'t str, char, ErrMode<ContextError>> {
    delimited(multispace0, symbol, multispace0)
}

fn expects(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

fn one_or(mut parts: Vec<Node>, several: fn(Vec<Node>) -> Node) -> Node {
    match parts.len() {
        1 => parts.remove(0),
        _ => several(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_need_too_much_stack_is_refused() {
        let nested = |depth, open: &str, close: &str| {
            format!("{}cache(hot){}", open.repeat(depth), close.repeat(depth)).parse::<Expression>()
        };
        for (open, close) in [("(", ")"), ("!", ""), ("!(", ")")] {
            assert!(nested(DEEPEST / 2 - 1, open, close).is_ok(), "{open}");
            let told = nested(100_000, open, close).expect_err("too deep").to_string();
            assert!(
                told.ends_with("give at most 100 brackets and `!` around a test"),
                "{open}: {}",
                told.len()
            );
        }
    }

    #[test]
    fn mistakes_are_told_with_their_place_and_what_to_write() {
        for (expression, words) in [
            ("", "cannot be read at its end: give a test such as device(cuda) or arg(n>=1M)"),
            ("sum", "at its end: give `(` and `)` around what to look for"),
            ("benchmark(sum", "give `(` and `)` around"),
            ("name(sum)", "`name` is no test: there are benchmark(…), device(…)"),
            ("cache(warm)", "give cache(hot) or cache(cold)"),
            ("arg(n)", "give an argument and its value, such as arg(n>=1M)"),
            ("arg(n>=many)", "`many` is no number to compare with"),
            ("benchmark(/[/)", "the filter `/[/` is no regular expression"),
            ("benchmark()", "give a part of the name"),
            ("cache(hot) & ", "give a test such as device(cuda)"),
            ("cache(hot) cache(cold)", "at `cache(cold)`: give `&` or `|` before another test"),
            ("(cache(hot)", "give `)`"),
            ("cache(hot))", "at `)`: give `&` or `|`"),
            ("!", "give a test such as device(cuda)"),
        ] {
            let told = expression.parse::<Expression>().expect_err(expression).to_string();
            assert!(told.contains(words), "no `{words}` in `{told}`");
        }
    }
}
