//! Curves: values over values, one line a series, with lines across for comparison; and several such plots over the same
//! horizontal axis, one below the other.

use super::axis::Axis;
use super::canvas::{Canvas, Drawing};
use super::frame;
use super::plot::{self, Plot};
use super::series::{Mark, Series};

/// The height of a plot that stands alone.
const HEIGHT: f64 = 320.0;

/// Values over values.
#[derive(Clone, Debug)]
pub struct Curves {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The circumstances; may be empty.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// The lines that they are compared with.
    pub marks: Vec<Mark>,
}

impl Curves {
    /// The drawing.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let series: Vec<&Series> = self.series.iter().collect();
        let top = plot::head(&mut canvas, (&self.title, &self.subtitle), &series);
        let bottom = top + HEIGHT;
        let plot = Plot { x: &self.x, y: &self.y, series: &self.series, marks: &self.marks, before: 0 };
        let y = plot.vertical(top, bottom);
        let left = plot.margin(&y);
        let x = plot.horizontal(left);
        frame::beside(&mut canvas, &y, &self.y.label, (left, x.end));
        frame::below(&mut canvas, &x, &self.x.label, (top, bottom));
        plot.draw(&mut canvas, &x, &y);
        canvas.finish(bottom + 52.0, &self.title, &self.subtitle)
    }

    /// The drawing as a file.
    #[must_use]
    pub fn svg(&self) -> String {
        self.drawing().svg()
    }
}

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
    /// The height of each.
    pub height: f64,
}

/// One of several plots.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its name; may be empty.
    pub name: String,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// The lines that they are compared with.
    pub marks: Vec<Mark>,
}

impl Panels {
    /// The drawing.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let explained = if self.alike { 1 } else { self.panels.len() };
        let series: Vec<&Series> =
            self.panels.iter().take(explained).flat_map(|panel| &panel.series).collect();
        let mut top = plot::head(&mut canvas, (&self.title, &self.subtitle), &series);
        let mut before = 0;
        let mut plots = Vec::new();
        for panel in &self.panels {
            let plot = Plot { x: &self.x, y: &panel.y, series: &panel.series, marks: &panel.marks, before };
            if !self.alike {
                before += panel.series.len();
            }
            top += if panel.name.is_empty() { 0.0 } else { 14.0 };
            plots.push((panel, plot, plot.vertical(top, top + self.height)));
            top += self.height + 22.0;
        }
        let left = plots.iter().map(|(_, plot, y)| plot.margin(y)).fold(0.0, f64::max);
        let xs = plots.iter().flat_map(|(_, plot, _)| plot.xs());
        let x = self.x.over(xs, left, super::WIDTH - 2.0 * frame::EDGE);
        let last = plots.len().saturating_sub(1);
        for (number, (panel, plot, y)) in plots.iter().enumerate() {
            plot::panel_title(&mut canvas, left, y.end - 8.0, &panel.name);
            frame::beside(&mut canvas, y, &panel.y.label, (left, x.end));
            if number == last {
                frame::below(&mut canvas, &x, &self.x.label, (y.end, y.start));
            } else {
                frame::columns(&mut canvas, &x, (y.end, y.start));
            }
            plot.draw(&mut canvas, &x, y);
        }
        canvas.finish(top + 30.0, &self.title, &self.subtitle)
    }

    /// The drawing as a file.
    #[must_use]
    pub fn svg(&self) -> String {
        self.drawing().svg()
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::{Style, Unit};
    use super::*;

    fn curves() -> Curves {
        Curves {
            title: "Bandwidth by size".to_owned(),
            subtitle: "sum of f32, one array, <flushed & not>".to_owned(),
            x: Axis::log2("size of the array", Unit::BYTES),
            y: Axis::linear("bandwidth", Unit::BANDWIDTH),
            series: vec![
                Series::new("hot", [(1024.0, 20e9), (4096.0, 70e9), (16384.0, 160e9)]),
                // Nothing is drawn of a value that is none.
                Series::new(
                    "cold",
                    [
                        (1024.0, 15e9, [12e9, 16e9]),
                        (4096.0, f64::NAN, [0.0, 1.0]),
                        (8192.0, 70e9, [60e9, 75e9]),
                        (16384.0, 90e9, [80e9, 95e9]),
                    ],
                ),
            ],
            marks: vec![Mark::x(8192.0, "L2"), Mark::y(100e9, "peak of the memory")],
        }
    }

    #[test]
    fn curves_are_drawn_as_they_were_seen_to_be_right() {
        assert_snapshot!(curves().svg());
    }

    #[test]
    fn panels_share_their_horizontal_axis() {
        let Curves { title, subtitle, x, y, series, marks } = curves();
        let points = series.iter().map(|series| series.clone().styled(Style::Points)).collect();
        let panels = vec![
            Panel { name: "lines".to_owned(), y: y.clone(), series, marks },
            Panel { name: "points".to_owned(), y, series: points, marks: Vec::new() },
        ];
        assert_snapshot!(Panels { title, subtitle, x, panels, alike: true, height: 150.0 }.svg());
    }

    /// A line's text goes where no curve does, between their points too.
    #[test]
    fn a_curve_passes_no_text() {
        let place = |points: &[(f64, f64)]| {
            let series = vec![Series::new("hot", points.iter().copied())];
            let marks = vec![Mark::y(100.0, "a text of some length at a line")];
            let (x, y) = (Axis::linear("", Unit::NUMBER), Axis::linear("", Unit::NUMBER));
            let svg = Curves { x, y, series, marks, ..curves() }.svg();
            let line = svg.lines().find(|line| line.contains("of some length")).expect("it is there");
            ["middle", "end"].into_iter().find(|anchor| line.contains(anchor)).unwrap_or("start")
        };
        assert_eq!(place(&[(0.0, 105.0), (50.0, 200.0), (60.0, 200.0), (100.0, 90.0)]), "middle");
        assert_eq!(place(&[(0.0, 200.0), (30.0, 200.0), (90.0, 50.0)]), "start");
        assert_eq!(place(&[(10.0, 50.0), (70.0, 200.0), (100.0, 200.0)]), "end");
    }

    #[test]
    fn curves_without_points_are_an_empty_plot() {
        let none = Series::new("none", [] as [(f64, f64); 0]);
        let svg = Curves { series: vec![none], marks: Vec::new(), ..curves() }.svg();
        assert!(!svg.contains("<polyline") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
