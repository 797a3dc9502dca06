//! Mistakes in an attribute. In: a token and a sentence for each, from every step. Out: one `compile_error!`
//! for each mistake, so that one compilation shows them all.

use std::fmt::Display;

use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Notes a mistake at `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Notes a mistake that a parser found.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Returns the value if there are no mistakes.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, syn::Error> {
        let nothing = || syn::Error::new(proc_macro2::Span::call_site(), "this cannot be benchmarked");
        match self.0 {
            Some(errors) => Err(errors),
            None => value.ok_or_else(nothing),
        }
    }
}

/// Suggests the nearest of the `known` names for the unknown name `given`, if one is near.
pub(crate) fn did_you_mean(given: &str, known: impl IntoIterator<Item = impl ToString>) -> String {
    let distances = known.into_iter().map(|name| name.to_string()).map(|name| (distance(given, &name), name));
    match distances.min_by_key(|(distance, _)| *distance) {
        Some((distance, name)) if distance <= (given.chars().count() / 3).max(1) => {
            format!(": did you mean `{name}`?")
        }
        _ => String::new(),
    }
}

/// Returns the number of letters to add, drop, replace or swap with their neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swaps = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swapped = if swaps { table[i - 2][j - 2] + 1 } else { replaced };
                replaced.min(swapped).min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
            };
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let distances = [("", "", 0), ("a", "", 1), ("setup", "setup", 0), ("seutp", "setup", 1)];
        for (a, b, expected) in distances.into_iter().chain([("flop", "flops", 1), ("cold", "check", 4)]) {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }

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
