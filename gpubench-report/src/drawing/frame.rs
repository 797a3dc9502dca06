//! The parts that all kinds of drawings share: the legend below the title, and axes with their lines.

use super::WIDTH;
use super::axis::PlacedAxis;
use super::canvas::{Anchor, Drawing, EDGE, drawn, filled, fitted, width};
use super::plot::Style;

impl Drawing {
    /// Adds a legend of series with their looks, which bars do not have, unless there is only one.
    pub(super) fn legend<'a>(&mut self, series: impl Iterator<Item = (&'a str, Option<Style>)>) {
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
            self.text((x + SAMPLE, y), Anchor::Start, "ink", &name);
            x += wide;
        }
        self.height = y + 12.0;
    }

    /// Adds a short piece of a series.
    fn sample(&mut self, (x, y): (f64, f64), index: usize, style: Option<Style>) {
        match style {
            None => self.rectangle((x + 8.0, y - 6.0), (18.0, 12.0), &filled(index)),
            Some(Style::Band) => {
                self.rectangle((x, y - 6.0), (28.0, 12.0), &format!("band {}", filled(index)));
            }
            Some(style) => {
                if style != Style::Points {
                    let classes = format!("{} {}", style.line(), drawn(index));
                    self.path("polyline", &[(x, y), (x + 28.0, y)], &classes);
                }
                if style != Style::Bare {
                    self.point((x + 14.0, y), index, "", None);
                }
            }
        }
    }

    /// Adds the lines of a horizontal axis in a plot, which begins at `top` and ends at `bottom`.
    pub(super) fn columns(&mut self, axis: &PlacedAxis, (top, bottom): (f64, f64)) {
        for (value, _) in axis.spread() {
            self.line((axis.at(value), top), (axis.at(value), bottom), "grid");
        }
    }

    /// Adds a horizontal axis below a plot: its lines, the ticks that have room, and the name of its values. The drawing ends below it.
    pub(super) fn below(&mut self, axis: &PlacedAxis, (top, bottom): (f64, f64)) {
        self.columns(axis, (top, bottom));
        self.line((axis.start, bottom), (axis.end, bottom), "axis");
        for (value, text) in axis.spread() {
            self.text((axis.at(value), bottom + 17.0), Anchor::Middle, "soft small", &text);
        }
        self.text((axis.middle(), bottom + 36.0), Anchor::Middle, "soft", &axis.label);
        self.height = bottom + 52.0;
    }

    /// Adds a vertical axis to the left of a plot, from `left` to `right`, with its lines.
    pub(super) fn beside(&mut self, axis: &PlacedAxis, (left, right): (f64, f64)) {
        for (value, text) in axis.stacked() {
            let y = axis.at(value);
            self.line((left, y), (right, y), "grid");
            self.text((left - 8.0, y + 4.0), Anchor::End, "soft small", &text);
        }
        self.text_upwards((EDGE + 4.0, axis.middle()), "soft", &axis.label);
    }
}
