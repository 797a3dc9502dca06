//! Curves: values over values, one line a series, and lines across for comparison, in one plot or in several over the same
//! horizontal axis, one below the other.

use super::axis::{Axis, PositionedAxis};
use super::canvas::{Drawing, EDGE, SeriesStyle, TextAnchor, drawn, widest};
use super::width;

/// Points further apart than this many pixels get markers; closer ones are a line alone.
const APART: f64 = 5.0;

/// A set of points that belong together.
#[derive(Clone, Debug)]
pub struct PlotSeries {
    /// Its name.
    pub name: String,
    /// Its points, in the order they are joined.
    pub points: Vec<PlotPoint>,
    /// The look.
    pub style: SeriesStyle,
}

/// A value at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotPoint {
    /// The place on the horizontal axis.
    pub x: f64,
    /// The value on the vertical one.
    pub y: f64,
    /// The name that is shown when one points at it; else that of the series and both values.
    pub name: Option<String>,
    /// The target of its link, on the page that the drawing is part of.
    pub target: Option<String>,
}

impl From<(f64, f64)> for PlotPoint {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, name: None, target: None }
    }
}

impl PlotSeries {
    /// The line of this name through these points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item: Into<PlotPoint>>) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        Self { name: name.into(), points, style: SeriesStyle::Line }
    }

    /// The same in another look.
    #[must_use]
    pub fn styled(self, style: SeriesStyle) -> Self {
        Self { style, ..self }
    }
}

/// Returns the points of several series.
pub(crate) fn points(series: &[PlotSeries]) -> impl Iterator<Item = &PlotPoint> {
    series.iter().flat_map(|series| &series.points)
}

/// A line across the plot.
#[derive(Clone, Debug)]
pub struct ReferenceLine {
    upright: bool,
    pub(super) value: f64,
    pub(super) label: String,
}

impl ReferenceLine {
    /// A vertical line at this x.
    pub fn x(value: f64, label: impl Into<String>) -> Self {
        Self { upright: true, value, label: label.into() }
    }

    /// A horizontal line at this y.
    pub fn y(value: f64, label: impl Into<String>) -> Self {
        Self { upright: false, value, label: label.into() }
    }
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The vertical axis, whose label names the plot.
    pub y: Axis,
    /// The lines.
    pub series: Vec<PlotSeries>,
    /// The lines that they are compared with.
    pub marks: Vec<ReferenceLine>,
}

impl Panel {
    /// Returns all values of the horizontal axis.
    fn xs(&self) -> impl Iterator<Item = f64> {
        let points = points(&self.series).map(|point| point.x);
        points.chain(self.marks.iter().filter(|mark| mark.upright).map(|mark| mark.value))
    }

    /// Places the vertical axis between these heights.
    fn vertical(&self, top: f64, bottom: f64) -> PositionedAxis<'_> {
        let values = points(&self.series).map(|point| point.y);
        let marks = self.marks.iter().filter(|mark| !mark.upright).map(|mark| mark.value);
        self.y.over(values.chain(marks), bottom, top)
    }
}

/// A panel between its axes.
struct Plot<'a> {
    pub panel: &'a Panel,
    pub x: &'a PositionedAxis<'a>,
    pub y: &'a PositionedAxis<'a>,
    /// The number of series of plots before this one, which have the first colours.
    pub before: usize,
}

impl Plot<'_> {
    /// Draws everything between the axes. Lines lie below points, and texts above all.
    fn draw(&self, drawing: &mut Drawing) {
        let series = || (self.before..).zip(&self.panel.series);
        for (index, series) in series().filter(|(_, series)| series.style != SeriesStyle::Points) {
            let places: Vec<_> = series.points.iter().map(|point| self.place(point)).collect();
            // A gap in the points is one in the line.
            for part in places.split(Option::is_none).filter(|part| !part.is_empty()) {
                let places: Vec<_> = part.iter().flatten().copied().collect();
                drawing.polyline(&places, &format!("{} {}", series.style.line(), drawn(index)));
            }
        }
        for (index, series) in series().filter(|(_, series)| series.style != SeriesStyle::Bare) {
            self.points(drawing, index, series);
        }
        self.panel.marks.iter().for_each(|mark| self.mark(drawing, mark));
    }

    /// Returns the place of a point that both axes can show.
    fn place(&self, point: &PlotPoint) -> Option<(f64, f64)> {
        (self.x.holds(point.x) && self.y.holds(point.y)).then(|| (self.x.at(point.x), self.y.at(point.y)))
    }

    /// Draws the markers of a series; of a line only those that do not hide each other.
    fn points(&self, drawing: &mut Drawing, index: usize, series: &PlotSeries) {
        let mut before = f64::NEG_INFINITY;
        for point in &series.points {
            let Some(place) = self.place(point) else { continue };
            let is_near = (place.0 - std::mem::replace(&mut before, place.0)).abs() < APART;
            if series.style == SeriesStyle::Line && is_near {
                continue;
            }
            let title = point.name.clone().unwrap_or_else(|| {
                let (value, at) = (self.y.axis.unit.text(point.y), self.x.axis.unit.text(point.x));
                format!("{}: {value} at {at}", series.name)
            });
            drawing.point(place, index, &title, point.target.as_deref());
        }
    }

    /// Draws a line across the plot, with its text at the beginning.
    fn mark(&self, drawing: &mut Drawing, mark: &ReferenceLine) {
        let (x, y) = (self.x, self.y);
        let axis = if mark.upright { x } else { y };
        if !axis.holds(mark.value) {
            return;
        }
        let at = axis.at(mark.value);
        if mark.upright {
            drawing.line((at, y.end - 6.0), (at, y.start), "rule");
            // The text goes to the side with room.
            let has_room = at + width(&mark.label) + 12.0 < x.end;
            let (at, anchor) =
                if has_room { (at + 6.0, TextAnchor::Start) } else { (at - 6.0, TextAnchor::End) };
            drawing.text((at, y.end + 8.0), anchor, "ink small halo", &mark.label);
        } else {
            drawing.line((x.start, at), (x.end, at), "rule");
            drawing.text((x.start + 6.0, at - 5.0), TextAnchor::Start, "ink small halo", &mark.label);
        }
    }
}

