//! Lines across a plot and their texts, which stand where no curve passes. In: a mark and the series; out: shapes on a canvas.

use std::ops::Range;

use super::axis::PlacedAxis;
use super::canvas::{Anchor, Canvas, width};
use super::series::{Mark, Series, parts};

/// Draws a mark with its text.
pub(super) fn mark(canvas: &mut Canvas, mark: &Mark, series: &[Series], x: &PlacedAxis, y: &PlacedAxis) {
    let axis = if mark.upright { x } else { y };
    if !axis.holds(mark.value) {
        return;
    }
    let (at, free) = (axis.at(mark.value), Free { series, x, y });
    if mark.upright {
        canvas.line((at, y.end - 6.0), (at, y.start), "rule");
        // The text goes to the side with room.
        let (anchor, aside) =
            if at + width(&mark.label) + 8.0 < x.end { (Anchor::Start, 6.0) } else { (Anchor::End, -6.0) };
        let height = free.height(at, anchor, &mark.label);
        canvas.text((at + aside, height), anchor, "ink small halo", &mark.label);
    } else {
        canvas.line((x.start, at), (x.end, at), "rule");
        let (place, anchor) = free.place(at - 9.0, &mark.label);
        canvas.text((place, at - 5.0), anchor, "ink small halo", &mark.label);
    }
}

/// The places that no curve passes.
struct Free<'a> {
    series: &'a [Series],
    x: &'a PlacedAxis,
    y: &'a PlacedAxis,
}

impl Free<'_> {
    /// A place for the text of a horizontal line at which no curve passes: the one farthest from all of them, of three.
    fn place(&self, height: f64, label: &str) -> (f64, Anchor) {
        let x = self.x;
        let (wide, middle) = (width(label) + 12.0, (x.start + x.end) / 2.0);
        // The last of several with equal room wins.
        let places = [
            (middle, Anchor::Middle, middle - wide / 2.0..middle + wide / 2.0),
            (x.end - 6.0, Anchor::End, x.end - wide..x.end),
            (x.start + 6.0, Anchor::Start, x.start..x.start + wide),
        ];
        let room = |taken: &Range<f64>| self.nearest(height, |at| taken.contains(&at)).min(40.0);
        let free = places.into_iter().max_by(|a, b| room(&a.2).total_cmp(&room(&b.2)));
        free.map_or((x.start + 6.0, Anchor::Start), |(place, anchor, _)| (place, anchor))
    }

    /// A height for the text of a vertical line at which no curve passes: the one farthest from all of them, of a few.
    fn height(&self, at: f64, anchor: Anchor, label: &str) -> f64 {
        let reach = width(label) + 12.0;
        let beside = move |place: f64| match anchor {
            Anchor::Start => (at - 30.0..at + reach).contains(&place),
            _ => (at - reach..at + 30.0).contains(&place),
        };
        let y = self.y;
        let heights = [y.end + 8.0, y.end + 28.0, y.start - 10.0, (y.start + y.end) / 2.0];
        let room = |height: &f64| self.nearest(*height, beside).min(40.0);
        heights.into_iter().rev().max_by(|a, b| room(a).total_cmp(&room(b))).unwrap_or(y.end)
    }

    /// The distance of the curves from a height, at the places for which `asked` is true.
    fn nearest(&self, height: f64, asked: impl Fn(f64) -> bool) -> f64 {
        let passed = self.series.iter().flat_map(|series| passed(series, self.x, self.y));
        let near = passed.filter(|(at, _)| asked(*at)).map(|(_, at)| (at - height).abs());
        near.fold(f64::INFINITY, f64::min)
    }
}

/// The points of the line of a series, every few pixels.
fn passed(series: &Series, x: &PlacedAxis, y: &PlacedAxis) -> Vec<(f64, f64)> {
    const STEPS: usize = 16;
    let mut places = Vec::new();
    for part in parts(series, x, y) {
        let ends: Vec<_> = part.iter().map(|point| (x.at(point.x), y.at(point.y))).collect();
        for pair in ends.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let part = |step| step as f64 / STEPS as f64;
            places.extend((1..STEPS).map(|step| (x0 + part(step) * (x1 - x0), y0 + part(step) * (y1 - y0))));
        }
        places.extend(ends);
    }
    places
}
