//! The parts that all kinds of drawings share: the title above, the legend below it, and axes with their lines.

use super::WIDTH;
use super::axis::PlacedAxis;
use super::canvas::{Anchor, Canvas, drawn, filled, shortened, width, wrapped};
use super::series::Style;

/// Room at the edges.
pub(super) const EDGE: f64 = 16.0;
/// The width of a title's letters over that of others.
const BOLD: f64 = 1.42;

/// The title and the text below it, each in as many lines as it takes; returns the height of the next line.
pub(super) fn title(canvas: &mut Canvas, title: &str, subtitle: &str) -> f64 {
    let most = WIDTH - 2.0 * EDGE;
    let mut y = 28.0;
    for line in wrapped(title, most / BOLD) {
        canvas.text((EDGE, y), Anchor::Start, "ink title", &line);
        y += 21.0;
    }
    if !subtitle.is_empty() {
        for line in wrapped(subtitle, most) {
            canvas.text((EDGE, y), Anchor::Start, "soft", &line);
            y += 18.0;
        }
    }
    y - 7.0
}

/// The look of a series in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegendSample {
    Bar,
    Series(Style),
}

impl From<Style> for LegendSample {
    fn from(style: Style) -> Self {
        Self::Series(style)
    }
}

/// A series in a legend.
#[derive(Clone, Copy, Debug)]
pub(super) struct LegendEntry<'a> {
    pub(super) name: &'a str,
    /// The number of the series, which decides its colour, dash and marker.
    pub(super) index: usize,
    pub(super) sample: LegendSample,
}

/// The series with their looks, in as many lines as it takes, unless there is only one; returns the height of the next line.
pub(super) fn legend(canvas: &mut Canvas, top: f64, entries: &[LegendEntry<'_>]) -> f64 {
    const SAMPLE: f64 = 34.0;
    if entries.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (EDGE, top + 12.0);
    for entry in entries {
        let name = shortened(entry.name, WIDTH - 2.0 * EDGE - SAMPLE);
        let wide = SAMPLE + width(&name) + 22.0;
        if x > EDGE && x + wide > WIDTH - EDGE {
            (x, y) = (EDGE, y + 20.0);
        }
        sample(canvas, (x, y - 4.0), entry);
        canvas.text((x + SAMPLE, y), Anchor::Start, "ink", &name);
        x += wide;
    }
    y + 12.0
}

/// A short piece of a series.
fn sample(canvas: &mut Canvas, (x, y): (f64, f64), entry: &LegendEntry<'_>) {
    let index = entry.index;
    match entry.sample {
        LegendSample::Bar => canvas.rectangle((x + 8.0, y - 6.0), (18.0, 12.0), &filled(index)),
        LegendSample::Series(Style::Band) => {
            canvas.rectangle((x, y - 6.0), (28.0, 12.0), &format!("band {}", filled(index)));
        }
        LegendSample::Series(style) => {
            if style != Style::Points {
                let kind = if style == Style::Bare { "line solid" } else { "line" };
                canvas.path(&[(x, y), (x + 28.0, y)], &format!("{kind} {}", drawn(index)));
            }
            if style != Style::Bare {
                canvas.marker((x + 14.0, y), index);
            }
        }
    }
}

/// The ticks of a horizontal axis: its lines in the plot, which begins at `top` and ends at `bottom`.
pub(super) fn columns(canvas: &mut Canvas, axis: &PlacedAxis, (top, bottom): (f64, f64)) {
    for (value, _) in axis.spread() {
        canvas.line((axis.at(value), top), (axis.at(value), bottom), "grid");
    }
}

/// A horizontal axis below the plot: its lines, the ticks that have room, and the name of its values. `ys` is where the plot
/// begins and ends; the axis takes 44 pixels below.
pub(super) fn below(canvas: &mut Canvas, axis: &PlacedAxis, label: &str, (top, bottom): (f64, f64)) {
    columns(canvas, axis, (top, bottom));
    canvas.line((axis.start, bottom), (axis.end, bottom), "axis");
    for (value, text) in axis.spread() {
        canvas.text((axis.at(value), bottom + 17.0), Anchor::Middle, "soft small", &text);
    }
    canvas.text(((axis.start + axis.end) / 2.0, bottom + 36.0), Anchor::Middle, "soft", label);
}

/// A vertical axis to the left of the plot, from `left` to `right`, with its lines.
pub(super) fn beside(canvas: &mut Canvas, axis: &PlacedAxis, label: &str, (left, right): (f64, f64)) {
    for (value, text) in axis.stacked() {
        let y = axis.at(value);
        canvas.line((left, y), (right, y), "grid");
        canvas.text((left - 8.0, y + 4.0), Anchor::End, "soft small", &text);
    }
    canvas.text_upwards((EDGE + 4.0, (axis.start + axis.end) / 2.0), "soft", label);
}

/// The room for the names of rows, which are cut to a third of the drawing.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(width).fold(0.0, f64::max).min(WIDTH / 3.0) + 10.0
}
