//! A number with a suffix, as people write sizes. In: `1M`, `2GiB` or `2^20`. Out: the same in digits.

/// The suffixes with their factors, longest first. A `B` may follow.
const SUFFIXES: [(&str, u128); 9] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// Returns a number with a suffix in digits, as in `1000000` for `1M`; nothing for any other text, and for what is no whole number.
pub fn amount(text: &str) -> Option<String> {
    if let Some(power) = text.strip_prefix("2^") {
        return 1_u64.checked_shl(power.parse().ok()?).map(|amount| amount.to_string());
    }
    let bare = text.strip_suffix('B').unwrap_or(text);
    let (number, factor) =
        SUFFIXES.iter().find_map(|(suffix, factor)| Some((bare.strip_suffix(suffix)?, *factor)))?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 12 || !digits(whole) || !digits(part) {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let amount = format!("{whole}{part}").parse::<u128>().ok()?.checked_mul(factor)?;
    (amount % scale == 0).then(|| (amount / scale).to_string())
}

/// Returns true if `given` is this value, or a number with a suffix that is.
pub fn is_value(given: &str, value: &str) -> bool {
    given == value || amount(given).as_deref() == Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, digits) in [
            ("1M", "1000000"),
            ("1Mi", "1048576"),
            ("2GiB", "2147483648"),
            ("64kB", "64000"),
            ("64K", "64000"),
            ("1.5k", "1500"),
            ("0.5Ki", "512"),
            ("2^20", "1048576"),
            ("3TiB", "3298534883328"),
        ] {
            assert_eq!(amount(text).as_deref(), Some(digits), "{text}");
        }
        for text in
            ["", "M", "1", "1m", "1.0001k", "-1k", "1e3k", "1 M", "2^64", "3^2", "B", "1MiBB", ".5k", "f32"]
        {
            assert_eq!(amount(text), None, "{text}");
        }
        assert!(is_value("1k", "1000") && is_value("1k", "1k") && !is_value("1k", "1024"));
    }
}
