//! A drawing: shapes and text at places in pixels, all colours, and the parts that all kinds of drawings share: the legend below the
//! title, and axes with their lines.

use std::fmt::{Arguments, Write as _};

use gpubench_stats::format::joined;
use gpubench_table::{Page, text};

use super::{LETTER, WIDTH, axis::PositionedAxis, width};
use crate::escaped;

/// Room at the edges.
pub(super) const EDGE: f64 = 16.0;
/// The width of a title's letters over that of others.
const BOLD: f64 = 1.42;

/// The look of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesStyle {
    /// A line with a marker at each point.
    Line,
    /// Markers, not joined.
    Points,
    /// A line without markers: a limit, or more points than a reader can tell apart.
    Bare,
}

impl SeriesStyle {
    /// Returns the class of its line. Dashes of many points would be mistaken for points.
    pub(super) fn line(self) -> &'static str {
        if self == Self::Bare { "line solid" } else { "line" }
    }
}

/// The colours by variable, in light and in the dark: Okabe and Ito's, which colour-blind readers tell apart, darkened where
/// text or a thin line of them on white would be faint.
pub(crate) const COLOURS: [(&str, [&str; 2]); 10] = [
    ("--paper", ["#fff", "#15181c"]),
    ("--ink", ["#1f2328", "#e6e9ed"]),
    ("--soft", ["#59636e", "#9aa4af"]),
    ("--grid", ["#d8dee4", "#30363d"]),
    ("--c0", ["#0072b2", "#56b4e9"]),
    ("--c1", ["#c85200", "#ff8f4d"]),
    ("--c2", ["#00795a", "#2fc99c"]),
    ("--c3", ["#a8467f", "#e48fc2"]),
    ("--c4", ["#8a6100", "#e8bb3f"]),
    ("--c5", ["#5b6470", "#a9b3bd"]),
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
    .drawing .line{fill:none;stroke-width:2;stroke-linejoin:round}\
    .drawing .band{fill-opacity:.18}.drawing .point{stroke-width:1.5}.drawing .hollow{fill:none}\
    .drawing .box{fill-opacity:.25;stroke-width:1.5}.drawing .median{stroke-width:3}\
    .s1.line{stroke-dasharray:7 3}.s2.line{stroke-dasharray:2 3}.s3.line{stroke-dasharray:9 3 2 3}\
    .s4.line{stroke-dasharray:4 4}.s5.line{stroke-dasharray:1 4}.line.solid{stroke-dasharray:none}";

/// The number of colours and markers of series, which repeat after the last.
pub(crate) const SERIES: usize = 6;
/// The outline of each marker around its place, and true for one around which other markers fit.
const MARKERS: [(&str, bool); SERIES] = [
    ("m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", false),
    ("m-4.4-4.4h8.8v8.8h-8.8z", true),
    ("m0-4l3.8 6.8h-7.6z", false),
    ("m0-6l6 6l-6 6l-6-6z", true),
    ("m0 4l3.8-6.8h-7.6z", false),
    ("m-3.6 0h7.2m-3.6-3.6v7.2", true),
];

/// The style of a file: its colours are written out, since many viewers do not know CSS variables. Viewers without media
/// queries show it in light.
fn style() -> String {
    let [light, dark] = [0, 1].map(|shade| {
        COLOURS.iter().fold(COLOURED.to_owned(), |style, (variable, shades)| {
            style.replace(&format!("var({variable})"), shades[shade])
        })
    });
    format!("{SHAPES}{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

/// The alignment of text at its place.
pub(super) enum TextAnchor {
    Start,
    Middle,
    End,
}

/// A drawing.
#[derive(Clone, Debug)]
pub struct Drawing {
    title: String,
    description: String,
    /// The height so far, in pixels.
    pub(super) height: f64,
    body: String,
}

impl Drawing {
    /// Returns a drawing with a title and the text below it, each in as many lines as it takes.
    pub(super) fn new(title: &str, subtitle: &str) -> Self {
        let mut drawing = Self {
            title: title.to_owned(),
            description: subtitle.to_owned(),
            height: 28.0,
            body: String::new(),
        };
        let most = WIDTH - 2.0 * EDGE;
        for line in wrapped(&drawing.title, most / BOLD) {
            drawing.text((EDGE, drawing.height), TextAnchor::Start, "ink title", &line);
            drawing.height += 21.0;
        }
        let lines = wrapped(&drawing.description, most);
        for line in lines.iter().filter(|line| !line.is_empty()) {
            drawing.text((EDGE, drawing.height), TextAnchor::Start, "soft", line);
            drawing.height += 18.0;
        }
        drawing.height -= 7.0;
        drawing
    }

    /// Returns the drawing as a file of its own, in the colours that its reader prefers.
    pub fn svg(&self) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height));
        let size = format!(
            "xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" role=\"img\""
        );
        let paper = format!(
            "<style>{}</style>\n<rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n",
            style()
        );
        self.markup(&size, &paper) + "\n"
    }

    /// Returns the drawing as an element of a page that has the colours and shapes of this module in its style. Its points may be
    /// links, so that its role is then a group and not an image.
    pub(crate) fn element(&self) -> String {
        let role = if self.body.contains("<a ") { "group" } else { "img" };
        self.markup(&format!("role=\"{role}\""), "")
    }

    fn markup(&self, attributes: &str, head: &str) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height));
        let (title, description) = (escaped(&self.title), escaped(&self.description));
        format!(
            "<svg class=\"drawing\" viewBox=\"0 0 {width} {height}\" {attributes} aria-label=\"{title}\">\
             <desc>{description}</desc>{head}{}</svg>",
            self.body
        )
    }

    /// Adds text whose baseline is at `y`, of these classes.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: TextAnchor, classes: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            TextAnchor::Start => "",
            TextAnchor::Middle => " text-anchor=\"middle\"",
            TextAnchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (pixels(x), pixels(y), escaped(text));
        self.add(format_args!("<text x=\"{x}\" y=\"{y}\"{anchor} class=\"{classes}\">{text}</text>"));
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), classes: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(pixels);
        self.add(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{classes}\"/>"));
    }

    /// Adds a rectangle from its upper left corner.
    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), classes: &str) {
        let [x, y, width, height] = [x, y, width, height].map(pixels);
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{classes}\"/>"
        ));
    }

    /// Adds the marker of series `index`, with the text that is shown when one points at it; a link if there is a target.
    pub(super) fn point(&mut self, (x, y): (f64, f64), index: usize, title: &str, target: Option<&str>) {
        let (shape, is_hollow) = MARKERS[index % SERIES];
        let filled = if is_hollow { "hollow".to_owned() } else { filled(index) };
        let (x, y, drawn, title) = (pixels(x), pixels(y), drawn(index), escaped(title));
        let name = if title.is_empty() { String::new() } else { format!("<title>{title}</title>") };
        let point = format!("<path d=\"M{x} {y}{shape}\" class=\"point {filled} {drawn}\">{name}</path>");
        match target.map(escaped) {
            None => self.add(format_args!("{point}")),
            Some(target) => {
                self.add(format_args!("<a href=\"{target}\" aria-label=\"{title}\">{point}</a>"));
            }
        }
    }

    /// Adds a line through points.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], classes: &str) {
        let points = points.iter().map(|(x, y)| format!("{},{}", pixels(*x), pixels(*y)));
        self.add(format_args!("<polyline points=\"{}\" class=\"{classes}\"/>", joined(points, " ")));
    }

    /// Adds a legend of series with their looks, which bars do not have, unless there is only one.
    pub(super) fn legend<'a>(&mut self, series: impl Iterator<Item = (&'a str, Option<SeriesStyle>)>) {
        const SAMPLE: f64 = 34.0;
        let named: Vec<_> = series.enumerate().filter(|(_, (name, _))| !name.is_empty()).collect();
        if named.len() < 2 {
            return;
        }
        let (mut x, mut y) = (EDGE, self.height + 12.0);
        for (index, (name, style)) in named {
            let name = fitted(name, WIDTH - 2.0 * EDGE - SAMPLE);
            let wide = SAMPLE + width(&name) + 22.0;
            if x > EDGE && x + wide > WIDTH - EDGE {
                (x, y) = (EDGE, y + 20.0);
            }
            self.sample((x, y - 4.0), index, style);
            self.text((x + SAMPLE, y), TextAnchor::Start, "ink", &name);
            x += wide;
        }
        self.height = y + 12.0;
    }

    /// Adds a short piece of a series.
    fn sample(&mut self, (x, y): (f64, f64), index: usize, style: Option<SeriesStyle>) {
        match style {
            None => self.rectangle((x + 8.0, y - 6.0), (18.0, 12.0), &filled(index)),
            Some(style) => {
                if style != SeriesStyle::Points {
                    let classes = format!("{} {}", style.line(), drawn(index));
                    self.polyline(&[(x, y), (x + 28.0, y)], &classes);
                }
                if style != SeriesStyle::Bare {
                    self.point((x + 14.0, y), index, "", None);
                }
            }
        }
    }

    /// Adds the lines of a horizontal axis in a plot, which begins at `top` and ends at `bottom`.
    pub(super) fn columns(&mut self, axis: &PositionedAxis<'_>, (top, bottom): (f64, f64)) {
        for (value, _) in axis.spread() {
            self.line((axis.at(value), top), (axis.at(value), bottom), "grid");
        }
    }

    /// Adds a horizontal axis below a plot: its lines, the ticks that have room, and the name of its values. The drawing ends below it.
    pub(super) fn below(&mut self, axis: &PositionedAxis<'_>, (top, bottom): (f64, f64)) {
        self.columns(axis, (top, bottom));
        self.line((axis.start, bottom), (axis.end, bottom), "axis");
        for (value, text) in axis.spread() {
            self.text((axis.at(value), bottom + 17.0), TextAnchor::Middle, "soft small", &text);
        }
        self.text((axis.middle(), bottom + 36.0), TextAnchor::Middle, "soft", &axis.axis.label);
        self.height = bottom + 52.0;
    }

    /// Adds a vertical axis to the left of a plot, from `left` to `right`, with its lines, and its label above the plot.
    pub(super) fn beside(&mut self, axis: &PositionedAxis<'_>, (left, right): (f64, f64)) {
        for (value, text) in axis.stacked() {
            let y = axis.at(value);
            self.line((left, y), (right, y), "grid");
            self.text((left - 8.0, y + 4.0), TextAnchor::End, "soft small", &text);
        }
        self.text((left, axis.end - 8.0), TextAnchor::Start, "ink", &axis.axis.label);
    }

    fn add(&mut self, element: Arguments<'_>) {
        // Writing to a string cannot fail.
        _ = writeln!(self.body, "{element}");
    }
}

