//! Makes text of users, files and drivers safe to print: characters that move the cursor, colour the terminal or change the text direction are
//! shown by their codes. Stored text stays unchanged.

/// Returns `text` with its control characters and line breaks as codes, in one line.
pub fn printable(text: &str) -> String {
    escaped(text, is_control)
}

/// Returns `text` with its control characters as codes. Line breaks stay.
pub fn printable_lines(text: &str) -> String {
    escaped(text, |c| c != '\n' && is_control(c))
}

/// Returns `text` with each `special` character as its code, such as `\u{1b}` or `\n`.
fn escaped(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if special(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Returns true for control characters, Unicode line separators, and characters that set the direction of text.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns `: did you mean …?` with the most similar of the `known` names, or an empty text if none is similar. A name is similar if its edit
/// distance from `given` is 1, or at most a third of the length of `given`. `given` itself does not count.
pub fn did_you_mean(given: &str, known: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let near = 1..=(given.chars().count() / 3).max(1);
    let names = known.into_iter().map(|name| (strsim::osa_distance(given, name.as_ref()), name));
    let nearest = names.filter(|(distance, _)| near.contains(distance)).min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, name)| format!(": did you mean `{}`?", name.as_ref())).unwrap_or_default()
}

/// Splits `text` at each `separator` outside brackets, such as those of `[u8; 4]` and `Pair<u8, u8>`.
pub(crate) fn split_outside_brackets(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if letter == separator && depth == 0 => {
                parts.push(&text[begin..place]);
                begin = place + letter.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        let known = ["saxpy", "sum", "reduce_sum"];
        for (given, name) in [("sxapy", "saxpy"), ("sun", "sum"), ("redduce_sun", "reduce_sum")] {
            assert_eq!(did_you_mean(given, known), format!(": did you mean `{name}`?"));
        }
        // The name itself is no other.
        for given in ["copy", "s", "sum", "transpose", ""] {
            assert_eq!(did_you_mean(given, known), "", "{given}");
        }
    }

    #[test]
    fn no_control_character_is_left() {
        assert_eq!(printable("\u{1b}[31mred\n\u{202e}x"), "\\u{1b}[31mred\\n\\u{202e}x");
        assert_eq!(printable_lines("a\n\tb"), "a\n\\tb");
    }
}
