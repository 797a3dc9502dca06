//! Curves: values over values, one line a series, with lines across where something is to be compared with.

use std::ops::Range;

use super::axis::{Axis, Placed};
use super::canvas::{Anchor, Canvas, drawn, filled, width};
use super::{WIDTH, frame};

/// The height of the plot.
const HEIGHT: f64 = 320.0;

/// Values over values.
#[derive(Clone, Debug)]
pub struct Curves {
    /// The title.
    pub title: String,
    /// Under which circumstances; may be empty.
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

/// A line through points.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points, in the order they are joined.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// The line of this name through these points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect() }
    }
}

/// A line across the plot.
#[derive(Clone, Debug)]
pub struct Mark {
    upright: bool,
    value: f64,
    label: String,
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

impl Curves {
    /// The drawing.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::default();
        let top = frame::title(&mut canvas, &self.title, &self.subtitle);
        let top =
            frame::legend(&mut canvas, top, self.series.iter().map(|series| series.name.as_str())) + 16.0;
        let bottom = top + HEIGHT;
        let y = self.y.over(self.values(false), bottom, top);
        let left = 44.0 + y.ticks.iter().map(|(_, text)| width(text)).fold(0.0, f64::max);
        let x = self.x.over(self.values(true), left, WIDTH - 2.0 * frame::EDGE);
        frame::below(&mut canvas, &x, &self.x.label, (top, bottom));
        frame::beside(&mut canvas, &y, &self.y.label, (left, x.end));
        for (index, series) in self.series.iter().enumerate() {
            self.draw(&mut canvas, index, series, &x, &y);
        }
        // On top, so that no curve hides what they say.
        for mark in &self.marks {
            self.mark(&mut canvas, mark, &x, &y);
        }
        canvas.svg(bottom + 52.0, &self.title, &self.subtitle)
    }

    /// All values of one axis, marks among them.
    fn values(&self, horizontal: bool) -> impl Iterator<Item = f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let marks = self.marks.iter().filter(move |mark| mark.upright == horizontal).map(|mark| mark.value);
        points.map(move |(x, y)| if horizontal { *x } else { *y }).chain(marks)
    }

    /// The points of a series that both axes can show, and their line. A gap in the points is one in the line.
    fn draw(&self, canvas: &mut Canvas, index: usize, series: &Series, x: &Placed, y: &Placed) {
        let shown = |(at, value): &(f64, f64)| x.holds(*at) && y.holds(*value);
        for part in series.points.split(|point| !shown(point)).filter(|part| !part.is_empty()) {
            let places: Vec<_> = part.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect();
            canvas.path(&places, &format!("line {}", drawn(index)));
            for ((at, value), place) in part.iter().zip(places) {
                let told = format!("{}: {} at {}", series.name, (self.y.show)(*value), (self.x.show)(*at));
                canvas.point(place, 3.0, &filled(index), &told);
            }
        }
    }

    fn mark(&self, canvas: &mut Canvas, mark: &Mark, x: &Placed, y: &Placed) {
        let axis = if mark.upright { x } else { y };
        if !axis.holds(mark.value) {
            return;
        }
        let at = axis.at(mark.value);
        if mark.upright {
            canvas.line((at, y.end - 6.0), (at, y.start), "rule");
            // To the side on which there is room.
            let (anchor, aside) = if at + width(&mark.label) + 8.0 < x.end {
                (Anchor::Start, 6.0)
            } else {
                (Anchor::End, -6.0)
            };
            canvas.text(
                (at + aside, self.free_height(x, y, at, anchor, &mark.label)),
                anchor,
                "ink small",
                &mark.label,
            );
        } else {
            canvas.line((x.start, at), (x.end, at), "rule");
            let (place, anchor) = self.free_place(x, y, at - 9.0, &mark.label);
            canvas.text((place, at - 5.0), anchor, "ink small", &mark.label);
        }
    }

    /// A place for the text of a horizontal line at which no curve passes: the one farthest from all of them, of three.
    fn free_place(&self, x: &Placed, y: &Placed, height: f64, label: &str) -> (f64, Anchor) {
        let (wide, middle) = (width(label) + 12.0, (x.start + x.end) / 2.0);
        // The last of those with equal room is taken.
        let places = [
            (middle, Anchor::Middle, middle - wide / 2.0..middle + wide / 2.0),
            (x.end - 6.0, Anchor::End, x.end - wide..x.end),
            (x.start + 6.0, Anchor::Start, x.start..x.start + wide),
        ];
        let room = |taken: &Range<f64>| self.nearest(x, y, height, |at| taken.contains(&at)).min(40.0);
        let free = places.into_iter().max_by(|a, b| room(&a.2).total_cmp(&room(&b.2)));
        free.map_or((x.start + 6.0, Anchor::Start), |(place, anchor, _)| (place, anchor))
    }

    /// A height for the text of a vertical line at which no curve passes: the one farthest from all of them, of a few.
    fn free_height(&self, x: &Placed, y: &Placed, at: f64, anchor: Anchor, label: &str) -> f64 {
        let reach = width(label) + 12.0;
        let beside = move |place: f64| match anchor {
            Anchor::Start => (at - 30.0..at + reach).contains(&place),
            _ => (at - reach..at + 30.0).contains(&place),
        };
        let heights = [y.end + 8.0, y.end + 28.0, y.start - 10.0, (y.start + y.end) / 2.0];
        let room = |height: &f64| self.nearest(x, y, *height, beside).min(40.0);
        heights.into_iter().rev().max_by(|a, b| room(a).total_cmp(&room(b))).unwrap_or(y.end)
    }

    /// The distance of the curves from a height, at the places that are asked for.
    fn nearest(&self, x: &Placed, y: &Placed, height: f64, asked: impl Fn(f64) -> bool) -> f64 {
        let passed = self.series.iter().flat_map(|series| passed(&series.points, x, y));
        let near = passed.filter(|(at, _)| asked(*at)).map(|(_, at)| (at - height).abs());
        near.fold(f64::INFINITY, f64::min)
    }
}

