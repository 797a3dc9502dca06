//! A drawing: shapes and text at positions in pixels, their colours, the legend below the title, and axes with
//! their gridlines.

use std::fmt::{Arguments, Write as _};

use gpubench_stats::format::joined;
use gpubench_table::{Page, text};

use super::{LETTER_WIDTH, WIDTH, axis::PositionedAxis, text_width};
use crate::xml_escaped;

/// The margin at the edges of a drawing, in pixels.
pub(super) const MARGIN: f64 = 16.0;
/// The ratio of the width of a letter in the title to that of other letters.
const TITLE_WIDTH_RATIO: f64 = 1.42;

/// The style of a series: with a line, with markers, or with both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesStyle {
    /// A line with a marker at each point.
    Line,
    /// Markers without a line.
    Points,
    /// A line without markers, for limits and for many points.
    Bare,
}

impl SeriesStyle {
    /// Returns the CSS classes of the line. Lines without markers are solid, because dashes look like points.
    pub(super) fn line_classes(self) -> &'static str {
        if self == Self::Bare { "line solid" } else { "line" }
    }
}

/// The colours of CSS variables in light and in dark pages. Series have the colours of Okabe and Ito, which
/// colour-blind readers can distinguish, darkened where text or a thin line on white would be faint.
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
/// CSS rules that give each class its colour, by variables.
pub(crate) const COLOUR_RULES: &str = ".drawing .paper{fill:var(--paper)}.drawing .ink{fill:var(--ink)}\
    .drawing .soft{fill:var(--soft)}.drawing .grid{stroke:var(--grid)}.drawing .axis,.drawing .rule{stroke:var(--soft)}\
    .drawing .halo{stroke:var(--paper)}.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}\
    .f4{fill:var(--c4)}.f5{fill:var(--c5)}.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}\
    .s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}";
/// CSS rules for fonts, lines and fills, by class. Series differ in dashes and markers too, not only in colour.
pub(crate) const SHAPE_RULES: &str = ".drawing text{font:13px system-ui,sans-serif}\
    .drawing .title{font-weight:600;font-size:16px}.drawing .small{font-size:12px}.drawing .rule{stroke-dasharray:4 3}\
    .drawing .halo{stroke-width:4;stroke-linejoin:round;paint-order:stroke}\
    .drawing .line{fill:none;stroke-width:2;stroke-linejoin:round}\
    .drawing .band{fill-opacity:.18}.drawing .point{stroke-width:1.5}.drawing .hollow{fill:none}\
    .drawing .box{fill-opacity:.25;stroke-width:1.5}.drawing .median{stroke-width:3}\
    .s1.line{stroke-dasharray:7 3}.s2.line{stroke-dasharray:2 3}.s3.line{stroke-dasharray:9 3 2 3}\
    .s4.line{stroke-dasharray:4 4}.s5.line{stroke-dasharray:1 4}.line.solid{stroke-dasharray:none}";

/// The number of colours and markers of series. Further series use the first ones again.
pub(crate) const COLOUR_COUNT: usize = 6;
/// The SVG path of each marker, relative to its point, and true if the marker is hollow.
const MARKERS: [(&str, bool); COLOUR_COUNT] = [
    ("m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", false),
    ("m-4.4-4.4h8.8v8.8h-8.8z", true),
    ("m0-4l3.8 6.8h-7.6z", false),
    ("m0-6l6 6l-6 6l-6-6z", true),
    ("m0 4l3.8-6.8h-7.6z", false),
    ("m-3.6 0h7.2m-3.6-3.6v7.2", true),
];

