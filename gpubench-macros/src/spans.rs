//! Places of generated tokens. In: the user's tokens. Out: their places with the hygiene of generated code,
//! so that an error points at the user's code and generated names never clash with the user's.

use proc_macro2::Span;
use quote::ToTokens;

/// The hygiene of all generated code.
pub(crate) fn mixed() -> Span {
    Span::mixed_site()
}

/// Writes code with the hygiene of all generated code.
macro_rules! generated {
    ($($code:tt)*) => {
        quote::quote_spanned!(crate::spans::mixed()=> $($code)*)
    };
}
pub(crate) use generated;

/// Returns the place where `tokens` begin.
pub(crate) fn first(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().next().map_or_else(mixed, |token| at(token.span()))
}

/// Returns the place where `tokens` end.
pub(crate) fn last(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().last().map_or_else(mixed, |token| at(token.span()))
}

/// Returns `place`, for a generated name.
pub(crate) fn at(place: Span) -> Span {
    place.resolved_at(mixed())
}
