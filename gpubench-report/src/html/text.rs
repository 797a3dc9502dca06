//! Text of other people on the page. In: a name, an argument, an error; out: the same with what a browser would obey or not
//! show written as its code: control characters such as those that colour a terminal, line breaks, and marks that turn the
//! direction of text. Markup in it is escaped where it is put into the page.

use std::borrow::Cow;

/// The text as it is shown.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            hidden if is_hidden(hidden) => shown.extend(hidden.escape_unicode()),
            other => shown.push(other),
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_obey_is_shown_by_its_code() {
        assert_eq!(visible("a\nb\u{1b}[31m\u{202e}c\u{2028}"), "a\\nb\\u{1b}[31m\\u{202e}c\\u{2028}");
        assert_eq!(visible("naïve 千 🦀 <b>"), "naïve 千 🦀 <b>");
    }
}