/// Returns the style sheet of a drawing in a file of its own. It has colours in place of CSS variables, which
/// many viewers do not support. Viewers without media queries show the light colours.
fn file_style() -> String {
    let [light, dark] = [0, 1].map(|shade| {
        COLOURS.iter().fold(COLOUR_RULES.to_owned(), |style, (variable, shades)| {
            style.replace(&format!("var({variable})"), shades[shade])
        })
    });
    format!("{SHAPE_RULES}{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

/// The part of a text that is at the position given for it.
pub(super) enum TextAnchor {
    Start,
    Middle,
    End,
}

/// A drawing, which [`Self::svg`] returns as an SVG file. Its parts are added from top to bottom.
#[derive(Clone, Debug)]
pub struct Drawing {
    title: String,
    description: String,
    /// The height so far, in pixels: the next part begins below it.
    pub(super) height: f64,
    body: String,
}

impl Drawing {
    /// Returns a drawing with a title and a subtitle, each broken into lines.
    pub(super) fn new(title: &str, subtitle: &str) -> Self {
        let mut drawing = Self {
            title: title.to_owned(),
            description: subtitle.to_owned(),
            height: 28.0,
            body: String::new(),
        };
        let most = WIDTH - 2.0 * MARGIN;
        for line in wrapped_to(&drawing.title, most / TITLE_WIDTH_RATIO) {
            drawing.text((MARGIN, drawing.height), TextAnchor::Start, "ink title", &line);
            drawing.height += 21.0;
        }
        let lines = wrapped_to(&drawing.description, most);
        for line in lines.iter().filter(|line| !line.is_empty()) {
            drawing.text((MARGIN, drawing.height), TextAnchor::Start, "soft", line);
            drawing.height += 18.0;
        }
        drawing.height -= 7.0;
        drawing
    }

    /// Returns the drawing as an SVG file, in light or dark colours as the reader prefers.
    pub fn svg(&self) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height));
        let size = format!(
            "xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" role=\"img\""
        );
        let paper = format!(
            "<style>{}</style>\n<rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n",
            file_style()
        );
        self.markup(&size, &paper) + "\n"
    }

    /// Returns the drawing as an element of a page whose style has [`SHAPE_RULES`] and [`COLOUR_RULES`]. Its role
    /// is a group if points are links, else an image.
    pub(crate) fn element(&self) -> String {
        let role = if self.body.contains("<a ") { "group" } else { "img" };
        self.markup(&format!("role=\"{role}\""), "")
    }

    /// Returns the `svg` element with these attributes. `head` precedes the shapes.
    fn markup(&self, attributes: &str, head: &str) -> String {
        let (width, height) = (pixels(WIDTH), pixels(self.height));
        let (title, description) = (xml_escaped(&self.title), xml_escaped(&self.description));
        format!(
            "<svg class=\"drawing\" viewBox=\"0 0 {width} {height}\" {attributes} aria-label=\"{title}\">\
             <desc>{description}</desc>{head}{}</svg>",
            self.body
        )
    }

    /// Adds text with these CSS classes. `y` is the position of its baseline. An empty text adds nothing.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: TextAnchor, classes: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            TextAnchor::Start => "",
            TextAnchor::Middle => " text-anchor=\"middle\"",
            TextAnchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (pixels(x), pixels(y), xml_escaped(text));
        self.add_element(format_args!("<text x=\"{x}\" y=\"{y}\"{anchor} class=\"{classes}\">{text}</text>"));
    }

    /// Adds a straight line with these CSS classes.
    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), classes: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(pixels);
        self.add_element(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" class=\"{classes}\"/>"
        ));
    }

    /// Adds a rectangle, given by its upper left corner and its size.
    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), classes: &str) {
        let [x, y, width, height] = [x, y, width, height].map(pixels);
        self.add_element(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{classes}\"/>"
        ));
    }

    /// Adds the marker of series `index`. The marker shows `title` when the mouse points at it, and is a link
    /// to `target` if there is one.
    pub(super) fn marker(&mut self, (x, y): (f64, f64), index: usize, title: &str, target: Option<&str>) {
        let (shape, is_hollow) = MARKERS[index % COLOUR_COUNT];
        let filled = if is_hollow { "hollow".to_owned() } else { fill_class(index) };
        let (x, y, drawn, title) = (pixels(x), pixels(y), stroke_class(index), xml_escaped(title));
        let name = if title.is_empty() { String::new() } else { format!("<title>{title}</title>") };
        let point = format!("<path d=\"M{x} {y}{shape}\" class=\"point {filled} {drawn}\">{name}</path>");
        match target.map(xml_escaped) {
            None => self.add_element(format_args!("{point}")),
            Some(target) => {
                self.add_element(format_args!("<a href=\"{target}\" aria-label=\"{title}\">{point}</a>"));
            }
        }
    }

    /// Adds a line through these points, in pixels, with these CSS classes.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], classes: &str) {
        let points = points.iter().map(|(x, y)| format!("{},{}", pixels(*x), pixels(*y)));
        self.add_element(format_args!("<polyline points=\"{}\" class=\"{classes}\"/>", joined(points, " ")));
    }

    /// Adds a legend: the name of each series with a sample of its style, or with a filled box if the style
    /// is `None`. Leaves out series without a name. Adds nothing if fewer than two have a name.
    pub(super) fn legend<'a>(&mut self, series: impl Iterator<Item = (&'a str, Option<SeriesStyle>)>) {
        const SAMPLE: f64 = 34.0;
        let named: Vec<_> = series.enumerate().filter(|(_, (name, _))| !name.is_empty()).collect();
        if named.len() < 2 {
            return;
        }
        let (mut x, mut y) = (MARGIN, self.height + 12.0);
        for (index, (name, style)) in named {
            let name = shortened_to(name, WIDTH - 2.0 * MARGIN - SAMPLE);
            let wide = SAMPLE + text_width(&name) + 22.0;
            if x > MARGIN && x + wide > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + 20.0);
            }
            self.legend_sample((x, y - 4.0), index, style);
            self.text((x + SAMPLE, y), TextAnchor::Start, "ink", &name);
            x += wide;
        }
        self.height = y + 12.0;
    }

    /// Adds the sample of a series to the legend, with its left end at this point.
    fn legend_sample(&mut self, (x, y): (f64, f64), index: usize, style: Option<SeriesStyle>) {
        match style {
            None => self.rectangle((x + 8.0, y - 6.0), (18.0, 12.0), &fill_class(index)),
            Some(style) => {
                if style != SeriesStyle::Points {
                    let classes = format!("{} {}", style.line_classes(), stroke_class(index));
                    self.polyline(&[(x, y), (x + 28.0, y)], &classes);
                }
                if style != SeriesStyle::Bare {
                    self.marker((x + 14.0, y), index, "", None);
                }
            }
        }
    }

    /// Adds a vertical line for each tick of a horizontal axis, from `top` to `bottom`.
    pub(super) fn vertical_gridlines(&mut self, axis: &PositionedAxis<'_>, (top, bottom): (f64, f64)) {
        for (value, _) in axis.horizontal_ticks() {
            self.line((axis.position(value), top), (axis.position(value), bottom), "grid");
        }
    }

    /// Adds a horizontal axis below a plot: gridlines, ticks and the label. The drawing then ends below the axis.
    pub(super) fn horizontal_axis(&mut self, axis: &PositionedAxis<'_>, (top, bottom): (f64, f64)) {
        self.vertical_gridlines(axis, (top, bottom));
        self.line((axis.start, bottom), (axis.end, bottom), "axis");
        for (value, text) in axis.horizontal_ticks() {
            self.text((axis.position(value), bottom + 17.0), TextAnchor::Middle, "soft small", &text);
        }
        self.text((axis.middle(), bottom + 36.0), TextAnchor::Middle, "soft", &axis.axis.label);
        self.height = bottom + 52.0;
    }

    /// Adds a vertical axis left of a plot: gridlines from `left` to `right`, ticks, and the label above the
    /// plot.
    pub(super) fn vertical_axis(&mut self, axis: &PositionedAxis<'_>, (left, right): (f64, f64)) {
        for (value, text) in axis.vertical_ticks() {
            let y = axis.position(value);
            self.line((left, y), (right, y), "grid");
            self.text((left - 8.0, y + 4.0), TextAnchor::End, "soft small", &text);
        }
        self.text((left, axis.end - 8.0), TextAnchor::Start, "ink", &axis.axis.label);
    }

    /// Adds a line of SVG.
    fn add_element(&mut self, element: Arguments<'_>) {
        // Writing to a string cannot fail.
        _ = writeln!(self.body, "{element}");
    }
}

