//! The names and arguments of a selection as a command line gives them. In: text such as `copy,sum` or `n=1024,4096`; out: names, or
//! values by the names of their arguments.

use std::collections::BTreeMap;

use super::filter::{BadFilter, NameFilter};

/// An argument without a name or a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--arg {0}: give a name and its values, such as n=1024,4096")]
pub struct NoArg(pub String);

/// Reads filters, several in one text with commas between them. With `exact`, each text is one whole name, which may contain any
/// comma.
///
/// # Errors
/// Returns an error if one is `/…/` and no regular expression.
pub fn parse_filters(given: &[String], exact: bool) -> Result<Vec<NameFilter>, BadFilter> {
    if exact {
        return Ok(given.iter().cloned().map(NameFilter::Text).collect());
    }
    given.iter().flat_map(|names| split_names(names)).map(|name| NameFilter::parse(&name)).collect()
}

/// Splits names at commas. Commas within a name, as in `f[n=1, m=2]`, are followed by a space; those within a regular expression, as
/// in `/f{1,2}/`, stand between its slashes.
#[must_use]
pub fn split_names(names: &str) -> Vec<String> {
    let is_open = |name: &str| name.starts_with('/') && (name.len() == 1 || !name.ends_with('/'));
    let mut split: Vec<String> = Vec::new();
    for part in names.split(',') {
        match split.last_mut() {
            Some(last) if part.starts_with(' ') => *last = format!("{last},{part}"),
            // A comma that ends the text is part of a name that goes on, as in `f[n=1,`, or separates nothing: an empty name would
            // take all.
            Some(last) if part.is_empty() => {
                if last.contains('[') && !last.contains(']') {
                    last.push(',');
                }
            }
            Some(last) if is_open(last) && names.matches('/').count() > 1 => *last = format!("{last},{part}"),
            _ => split.push(part.to_owned()),
        }
    }
    split
}

/// Reads `n=1,2` as the name and its values. One environment variable holds several, with `;` between them.
///
/// # Errors
/// If one has no name, or no value.
pub fn parse_args(given: &[String]) -> Result<BTreeMap<String, Vec<String>>, NoArg> {
    let mut args: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for arg in given.iter().flat_map(|given| split_outside_brackets(given, ';')) {
        let (name, values) = arg.split_once('=').unwrap_or((arg, ""));
        let values: Vec<String> =
            split_outside_brackets(values, ',').into_iter().map(|value| value.trim().to_owned()).collect();
        if name.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(NoArg(arg.to_owned()));
        }
        args.entry(name.trim().to_owned()).or_default().extend(values);
    }
    Ok(args)
}

/// Splits `text` at each `separator` outside brackets, such as those of `[u8; 4]` and `Pair<u8, u8>`.
#[must_use]
pub fn split_outside_brackets(text: &str, separator: char) -> Vec<&str> {
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
    fn names_are_split_between_them_and_not_within() {
        assert_eq!(split_names("copy,f[n=1, m=2],sum"), ["copy", "f[n=1, m=2]", "sum"]);
        assert_eq!(split_names("copy,/f{1,2}$/,sum"), ["copy", "/f{1,2}$/", "sum"]);
        assert_eq!(split_names("/a,b"), ["/a", "b"]);
        assert_eq!(split_names("f[n=1,"), ["f[n=1,"]);
        assert_eq!(split_names("copy,"), ["copy"]);
        assert_eq!(split_names("copy,,sum"), ["copy", "sum"]);
        assert_eq!(split_names(""), [""]);
    }

    proptest::proptest! {
        /// Draws values from all characters that do not separate values.
        #[test]
        fn any_value_is_read_as_it_is_written(
            name in "[a-zA-Z_][a-zA-Z0-9_]{0,8}",
            values in proptest::collection::vec("[^,;\\[\\](){}<>\\s][^,;\\[\\](){}<>]{0,12}", 1..6),
        ) {
            let given = format!("{name}={}", values.join(","));
            let args = parse_args(&[given]).expect("it is well formed");
            let values: Vec<String> = values.iter().map(|value| value.trim().to_owned()).collect();
            proptest::prop_assert_eq!(args, BTreeMap::from([(name, values)]));
        }
    }

    #[test]
    fn args_are_read_as_written() {
        let args = parse_args(&["n=1, 2".to_owned(), "m=a".to_owned(), "n=3".to_owned()]);
        let args = args.expect("all are well formed");
        assert_eq!(args["n"], ["1", "2", "3"]);
        assert_eq!(args["m"], ["a"]);
        let args = parse_args(&["T=[u8; 4], Pair<u8, f32>;n=1".to_owned()]).expect("both are well formed");
        assert_eq!(
            (&args["T"][..], &args["n"][..]),
            (&["[u8; 4]", "Pair<u8, f32>"].map(str::to_owned)[..], &["1".to_owned()][..])
        );
        assert!(["n", "=1", "n=", "n=1,,2"].iter().all(|arg| parse_args(&[(*arg).to_owned()]).is_err()));
    }
}