/// The height of a plot: of the only one, and of each of several.
const HEIGHTS: [f64; 2] = [320.0, 150.0];

/// Plots one below the other, over the same horizontal axis.
#[derive(Clone, Debug)]
pub struct Panels {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The circumstances; may be empty.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The plots, from top to bottom.
    pub panels: Vec<Panel>,
    /// True if all panels have series of the same names, which one legend explains; else each has colours of its own.
    pub alike: bool,
}

impl Panels {
    /// Returns the drawing.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        let explained = if self.alike { 1 } else { self.panels.len() };
        let series = self.panels.iter().take(explained).flat_map(|panel| &panel.series);
        drawing.legend(series.map(|series| (&*series.name, Some(series.style))));
        let mut top = drawing.height + 16.0;
        let height = HEIGHTS[usize::from(self.panels.len() > 1)];
        let mut placed = Vec::new();
        for panel in &self.panels {
            top += 14.0;
            placed.push((panel, panel.vertical(top, top + height)));
            top += height + 22.0;
        }
        // The room for the widest tick of a vertical axis.
        let left = 24.0 + widest(placed.iter().flat_map(|(_, y)| &y.ticks).map(|(_, text)| text));
        let xs = self.panels.iter().flat_map(Panel::xs);
        let x = &self.x.across(xs, left, super::WIDTH - 2.0 * EDGE);
        let mut before = 0;
        for (number, (panel, y)) in placed.iter().enumerate() {
            drawing.beside(y, (left, x.end));
            if number + 1 == placed.len() {
                drawing.below(x, (y.end, y.start));
            } else {
                drawing.columns(x, (y.end, y.start));
            }
            Plot { panel, x, y, before }.draw(&mut drawing);
            before += if self.alike { 0 } else { panel.series.len() };
        }
        drawing
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::AxisUnit;
    use super::*;

    fn curves() -> Panels {
        let series = vec![
            PlotSeries::new("hot", [(1024.0, 20e9), (4096.0, 70e9), (16384.0, 160e9)]),
            // NaN and infinite values are not drawn.
            PlotSeries::new("cold", [(1024.0, 15e9), (4096.0, f64::NAN), (8192.0, 70e9), (16384.0, 90e9)]),
        ];
        let marks = vec![ReferenceLine::x(8192.0, "L2"), ReferenceLine::y(100e9, "peak of the memory")];
        Panels {
            title: "Bandwidth by size".to_owned(),
            subtitle: "sum of f32, one array, <flushed & not>".to_owned(),
            x: Axis::log2("size of the array", AxisUnit::BYTES),
            panels: vec![Panel { y: Axis::linear("bandwidth", AxisUnit::BANDWIDTH), series, marks }],
            alike: true,
        }
    }

    #[test]
    fn curves_are_drawn_as_they_were_seen_to_be_right() {
        assert_snapshot!(curves().drawing().svg());
    }

    #[test]
    fn panels_share_their_horizontal_axis() {
        let mut both = curves();
        let Panel { y, series, .. } = both.panels[0].clone();
        let series = series.into_iter().map(|series| series.styled(SeriesStyle::Points)).collect();
        let y = Axis { label: "points".to_owned(), ..y };
        both.panels.push(Panel { y, series, marks: Vec::new() });
        assert_snapshot!(both.drawing().svg());
    }

    #[test]
    fn curves_without_points_are_an_empty_plot() {
        let mut empty = curves();
        empty.panels[0].series = vec![PlotSeries::new("none", [] as [(f64, f64); 0])];
        empty.panels[0].marks.clear();
        let svg = empty.drawing().svg();
        assert!(!svg.contains("<polyline") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
