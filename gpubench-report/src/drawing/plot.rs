//! Line plots: one plot, or several one below the other over the same horizontal axis.

use super::axis::{Axis, PositionedAxis};
use super::canvas::{Drawing, MARGIN, SeriesStyle, TextAnchor, stroke_class, widest_text};
use super::text_width;

/// The least horizontal distance in pixels between two markers on a line. A point closer to the last marker has
/// none.
const MIN_MARKER_DISTANCE: f64 = 5.0;

/// The points of one line or colour in a [`Panel`].
#[derive(Clone, Debug)]
pub struct PlotSeries {
    /// The name, for the legend.
    pub name: String,
    /// The points, in the order in which the line joins them.
    pub points: Vec<PlotPoint>,
    /// The style: a line, markers, or both.
    pub style: SeriesStyle,
}

/// A point of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotPoint {
    /// The value on the horizontal axis.
    pub x: f64,
    /// The value on the vertical axis.
    pub y: f64,
    /// The text that is shown when the mouse points at it; if `None`, the name of the series and both values.
    pub name: Option<String>,
    /// The target of its link, on the page with the drawing.
    pub target: Option<String>,
}

impl From<(f64, f64)> for PlotPoint {
    fn from((x, y): (f64, f64)) -> Self {
        Self { x, y, name: None, target: None }
    }
}

impl PlotSeries {
    /// Returns a line with markers through these points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item: Into<PlotPoint>>) -> Self {
        let points = points.into_iter().map(Into::into).collect();
        Self { name: name.into(), points, style: SeriesStyle::Line }
    }

    /// Returns the series in another style.
    #[must_use]
    pub fn with_style(self, style: SeriesStyle) -> Self {
        Self { style, ..self }
    }
}

/// Returns the points of all series.
pub(crate) fn all_points(series: &[PlotSeries]) -> impl Iterator<Item = &PlotPoint> {
    series.iter().flat_map(|series| &series.points)
}

/// A labelled straight line across a plot, vertical or horizontal.
#[derive(Clone, Debug)]
pub struct ReferenceLine {
    /// True for a vertical line.
    upright: bool,
    pub(super) value: f64,
    pub(super) label: String,
}

impl ReferenceLine {
    /// Returns a vertical line at this value of the horizontal axis.
    pub fn x(value: f64, label: impl Into<String>) -> Self {
        Self { upright: true, value, label: label.into() }
    }

    /// Returns a horizontal line at this value of the vertical axis.
    pub fn y(value: f64, label: impl Into<String>) -> Self {
        Self { upright: false, value, label: label.into() }
    }
}

/// A plot: a vertical axis with series. [`Panels`] has its horizontal axis.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The vertical axis. Its label is the heading of the plot.
    pub y: Axis,
    /// The series.
    pub series: Vec<PlotSeries>,
    /// The lines with which the series are compared.
    pub marks: Vec<ReferenceLine>,
}

impl Panel {
    /// Returns the values of all points and vertical lines on the horizontal axis.
    fn x_values(&self) -> impl Iterator<Item = f64> {
        let points = all_points(&self.series).map(|point| point.x);
        points.chain(self.marks.iter().filter(|mark| mark.upright).map(|mark| mark.value))
    }

    /// Fits the vertical axis to the values of all points and horizontal lines, between these heights in
    /// pixels.
    fn fit_y_axis(&self, top: f64, bottom: f64) -> PositionedAxis<'_> {
        let values = all_points(&self.series).map(|point| point.y);
        let marks = self.marks.iter().filter(|mark| !mark.upright).map(|mark| mark.value);
        self.y.fit(values.chain(marks), bottom, top)
    }
}

/// A panel with its positioned axes, ready to draw.
struct Plot<'a> {
    panel: &'a Panel,
    x: &'a PositionedAxis<'a>,
    y: &'a PositionedAxis<'a>,
    /// The number of series in the panels above, which have the first colours; 0 if the panels share colours.
    before: usize,
}

