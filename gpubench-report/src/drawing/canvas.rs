//! The canvas of a drawing. In: shapes and text at places in pixels; out: the SVG. All colours are here, and all that is
//! known of how wide text is.

use std::fmt::Write as _;

use super::{COLOURS, WIDTH};

/// The colours, by class, in light. Whoever knows no media queries sees these.
const LIGHT: &str = ".paper{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d8dee4}.rule{stroke:#59636e}\
                     .f0{fill:#0b6bcb}.f1{fill:#c4500c}.f2{fill:#1a7f4b}.f3{fill:#8250df}.f4{fill:#b0273d}\
                     .s0{stroke:#0b6bcb}.s1{stroke:#c4500c}.s2{stroke:#1a7f4b}.s3{stroke:#8250df}.s4{stroke:#b0273d}";
/// The same in the dark.
const DARK: &str = ".paper{fill:#15181c}.ink{fill:#e6e9ed}.soft{fill:#9aa4af}.grid{stroke:#30363d}.rule{stroke:#9aa4af}\
                    .f0{fill:#5aa9f5}.f1{fill:#f0883e}.f2{fill:#4cc38a}.f3{fill:#b392f0}.f4{fill:#ff7b8b}\
                    .s0{stroke:#5aa9f5}.s1{stroke:#f0883e}.s2{stroke:#4cc38a}.s3{stroke:#b392f0}.s4{stroke:#ff7b8b}";
/// The style that both have. Lines of the second and later series are dashed, so that colour is not all that tells them
/// apart.
const SHAPES: &str = "text{font:13px system-ui,sans-serif}.title{font-weight:600;font-size:16px}.small{font-size:12px}\
                      .line{fill:none;stroke-width:2;stroke-linejoin:round}.s1.line{stroke-dasharray:7 3}\
                      .s2.line{stroke-dasharray:2 3}.s3.line{stroke-dasharray:9 3 2 3}.s4.line{stroke-dasharray:4 4}\
                      .rule{stroke-dasharray:4 3}.box{fill-opacity:.25;stroke-width:1.5}.median{stroke-width:3}";

/// The alignment of text at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
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

    /// A point, with what is shown where one points at it.
    pub(super) fn point(&mut self, (x, y): (f64, f64), radius: f64, classes: &str, told: &str) {
        let ([x, y, radius], told) = ([x, y, radius].map(pixels), escaped(told));
        self.add(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" class=\"{classes}\"><title>{told}</title></circle>"
        ));
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[(f64, f64)], classes: &str) {
        let points: Vec<String> =
            points.iter().map(|(x, y)| format!("{},{}", pixels(*x), pixels(*y))).collect();
        self.add(format_args!("<polyline points=\"{}\" class=\"{classes}\"/>", points.join(" ")));
    }

    /// The SVG, so many pixels high, with what it shows in words.
    pub(super) fn svg(self, height: f64, title: &str, told: &str) -> String {
        let (width, height) = (pixels(WIDTH), pixels(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <style>{SHAPES}{LIGHT}@media (prefers-color-scheme:dark){{{DARK}}}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n{}</svg>\n",
            escaped(title),
            escaped(told),
            self.body
        )
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        _ = writeln!(self.body, "{element}");
    }
}

/// The class that fills with the colour of series `index`.
pub(super) fn filled(index: usize) -> String {
    format!("f{}", index % COLOURS)
}

/// The class that draws lines in the colour of series `index`.
pub(super) fn drawn(index: usize) -> String {
    format!("s{}", index % COLOURS)
}

/// About how wide text is, in pixels, at a size of 13: no font is known here.
pub(super) fn width(text: &str) -> f64 {
    let of_size = |character: char| match character {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '['
        | ']' | ' ' => 0.32,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        character if character.is_uppercase() => 0.7,
        _ => 0.61,
    };
    13.0 * text.chars().map(of_size).sum::<f64>()
}

/// As much of a text as fits, with a mark where some is left out.
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

/// A place to a tenth of a pixel, as short as can be.
fn pixels(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
