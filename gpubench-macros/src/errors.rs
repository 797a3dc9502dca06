//! Collects mistakes in an attribute, and makes spans for generated code. Each mistake becomes a `compile_error!`
//! at the user's token, so that one compilation shows all. Generated tokens have the positions of the user's
//! tokens and mixed-site hygiene: errors point at the user's code, and generated names never clash with the
//! user's.

use std::fmt::Display;

use proc_macro2::Span;
use quote::ToTokens;

/// The mistakes found so far, as one combined compiler error.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake with this message, which the compiler reports at `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake that a parser found.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Returns the value if there are no mistakes, and else all mistakes. `None` without a mistake is an error
    /// too.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, syn::Error> {
        match self.0 {
            Some(errors) => Err(errors),
            None => value.ok_or_else(|| syn::Error::new(Span::call_site(), "this cannot be benchmarked")),
        }
    }
}

/// Returns a hint such as ``: did you mean `cold`?`` with the `known` name that is most similar to `given`.
/// The two may differ in a third of the letters of `given`, or in one letter; otherwise the hint is empty, as
/// it is without a `known` name.
pub(crate) fn did_you_mean(given: &str, known: impl IntoIterator<Item = impl ToString>) -> String {
    let distances =
        known.into_iter().map(|name| name.to_string()).map(|name| (strsim::osa_distance(given, &name), name));
    match distances.min_by_key(|(distance, _)| *distance) {
        Some((distance, name)) if distance <= (given.chars().count() / 3).max(1) => {
            format!(": did you mean `{name}`?")
        }
        _ => String::new(),
    }
}

/// Returns the span of generated code: mixed-site hygiene at the position of the attribute.
pub(crate) fn generated_span() -> Span {
    Span::mixed_site()
}

/// Converts the given code to tokens, as `quote!` does, with the span of generated code
/// ([`generated_span`](crate::errors::generated_span)).
macro_rules! generated {
    ($($code:tt)*) => {
        quote::quote_spanned!(crate::errors::generated_span()=> $($code)*)
    };
}
pub(crate) use generated;

/// Returns the position of the first token, with the hygiene of generated code. Without tokens, returns
/// [`generated_span`].
pub(crate) fn first_span(tokens: &impl ToTokens) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .next()
        .map_or_else(generated_span, |token| generated_at(token.span()))
}

/// Returns the position of the last token, with the hygiene of generated code. Without tokens, returns
/// [`generated_span`].
pub(crate) fn last_span(tokens: &impl ToTokens) -> Span {
    tokens
        .to_token_stream()
        .into_iter()
        .last()
        .map_or_else(generated_span, |token| generated_at(token.span()))
}

/// Returns the position of `span` with the hygiene of generated code.
pub(crate) fn generated_at(span: Span) -> Span {
    span.resolved_at(generated_span())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let known = ["setup", "check", "cold"];
        assert_eq!(did_you_mean("chekc", known), ": did you mean `check`?");
        assert_eq!(did_you_mean("warm", known), "");
        assert_eq!(did_you_mean("x", [""; 0]), "");
    }

    #[test]
    fn every_mistake_is_kept() {
        let mut errors = Errors::default();
        errors.at(quote::quote!(a), "one");
        errors.at(quote::quote!(b), "two");
        let errors = errors.finish(Some(())).expect_err("two mistakes").into_iter();
        assert_eq!(errors.map(|error| error.to_string()).collect::<Vec<_>>(), ["one", "two"]);
    }
}
