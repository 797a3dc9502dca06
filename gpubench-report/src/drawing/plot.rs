//! A plot: two axes with series and marks between them. In: these, and where the plot lies; out: its shapes on a canvas.

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas, drawn, filled, width};
use super::labels;
use super::series::{Mark, Point, Series, Style, parts, shown};
use super::{WIDTH, frame};

/// Points further apart than this many pixels get markers; closer ones are a line alone.
const APART: f64 = 5.0;

/// The content of a plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot<'a> {
    pub(super) x: &'a Axis,
    pub(super) y: &'a Axis,
    pub(super) series: &'a [Series],
    pub(super) marks: &'a [Mark],
    /// The number of series of plots before this one, which have the first colours.
    pub(super) before: usize,
}

impl Plot<'_> {
    /// All values of the horizontal axis, marks among them.
    pub(super) fn xs(&self) -> impl Iterator<Item = f64> {
        let points = self.series.iter().flat_map(|series| &series.points).map(|point| point.x);
        points.chain(self.marks.iter().filter(|mark| mark.upright).map(|mark| mark.value))
    }

    fn ys(&self) -> impl Iterator<Item = f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let values =
            points.flat_map(|point| [point.y].into_iter().chain(point.interval.into_iter().flatten()));
        values.chain(self.marks.iter().filter(|mark| !mark.upright).map(|mark| mark.value))
    }

    /// The vertical axis between these heights.
    pub(super) fn vertical(&self, top: f64, bottom: f64) -> PlacedAxis {
        self.y.over(self.ys(), bottom, top)
    }

    /// The room that the labels of the vertical axis need.
    pub(super) fn margin(&self, y: &PlacedAxis) -> f64 {
        44.0 + y.ticks.iter().map(|(_, text)| width(text)).fold(0.0, f64::max)
    }

    /// The horizontal axis from `left` to the right edge.
    pub(super) fn horizontal(&self, left: f64) -> PlacedAxis {
        self.x.over(self.xs(), left, WIDTH - 2.0 * frame::EDGE)
    }

    /// Draws everything between the axes. Bands lie below lines, lines below points, and texts above all.
    pub(super) fn draw(&self, canvas: &mut Canvas, x: &PlacedAxis, y: &PlacedAxis) {
        let all = || self.series.iter().enumerate().map(|(index, series)| (self.before + index, series));
        for (index, series) in all() {
            band(canvas, index, series, x, y);
        }
        for (index, series) in all() {
            line(canvas, index, series, x, y);
        }
        for (index, series) in all() {
            self.points(canvas, index, series, x, y);
        }
        for mark in self.marks {
            labels::mark(canvas, mark, self.series, x, y);
        }
    }

    /// The markers of a series; none if they would hide each other.
    fn points(&self, canvas: &mut Canvas, index: usize, series: &Series, x: &PlacedAxis, y: &PlacedAxis) {
        if matches!(series.style, Style::Bare | Style::Band) {
            return;
        }
        let shown: Vec<&Point> = series.points.iter().filter(|point| shown(point, x, y)).collect();
        let crowded = series.style == Style::Line
            && shown.windows(2).any(|pair| (x.at(pair[1].x) - x.at(pair[0].x)).abs() < APART);
        for (number, point) in shown.iter().enumerate() {
            let place = (x.at(point.x), y.at(point.y));
            let near = number > 0 && (place.0 - x.at(shown[number - 1].x)).abs() < APART;
            if crowded && near {
                continue;
            }
            if series.style == Style::Points {
                whisker(canvas, index, point, x, y);
            }
            let title = point.name.clone().unwrap_or_else(|| {
                let (value, at) = (self.y.unit.exact(point.y), self.x.unit.exact(point.x));
                format!("{}: {value} at {at}", series.name)
            });
            canvas.point(place, index, &title, point.target.as_deref());
        }
    }
}

fn line(canvas: &mut Canvas, index: usize, series: &Series, x: &PlacedAxis, y: &PlacedAxis) {
    if matches!(series.style, Style::Points | Style::Band) {
        return;
    }
    for part in parts(series, x, y) {
        let places: Vec<_> = part.iter().map(|point| (x.at(point.x), y.at(point.y))).collect();
        // Dashes of many points would be mistaken for points.
        let kind = if series.style == Style::Bare { "line solid" } else { "line" };
        canvas.path(&places, &format!("{kind} {}", drawn(index)));
    }
}

fn band(canvas: &mut Canvas, index: usize, series: &Series, x: &PlacedAxis, y: &PlacedAxis) {
    if series.style == Style::Points {
        return;
    }
    for part in parts(series, x, y) {
        let ends = part.iter().filter_map(|point| Some((x.at(point.x), point.interval?)));
        let ends: Vec<(f64, [f64; 2])> =
            ends.map(|(at, ends)| (at, ends.map(|end| y.at(y.clamped(end))))).collect();
        if ends.len() > 1 {
            let forth = ends.iter().map(|(at, [low, _])| (*at, *low));
            let back = ends.iter().rev().map(|(at, [_, high])| (*at, *high));
            canvas.area(&forth.chain(back).collect::<Vec<_>>(), &format!("band {}", filled(index)));
        }
    }
}

/// The interval of a point, if it is large enough to be seen beyond its marker.
fn whisker(canvas: &mut Canvas, index: usize, point: &Point, x: &PlacedAxis, y: &PlacedAxis) {
    let Some(ends) = point.interval else { return };
    let [low, high] = ends.map(|end| y.at(y.clamped(end)));
    if (low - high).abs() > 9.0 {
        let at = x.at(point.x);
        canvas.line((at, low), (at, high), &format!("whisker {}", drawn(index)));
    }
}

/// The title and a legend with the look of each series. Returns the height at which the plot below may begin.
pub(super) fn head(canvas: &mut Canvas, (title, subtitle): (&str, &str), series: &[&Series]) -> f64 {
    let top = frame::title(canvas, title, subtitle);
    let entries: Vec<frame::LegendEntry<'_>> = series
        .iter()
        .enumerate()
        .filter(|(_, series)| !series.name.is_empty())
        .map(|(index, series)| frame::LegendEntry { name: &series.name, index, sample: series.style.into() })
        .collect();
    frame::legend(canvas, top, &entries) + 16.0
}

/// The name of a panel, above its plot.
pub(super) fn panel_title(canvas: &mut Canvas, left: f64, y: f64, text: &str) {
    canvas.text((left, y), Anchor::Start, "ink", text);
}