/// Formats a number of pixels with at most one decimal place.
fn pixels(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Returns the CSS class that fills with the colour of series `index`.
pub(super) fn fill_class(index: usize) -> String {
    format!("f{}", index % COLOUR_COUNT)
}

/// Returns the CSS class that draws lines in the colour of series `index`.
pub(super) fn stroke_class(index: usize) -> String {
    format!("s{}", index % COLOUR_COUNT)
}

/// Returns the approximate width of the widest of these texts, in pixels; 0 without texts.
pub(super) fn widest_text(texts: impl Iterator<Item: AsRef<str>>) -> f64 {
    texts.map(|text| text_width(text.as_ref())).fold(0.0, f64::max)
}

/// Returns `text` shortened to this width in pixels. Letters in its middle are left out, since names differ least
/// there.
pub(super) fn shortened_to(text: &str, most: f64) -> String {
    text::shortened(text, (most / LETTER_WIDTH) as usize)
}

/// Returns `text` in lines of at most this width in pixels, broken at spaces.
fn wrapped_to(text: &str, most: f64) -> Vec<String> {
    text::wrapped(text, "", Page::default().with_width((most / LETTER_WIDTH) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_ends() {
        assert_eq!(shortened_to("copy[n=4096] cold", 1000.0), "copy[n=4096] cold");
        let shown = shortened_to("transpose_naive[columns=16384, rows=16384] cold", 180.0);
        assert!(
            shown.starts_with("transpose_") && shown.contains('…') && shown.ends_with("] cold"),
            "{shown}"
        );
        assert!(text_width(&shown) <= 180.0);
    }

    #[test]
    fn long_text_is_broken_at_spaces() {
        let words = ["word"; 30].join(" ");
        let lines = wrapped_to(&words, 500.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| text_width(line) <= 500.0), "{lines:?}");
    }
}
