//! The canvas of a drawing. In: shapes and text at places in pixels; out: a [`Drawing`], which is an SVG file of its own or
//! a part of a page. All colours are here, and the estimate of the width of text.

use std::fmt::Write as _;

use super::WIDTH;
use super::marker::{self, Marker};
use super::pixels::pixels;

/// The colours by variable, in light and in the dark: Okabe and Ito's, which colour-blind readers tell apart, darkened where
/// text or a thin line of them on white would be faint.
pub(crate) const COLOURS: [(&str, &str, &str); 10] = [
    ("--paper", "#fff", "#15181c"),
    ("--ink", "#1f2328", "#e6e9ed"),
    ("--soft", "#59636e", "#9aa4af"),
    ("--grid", "#d8dee4", "#30363d"),
    ("--c0", "#0072b2", "#56b4e9"),
    ("--c1", "#c85200", "#ff8f4d"),
    ("--c2", "#00795a", "#2fc99c"),
    ("--c3", "#a8467f", "#e48fc2"),
    ("--c4", "#8a6100", "#e8bb3f"),
    ("--c5", "#5b6470", "#a9b3bd"),
];
/// The colour of each class.
pub(crate) const COLOURED: &str = ".drawing .paper{fill:var(--paper)}.drawing .ink{fill:var(--ink)}\
    .drawing .soft{fill:var(--soft)}.drawing .grid{stroke:var(--grid)}.drawing .axis,.drawing .rule{stroke:var(--soft)}\
    .drawing .halo{stroke:var(--paper)}.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}\
    .f4{fill:var(--c4)}.f5{fill:var(--c5)}.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}\
    .s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}";
/// The shapes, by class. Series differ in dash and marker too, not only in colour.
pub(crate) const SHAPES: &str = ".drawing text{font:13px system-ui,sans-serif}\
    .drawing .title{font-weight:600;font-size:16px}.drawing .small{font-size:12px}.drawing .rule{stroke-dasharray:4 3}\
    .drawing .halo{stroke-width:4;stroke-linejoin:round;paint-order:stroke}\
    .drawing .line{fill:none;stroke-width:2;stroke-linejoin:round}.drawing .whisker{stroke-width:1.5}\
    .drawing .band{fill-opacity:.18}.drawing .point{stroke-width:1.5}.drawing .hollow{fill:none}\
    .drawing .box{fill-opacity:.25;stroke-width:1.5}.drawing .median{stroke-width:3}\
    .s1.line{stroke-dasharray:7 3}.s2.line{stroke-dasharray:2 3}.s3.line{stroke-dasharray:9 3 2 3}\
    .s4.line{stroke-dasharray:4 4}.s5.line{stroke-dasharray:1 4}.line.solid{stroke-dasharray:none}";

/// The number of colours of series, which repeat after the last.
const SERIES: usize = 6;

/// The style of a file: its colours are written out, since many viewers do not know CSS variables. Viewers without media
/// queries show it in light.
fn style() -> String {
    let in_colours = |of: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        let with = |style: String, colour: (&str, &'static str, &'static str)| {
            style.replace(&format!("var({})", colour.0), of(&colour))
        };
        COLOURS.into_iter().fold(COLOURED.to_owned(), with)
    };
    let (light, dark) = (in_colours(|colour| colour.1), in_colours(|colour| colour.2));
    format!("{SHAPES}{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

/// The alignment of text at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A finished drawing.
#[derive(Clone, Debug)]
pub struct Drawing {
    title: String,
    description: String,
    height: f64,
    body: String,
}

impl Drawing {
    /// The drawing as a file of its own, in the colours that its reader prefers.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawing\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title description\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <style>{}</style>\n<rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n{}</svg>\n",
            escaped(&self.title),
            escaped(&self.description),
            style(),
            self.body
        )
    }

    /// The drawing as an element of a page that has the colours and shapes of this module in its style. Its points may be
    /// links, so its role is a group and not an image.
    #[must_use]
    pub(crate) fn element(&self) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height));
        let title = escaped(&self.title);
        let role = if self.body.contains("<a ") { "group" } else { "img" };
        format!(
            "<svg class=\"drawing\" viewBox=\"0 0 {width} {height}\" role=\"{role}\" aria-label=\"{title}\">\
             <desc>{}</desc>{}</svg>",
            escaped(&self.description),
            self.body
        )
    }
}

