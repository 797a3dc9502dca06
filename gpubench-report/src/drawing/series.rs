//! The content of a plot: series of points with their intervals, and lines to compare them with.

use super::axis::PlacedAxis;

/// A set of points that belong together.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points, in the order they are joined.
    pub points: Vec<Point>,
    /// The look.
    pub style: Style,
}

/// The look of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line with a marker at each point and a band around it for the intervals.
    Line,
    /// Markers with a whisker for each interval, not joined.
    Points,
    /// A line without markers: a limit, or more points than can be told apart.
    Bare,
    /// The area between the ends of the intervals.
    Band,
}

/// A value at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The place on the horizontal axis.
    pub x: f64,
    /// The value on the vertical one.
    pub y: f64,
    /// The interval that holds the value.
    pub interval: Option<[f64; 2]>,
    /// The name that is shown when one points at it; else that of the series and both values.
    pub name: Option<String>,
    /// The target of its link, on the page that the drawing is part of.
    pub target: Option<String>,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, interval: None, name: None, target: None }
    }
}

impl From<(f64, f64, [f64; 2])> for Point {
    fn from((x, y, interval): (f64, f64, [f64; 2])) -> Self {
        Self { interval: Some(interval), ..Self::from((x, y)) }
    }
}

impl Series {
    /// The line of this name through these points, each with its interval if it has one.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item: Into<Point>>) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        Self { name: name.into(), points, style: Style::Line }
    }

    /// The same in another look.
    #[must_use]
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

/// A line across the plot.
#[derive(Clone, Debug)]
pub struct Mark {
    pub(super) upright: bool,
    pub(super) value: f64,
    pub(super) label: String,
}

impl Mark {
    /// A vertical line at this x.
    pub fn x(value: f64, label: impl Into<String>) -> Self {
        Self { upright: true, value, label: label.into() }
    }

    /// A horizontal line at this y.
    pub fn y(value: f64, label: impl Into<String>) -> Self {
        Self { upright: false, value, label: label.into() }
    }
}

/// Returns true if both axes can show the point.
pub(super) fn shown(point: &Point, x: &PlacedAxis, y: &PlacedAxis) -> bool {
    x.holds(point.x) && y.holds(point.y)
}

/// The parts of a series between points that cannot be shown: a gap in the points is one in the line.
pub(super) fn parts<'a>(
    series: &'a Series,
    x: &'a PlacedAxis,
    y: &'a PlacedAxis,
) -> impl Iterator<Item = &'a [Point]> {
    series.points.split(|point| !shown(point, x, y)).filter(|part| !part.is_empty())
}