/// Returns a number of pixels to a tenth, in the fewest characters.
fn pixels(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The class that fills with the colour of series `index`.
pub(super) fn filled(index: usize) -> String {
    format!("f{}", index % SERIES)
}

/// The class that draws lines in the colour of series `index`.
pub(super) fn drawn(index: usize) -> String {
    format!("s{}", index % SERIES)
}

/// Returns the width of the widest of these texts.
pub(super) fn widest(texts: impl Iterator<Item: AsRef<str>>) -> f64 {
    texts.map(|text| width(text.as_ref())).fold(0.0, f64::max)
}

/// Returns the text as it fits. What is left out of its middle tells names apart the least.
pub(super) fn fitted(text: &str, most: f64) -> String {
    text::shortened(text, (most / LETTER) as usize)
}

/// Returns the text in lines that fit, broken at spaces.
fn wrapped(text: &str, most: f64) -> Vec<String> {
    text::wrapped(text, "", Page::default().with_width((most / LETTER) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_ends() {
        assert_eq!(fitted("copy[n=4096] cold", 1000.0), "copy[n=4096] cold");
        let shown = fitted("transpose_naive[columns=16384, rows=16384] cold", 180.0);
        assert!(
            shown.starts_with("transpose_") && shown.contains('…') && shown.ends_with("] cold"),
            "{shown}"
        );
        assert!(width(&shown) <= 180.0);
    }

    #[test]
    fn long_text_is_broken_at_spaces() {
        let words = ["word"; 30].join(" ");
        let lines = wrapped(&words, 500.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line) <= 500.0), "{lines:?}");
    }
}