/// A drawing that is being made.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    /// Text whose baseline is at `y`, of these classes.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, classes: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (pixels(x), pixels(y), escaped(text));
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\"{anchor} class=\"{classes}\">{text}</text>"));
    }

    /// Text that goes up along a vertical line, in the middle of it.
    pub(super) fn text_upwards(&mut self, (x, y): (f64, f64), classes: &str, text: &str) {
        let (x, y, text) = (pixels(x), pixels(y), escaped(text));
        self.add(format_args!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" text-anchor=\"middle\" class=\"{classes}\">{text}</text>"
        ));
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), classes: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(pixels);
        self.add(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{classes}\"/>"));
    }

    /// A rectangle from its upper left corner.
    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), classes: &str) {
        let [x, y, width, height] = [x, y, width, height].map(pixels);
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{classes}\"/>"
        ));
    }

    /// The marker of series `index`, with the text that is shown when one points at it; a link if there is a target.
    pub(super) fn point(&mut self, place: (f64, f64), index: usize, title: &str, target: Option<&str>) {
        let (shape, classes, title) = (marker::of(index).shape(place), pointed(index), escaped(title));
        let point = format!("<path d=\"{shape}\" class=\"{classes}\"><title>{title}</title></path>");
        match target {
            None => self.add(format_args!("{point}")),
            Some(target) => {
                self.add(format_args!("<a href=\"{}\" aria-label=\"{title}\">{point}</a>", escaped(target)));
            }
        }
    }

    /// The marker of series `index` without a text.
    pub(super) fn marker(&mut self, place: (f64, f64), index: usize) {
        let (shape, classes) = (marker::of(index).shape(place), pointed(index));
        self.add(format_args!("<path d=\"{shape}\" class=\"{classes}\"/>"));
    }

    /// A small circle of this class, with the text that is shown when one points at it.
    pub(super) fn dot(&mut self, place: (f64, f64), classes: &str, title: &str) {
        let (shape, title) = (Marker::Circle.shape(place), escaped(title));
        self.add(format_args!("<path d=\"{shape}\" class=\"point {classes}\"><title>{title}</title></path>"));
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[(f64, f64)], classes: &str) {
        self.add(format_args!("<polyline points=\"{}\" class=\"{classes}\"/>", list(points)));
    }

    /// The area within points.
    pub(super) fn area(&mut self, points: &[(f64, f64)], classes: &str) {
        self.add(format_args!("<polygon points=\"{}\" class=\"{classes}\"/>", list(points)));
    }

    /// The drawing, of this height in pixels, with its title and description.
    pub(super) fn finish(self, height: f64, title: &str, description: &str) -> Drawing {
        Drawing { title: title.to_owned(), description: description.to_owned(), height, body: self.body }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        _ = writeln!(self.body, "{element}");
    }
}

fn list(points: &[(f64, f64)]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", pixels(*x), pixels(*y))).collect();
    points.join(" ")
}

/// The class that fills with the colour of series `index`.
pub(super) fn filled(index: usize) -> String {
    format!("f{}", index % SERIES)
}

/// The class that draws lines in the colour of series `index`.
pub(super) fn drawn(index: usize) -> String {
    format!("s{}", index % SERIES)
}

/// The classes of a marker of series `index`.
fn pointed(index: usize) -> String {
    let filled = if marker::of(index).is_hollow() { "hollow".to_owned() } else { filled(index) };
    format!("point {filled} {}", drawn(index))
}

/// The approximate width of text in pixels, at a size of 13: no font is known here.
pub(super) fn width(text: &str) -> f64 {
    let of_size = |character: char| match character {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '['
        | ']' | ' ' => 0.32,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        character if character.is_uppercase() => 0.7,
        // As wide as they are high, such as Chinese.
        character if character >= '\u{2e80}' => 1.0,
        _ => 0.61,
    };
    13.0 * text.chars().map(of_size).sum::<f64>()
}

/// The part of a text that fits, with a mark where some is left out.
pub(super) fn shortened(text: &str, most: f64) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    for character in text.chars() {
        if width(&short) + width("m…") > most {
            break;
        }
        short.push(character);
    }
    format!("{}…", short.trim_end())
}

/// The name of a row as it fits: what is left out of its middle tells rows apart the least.
pub(super) fn row_name(text: &str, most: f64) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let half = (most - width("…")) / 2.0;
    let fitting = |characters: &mut dyn Iterator<Item = char>| {
        let mut part = String::new();
        for character in characters {
            part.push(character);
            if width(&part) > half {
                part.pop();
                break;
            }
        }
        part
    };
    let (begin, end) = (fitting(&mut text.chars()), fitting(&mut text.chars().rev()));
    format!("{}…{}", begin.trim_end(), end.chars().rev().collect::<String>().trim_start())
}

/// The text in lines that fit, broken at spaces; a word that is too long is shortened.
pub(super) fn wrapped(text: &str, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(shortened(word, most)),
        }
    }
    lines
}

/// Text of an SVG: the five characters of markup are replaced, and characters that XML cannot hold are shown by their codes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\r' | '\t' => escaped.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                escaped.extend(control.escape_unicode());
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_what_xml_cannot_hold_is_shown_by_its_code() {
        assert_eq!(escaped("a<b> & \"c\"\n\u{1b}[31m"), "a&lt;b&gt; &amp; &quot;c&quot; \\u{1b}[31m");
    }

    #[test]
    fn names_of_rows_keep_their_ends() {
        assert_eq!(row_name("copy[n=4096] cold", 1000.0), "copy[n=4096] cold");
        let shown = row_name("transpose_naive[columns=16384, rows=16384] cold", 180.0);
        assert!(
            shown.starts_with("transpose_") && shown.contains('…') && shown.ends_with("] cold"),
            "{shown}"
        );
        assert!(width(&shown) <= 180.0);
    }

    #[test]
    fn long_text_is_broken_at_spaces() {
        assert_eq!(wrapped("one two three", width("one two") + 1.0), ["one two", "three"]);
        assert_eq!(wrapped("extraordinarily", width("extra…")).len(), 1);
    }
}