impl Plot<'_> {
    /// Draws everything between the axes: lines first, then markers, then reference lines with their texts.
    fn draw(&self, drawing: &mut Drawing) {
        let series = || (self.before..).zip(&self.panel.series);
        for (index, series) in series().filter(|(_, series)| series.style != SeriesStyle::Points) {
            let places: Vec<_> = series.points.iter().map(|point| self.position(point)).collect();
            // A gap in the points is one in the line.
            for part in places.split(Option::is_none).filter(|part| !part.is_empty()) {
                let places: Vec<_> = part.iter().flatten().copied().collect();
                drawing
                    .polyline(&places, &format!("{} {}", series.style.line_classes(), stroke_class(index)));
            }
        }
        for (index, series) in series().filter(|(_, series)| series.style != SeriesStyle::Bare) {
            self.draw_markers(drawing, index, series);
        }
        self.panel.marks.iter().for_each(|mark| self.draw_reference_line(drawing, mark));
    }

    /// Returns the position of a point in pixels; `None` if the point is beyond the ends of an axis.
    fn position(&self, point: &PlotPoint) -> Option<(f64, f64)> {
        (self.x.contains_value(point.x) && self.y.contains_value(point.y))
            .then(|| (self.x.position(point.x), self.y.position(point.y)))
    }

    /// Draws the markers of a series. On a line, a point has no marker if it is closer than
    /// [`MIN_MARKER_DISTANCE`] to the last marker.
    fn draw_markers(&self, drawing: &mut Drawing, index: usize, series: &PlotSeries) {
        let mut last_marker = f64::NEG_INFINITY;
        for point in &series.points {
            let Some(place) = self.position(point) else { continue };
            if series.style == SeriesStyle::Line && (place.0 - last_marker).abs() < MIN_MARKER_DISTANCE {
                continue;
            }
            last_marker = place.0;
            let title = point.name.clone().unwrap_or_else(|| {
                let (value, at) = (self.y.axis.unit.format(point.y), self.x.axis.unit.format(point.x));
                format!("{}: {value} at {at}", series.name)
            });
            drawing.marker(place, index, &title, point.target.as_deref());
        }
    }

    /// Draws a reference line across the plot, with its label at its start. Draws nothing if its value is
    /// outside the axis.
    fn draw_reference_line(&self, drawing: &mut Drawing, mark: &ReferenceLine) {
        let (x, y) = (self.x, self.y);
        let axis = if mark.upright { x } else { y };
        if !axis.contains_value(mark.value) {
            return;
        }
        let at = axis.position(mark.value);
        if mark.upright {
            drawing.line((at, y.end - 6.0), (at, y.start), "rule");
            // The text goes to the side with room.
            let has_room = at + text_width(&mark.label) + 12.0 < x.end;
            let (at, anchor) =
                if has_room { (at + 6.0, TextAnchor::Start) } else { (at - 6.0, TextAnchor::End) };
            drawing.text((at, y.end + 8.0), anchor, "ink small halo", &mark.label);
        } else {
            drawing.line((x.start, at), (x.end, at), "rule");
            drawing.text((x.start + 6.0, at - 5.0), TextAnchor::Start, "ink small halo", &mark.label);
        }
    }
}

/// The height in pixels of the only panel of a drawing, and of each of several.
const PANEL_HEIGHTS: [f64; 2] = [320.0, 150.0];

/// Panels one below the other, over the same horizontal axis.
#[derive(Clone, Debug)]
pub struct Panels {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The conditions of the measurement; may be empty.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// True if all panels have series of the same names, which share colours and one legend. Else each panel has
    /// colours of its own.
    pub shares_legend: bool,
}

impl Panels {
    /// Draws the panels.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        let explained = if self.shares_legend { 1 } else { self.panels.len() };
        let series = self.panels.iter().take(explained).flat_map(|panel| &panel.series);
        drawing.legend(series.map(|series| (&*series.name, Some(series.style))));
        let mut top = drawing.height + 16.0;
        let height = PANEL_HEIGHTS[usize::from(self.panels.len() > 1)];
        let mut placed = Vec::new();
        for panel in &self.panels {
            top += 14.0;
            placed.push((panel, panel.fit_y_axis(top, top + height)));
            top += height + 22.0;
        }
        // The room for the widest tick of a vertical axis.
        let left = 24.0 + widest_text(placed.iter().flat_map(|(_, y)| &y.ticks).map(|(_, text)| text));
        let xs = self.panels.iter().flat_map(Panel::x_values);
        let x = &self.x.fit_horizontally(xs, left, super::WIDTH - 2.0 * MARGIN);
        let mut before = 0;
        for (number, (panel, y)) in placed.iter().enumerate() {
            drawing.vertical_axis(y, (left, x.end));
            if number + 1 == placed.len() {
                drawing.horizontal_axis(x, (y.end, y.start));
            } else {
                drawing.vertical_gridlines(x, (y.end, y.start));
            }
            Plot { panel, x, y, before }.draw(&mut drawing);
            before += if self.shares_legend { 0 } else { panel.series.len() };
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
            shares_legend: true,
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
        let series = series.into_iter().map(|series| series.with_style(SeriesStyle::Points)).collect();
        let y = Axis { label: "points".to_owned(), ..y };
        both.panels.push(Panel { y, series, marks: Vec::new() });
        assert_snapshot!(both.drawing().svg());
    }

    /// No marker of a dense curve overlaps another, and they reach its end.
    #[test]
    fn a_dense_curve_has_markers_at_a_distance() {
        let mut dense = curves();
        dense.x = Axis::linear("size of the array", AxisUnit::BYTES);
        let points = (0..1000).map(|index| (f64::from(index), 20e9));
        dense.panels[0].series = vec![PlotSeries::new("hot", points)];
        dense.panels[0].marks.clear();
        let svg = dense.drawing().svg();
        let markers = svg.lines().filter_map(|line| {
            let (place, rest) = line.trim_start().split_once("<path d=\"M")?.1.split_once(' ')?;
            rest.contains("class=\"point").then(|| place.parse::<f64>().expect("pixels"))
        });
        let markers: Vec<f64> = markers.collect();
        assert!(markers.len() > 50, "{markers:?}");
        assert!(markers.windows(2).all(|pair| pair[1] - pair[0] > MIN_MARKER_DISTANCE - 0.2), "{markers:?}");
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
