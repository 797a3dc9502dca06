//! The parts that all kinds of drawings share: the title above, the legend below it, and axes with their lines.

use super::WIDTH;
use super::axis::Placed;
use super::canvas::{Anchor, Canvas, filled, shortened, width};

/// Room at the edges.
pub(super) const EDGE: f64 = 16.0;

/// The title and what stands below it; returns where the next line goes.
pub(super) fn title(canvas: &mut Canvas, title: &str, subtitle: &str) -> f64 {
    let most = WIDTH - 2.0 * EDGE;
    canvas.text((EDGE, 28.0), Anchor::Start, "ink title", &shortened(title, most / 1.25));
    if subtitle.is_empty() {
        return 40.0;
    }
    canvas.text((EDGE, 48.0), Anchor::Start, "soft", &shortened(subtitle, most));
    60.0
}

/// Which colour is which, in as many lines as it takes, unless there is only one; returns where the next line goes.
pub(super) fn legend<'a>(
    canvas: &mut Canvas,
    top: f64,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> f64 {
    if names.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (EDGE, top + 12.0);
    for (index, name) in names.enumerate() {
        let name = shortened(name, WIDTH - 2.0 * EDGE - 18.0);
        let wide = 18.0 + width(&name) + 20.0;
        if x > EDGE && x + wide > WIDTH - EDGE {
            (x, y) = (EDGE, y + 20.0);
        }
        canvas.rectangle((x, y - 9.0), (12.0, 10.0), &filled(index));
        canvas.text((x + 18.0, y), Anchor::Start, "ink", &name);
        x += wide;
    }
    y + 12.0
}

/// A horizontal axis below the plot: its lines, the ticks that have room, and what it shows. `ys` is where the plot begins
/// and ends; the axis takes 44 pixels below.
pub(super) fn below(canvas: &mut Canvas, axis: &Placed, label: &str, (top, bottom): (f64, f64)) {
    for (value, text) in axis.spread() {
        let x = axis.at(value);
        canvas.line((x, top), (x, bottom), "grid");
        canvas.text((x, bottom + 17.0), Anchor::Middle, "soft small", &text);
    }
    canvas.text(((axis.start + axis.end) / 2.0, bottom + 36.0), Anchor::Middle, "soft", label);
}

/// A vertical axis to the left of the plot, from `left` to `right`, with its lines.
pub(super) fn beside(canvas: &mut Canvas, axis: &Placed, label: &str, (left, right): (f64, f64)) {
    for (value, text) in &axis.ticks {
        let y = axis.at(*value);
        canvas.line((left, y), (right, y), "grid");
        canvas.text((left - 8.0, y + 4.0), Anchor::End, "soft small", text);
    }
    canvas.text_upwards((EDGE + 4.0, (axis.start + axis.end) / 2.0), "soft", label);
}

/// The room for the names of rows, which are cut to a third of the drawing.
pub(super) fn names<'a>(names: impl Iterator<Item = &'a str>) -> f64 {
    names.map(width).fold(0.0, f64::max).min(WIDTH / 3.0) + 10.0
}
