//! Places in an SVG. In: a number of pixels; out: its text.

/// A place to a tenth of a pixel, in the fewest characters.
pub(super) fn pixels(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
