//! Curves: values over values, one line a series, with lines across for comparison; and several such plots over the same horizontal
//! axis, one below the other.

use super::axis::Axis;
use super::canvas::{Anchor, Drawing, EDGE, width};
use super::plot::{Mark, Panel, Plot, Series};

/// The height of a single plot.
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
    /// Returns the drawing.
    #[must_use]
    pub fn drawing(self) -> Drawing {
        let Self { title, subtitle, x, y, series, marks } = self;
        let panels = vec![Panel { name: String::new(), y, series, marks }];
        Panels { title, subtitle, x, panels, alike: true, height: HEIGHT }.drawing()
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

impl Panels {
    /// Returns the drawing.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        let explained = if self.alike { 1 } else { self.panels.len() };
        let series = self.panels.iter().take(explained).flat_map(|panel| &panel.series);
        drawing.legend(series.map(|series| (&*series.name, Some(series.style))));
        let mut top = drawing.height + 16.0;
        let mut placed = Vec::new();
        for panel in &self.panels {
            top += if panel.name.is_empty() { 0.0 } else { 14.0 };
            placed.push((panel, panel.vertical(top, top + self.height)));
            top += self.height + 22.0;
        }
        // The room for the widest tick of a vertical axis.
        let ticks = placed.iter().flat_map(|(_, y)| &y.ticks).map(|(_, text)| width(text));
        let left = 44.0 + ticks.fold(0.0, f64::max);
        let xs = self.panels.iter().flat_map(Panel::xs);
        let x = &self.x.over(xs, left, super::WIDTH - 2.0 * EDGE);
        let mut before = 0;
        for (number, (panel, y)) in placed.iter().enumerate() {
            drawing.text((left, y.end - 8.0), Anchor::Start, "ink", &panel.name);
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
        assert_snapshot!(curves().drawing().svg());
    }

    #[test]
    fn panels_share_their_horizontal_axis() {
        let Curves { title, subtitle, x, y, series, marks } = curves();
        let points = series.iter().map(|series| series.clone().styled(Style::Points)).collect();
        let panels = vec![
            Panel { name: "lines".to_owned(), y: y.clone(), series, marks },
            Panel { name: "points".to_owned(), y, series: points, marks: Vec::new() },
        ];
        assert_snapshot!(Panels { title, subtitle, x, panels, alike: true, height: 150.0 }.drawing().svg());
    }

    #[test]
    fn curves_without_points_are_an_empty_plot() {
        let none = Series::new("none", [] as [(f64, f64); 0]);
        let svg = Curves { series: vec![none], marks: Vec::new(), ..curves() }.drawing().svg();
        assert!(!svg.contains("<polyline") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
