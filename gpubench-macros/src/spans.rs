//! Places of generated tokens. In: the user's tokens; out: where they stand, with the hygiene of what is generated, so that
//! an error is reported at the user's code and the user's names and these never meet.

use proc_macro2::Span;
use quote::ToTokens;

/// The hygiene of all that is generated.
pub(crate) fn mixed() -> Span {
    Span::mixed_site()
}

/// Where `tokens` begin.
pub(crate) fn first(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().next().map_or_else(mixed, |token| at(token.span()))
}

/// Where `tokens` end.
pub(crate) fn last(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().into_iter().last().map_or_else(mixed, |token| at(token.span()))
}

/// `place`, for a generated name.
pub(crate) fn at(place: Span) -> Span {
    place.resolved_at(mixed())
}