/// The points of the line through these points, every few pixels.
fn passed(points: &[(f64, f64)], x: &Placed, y: &Placed) -> Vec<(f64, f64)> {
    const STEPS: usize = 16;
    let shown = |(at, value): &(f64, f64)| x.holds(*at) && y.holds(*value);
    let places = |part: &[(f64, f64)]| -> Vec<_> {
        let ends: Vec<_> = part.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect();
        let between = ends.windows(2).flat_map(|pair| {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let part = |step| step as f64 / STEPS as f64;
            (1..STEPS).map(move |step| (x0 + part(step) * (x1 - x0), y0 + part(step) * (y1 - y0)))
        });
        between.chain(ends.iter().copied()).collect()
    };
    points.split(|point| !shown(point)).flat_map(places).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn curves() -> Curves {
        Curves {
            title: "Bandwidth by size".to_owned(),
            subtitle: "sum of f32, one array, <flushed & not>".to_owned(),
            x: Axis::log2("size of the array", |bytes| format!("{bytes} B")),
            y: Axis::linear("GB/s", |rate| format!("{rate}")),
            series: vec![
                Series::new("hot", [(1024.0, 20.0), (4096.0, 70.0), (16384.0, 160.0)]),
                // Nothing is drawn of a value that is none.
                Series::new("cold", [(1024.0, 15.0), (4096.0, f64::NAN), (16384.0, 90.0)]),
            ],
            marks: vec![Mark::x(8192.0, "L2"), Mark::y(100.0, "peak of the memory")],
        }
    }

    #[test]
    fn curves_are_drawn_as_they_were_seen_to_be_right() {
        assert_snapshot!(curves().svg());
    }

    /// A line's text goes where no curve does, between their points too.
    #[test]
    fn a_curve_passes_no_text() {
        let place = |points: &[(f64, f64)]| {
            let series = vec![Series::new("hot", points.iter().copied())];
            let marks = vec![Mark::y(100.0, "a text of some length at a line")];
            let svg = Curves { x: Axis::linear("", |_| String::new()), series, marks, ..curves() }.svg();
            let line = svg.lines().find(|line| line.contains("of some length")).expect("it is there");
            ["middle", "end"].into_iter().find(|anchor| line.contains(anchor)).unwrap_or("start")
        };
        assert_eq!(place(&[(0.0, 105.0), (50.0, 200.0), (60.0, 200.0), (100.0, 90.0)]), "middle");
        assert_eq!(place(&[(0.0, 200.0), (30.0, 200.0), (90.0, 50.0)]), "start");
        assert_eq!(place(&[(10.0, 50.0), (70.0, 200.0), (100.0, 200.0)]), "end");
    }

    #[test]
    fn curves_without_points_are_an_empty_plot() {
        let svg = Curves { series: vec![Series::new("none", [])], marks: Vec::new(), ..curves() }.svg();
        assert!(!svg.contains("<polyline") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
