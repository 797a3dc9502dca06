//! An expression that selects cases, in the manner of nextest's filtersets. In: text such as
//! `device(cuda) & benchmark(/sum/) & arg(n>=1M)`. Out: true for each case that it takes, or what was expected where.

mod parse;

use std::fmt::{self, Display};

use super::amount::is_value;
use super::filter::NameFilter;
use crate::id::Arg;
use crate::method::Cache;

/// An expression that selects cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    node: Node,
}

/// What an expression looks at.
#[derive(Clone, Copy)]
pub struct SelectedCase<'a> {
    /// The benchmark's path.
    pub benchmark: &'a str,
    /// Its arguments.
    pub args: &'a [Arg],
    /// The device, as the command line names it.
    pub device: &'a str,
    /// The cache state.
    pub cache: Cache,
    /// The tags of the benchmark.
    pub tags: &'a [&'a str],
}

/// A text that is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the expression `{}` cannot be read at {}: {why}", parse::shown(text), parse::place(rest))]
#[non_exhaustive]
pub struct BadExpression {
    /// The expression as it is written.
    pub text: String,
    /// The text from the mistake on.
    pub rest: String,
    /// What was expected.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Any(Vec<Self>),
    All(Vec<Self>),
    Not(Box<Self>),
    Benchmark(Matcher),
    Device(Matcher),
    Tag(Matcher),
    Cache(Cache),
    Arg { name: String, test: Test },
}

/// A part of a text, `=` and the whole of it, or a regular expression.
#[derive(Clone, Debug, PartialEq)]
struct Matcher {
    filter: NameFilter,
    is_exact: bool,
}

/// A test of an argument's value.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Is(String),
    IsNot(String),
    Matches(NameFilter),
    Compares(Comparison, f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Expression {
    /// Returns true if it takes this case. A test of an argument takes no case without the argument.
    #[doc(hidden)]
    #[must_use]
    pub fn takes(&self, case: &SelectedCase<'_>) -> bool {
        self.node.takes(case)
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Node {
    fn takes(&self, case: &SelectedCase<'_>) -> bool {
        match self {
            Self::Any(parts) => parts.iter().any(|part| part.takes(case)),
            Self::All(parts) => parts.iter().all(|part| part.takes(case)),
            Self::Not(part) => !part.takes(case),
            Self::Benchmark(matcher) => matcher.takes(case.benchmark),
            Self::Device(matcher) => matcher.takes(case.device),
            Self::Tag(matcher) => case.tags.iter().any(|tag| matcher.takes(tag)),
            Self::Cache(cache) => *cache == case.cache,
            Self::Arg { name, test } => {
                case.args.iter().any(|arg| arg.name == *name && test.takes(&arg.value))
            }
        }
    }
}

impl Matcher {
    fn takes(&self, text: &str) -> bool {
        self.filter.takes(text, self.is_exact)
    }
}

impl Test {
    fn takes(&self, value: &str) -> bool {
        match self {
            Self::Is(given) => is_value(given, value),
            Self::IsNot(given) => !is_value(given, value),
            Self::Matches(filter) => filter.takes(value, false),
            Self::Compares(comparison, limit) => value.parse().is_ok_and(|value: f64| match comparison {
                Comparison::Less => value < *limit,
                Comparison::LessOrEqual => value <= *limit,
                Comparison::Greater => value > *limit,
                Comparison::GreaterOrEqual => value >= *limit,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(expression: &str) -> bool {
        let args = [("n", "1048576"), ("T", "Pair<(u8, f32)>")];
        let args = args.map(|(name, value)| Arg { name: name.to_owned(), value: value.to_owned() });
        let expression: Expression = expression.parse().unwrap_or_else(|error| panic!("{error}"));
        expression.takes(&SelectedCase {
            benchmark: "kernels::sum",
            args: &args,
            device: "cuda:0",
            cache: Cache::Cold,
            tags: &["nightly", "bus"],
        })
    }

    #[test]
    fn cases_are_taken_by_every_test() {
        for expression in [
            "device(cuda) & benchmark(/sum/) & arg(n>=1M)",
            "benchmark(sum)",
            "benchmark(=kernels::sum)",
            "benchmark( /^kernels::(sum|dot)$/ )",
            "device(=cuda:0)&cache(cold)",
            "tag(night)",
            "arg(n=1Mi) & arg(n = 1048576) & arg(n!=3) & arg(n<2M) & arg(n<=1Mi) & arg(n>1e3)",
            "arg(T=Pair<(u8, f32)>) & arg(T=/Pair<\\(u8/)",
            "!cache(hot)",
            "cache(hot) | benchmark(sum) & device(cuda)",
            "(cache(hot) | benchmark(sum)) & !(device(host) | tag(slow))",
            "!!benchmark(sum)",
        ] {
            assert!(takes(expression), "{expression}");
        }
        for expression in [
            "benchmark(dot)",
            "benchmark(=sum)",
            "device(=cuda)",
            "arg(n>=2M)",
            "arg(m=1)",
            "arg(m!=1)",
            "arg(T>3)",
            "cache(hot) | tag(slow)",
            "!(cache(cold) | tag(slow))",
            "(cache(hot) | benchmark(sum)) & device(host)",
        ] {
            assert!(!takes(expression), "{expression}");
        }
    }
}
