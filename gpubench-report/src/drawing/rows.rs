//! Drawings with a row for each name: bars and box plots.

use gpubench_stats::quantile;

use super::WIDTH;
use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Drawing, EDGE, drawn, filled, fitted, width};
use super::plot::Mark;
use super::unit::Unit;

/// The thickness of a bar, and the space between rows of bars.
const BAR: f64 = 18.0;
const GAP: f64 = 12.0;
/// The height of a row of a box plot, and of the box in it.
const BOX_ROW: f64 = 38.0;
const BOX: f64 = 20.0;
/// The widest name of a row.
const NAME: f64 = WIDTH / 3.0;

/// Places an axis under these values, between the names of rows and the notes after them.
fn between<'a>(
    axis: &Axis,
    names: impl Iterator<Item = &'a String>,
    notes: &[String],
    values: impl Iterator<Item = f64>,
) -> PlacedAxis {
    let left = EDGE + names.map(|name| width(name)).fold(0.0, f64::max).min(NAME) + 10.0;
    let room = notes.iter().map(|note| width(note)).fold(0.0, f64::max) + 16.0;
    axis.over(values, left, WIDTH - EDGE - room)
}

impl Drawing {
    /// Adds the name of a row, and the note after it.
    fn row(&mut self, axis: &PlacedAxis, y: f64, name: &str, note: &str) {
        self.text((axis.start - 8.0, y + 4.0), Anchor::End, "ink", &fitted(name, NAME));
        self.text((axis.end + 12.0, y + 4.0), Anchor::Start, "ink small", note);
    }
}

/// Values side by side, each with a bar. The interval of a value is a whisker at the bar's end.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The circumstances; may be empty.
    pub subtitle: String,
    /// The name of the values. Bars begin at 0: a logarithmic axis has none.
    pub label: String,
    /// Their unit.
    pub unit: Unit,
    /// The names of the bars of a row, if there are several.
    pub series: Vec<String>,
    /// The rows, from top to bottom.
    pub rows: Vec<Bar>,
    /// The values that they are compared with; vertical ones.
    pub marks: Vec<Mark>,
}

/// A row of bars.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// A value for each series; one that is not a number has no bar.
    pub values: Vec<f64>,
    /// The interval of each value, as far as it is known.
    pub intervals: Vec<[f64; 2]>,
}

impl Bar {
    /// A row of these values.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        Self { name: name.into(), values: values.into_iter().collect(), intervals: Vec::new() }
    }
}

impl Bars {
    /// Returns the drawing.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        drawing.legend(self.series.iter().map(|name| (&**name, None)));
        let top = drawing.height + if self.marks.is_empty() { 8.0 } else { 26.0 };
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let notes: Vec<String> = values().map(|value| self.unit.exact(value)).collect();
        let all = values().chain(self.marks.iter().map(|mark| mark.value));
        let axis = Axis::linear(&self.label, self.unit).tight();
        let axis = between(&axis, self.rows.iter().map(|row| &row.name), &notes, all);
        let height = |row: &Bar| GAP + BAR * row.values.len() as f64;
        let bottom = top + self.rows.iter().map(height).sum::<f64>() + GAP;
        drawing.below(&axis, (top, bottom));
        drawing.line((axis.at(0.0), top), (axis.at(0.0), bottom), "axis");
        for mark in &self.marks {
            let at = axis.at(mark.value);
            drawing.line((at, top - 6.0), (at, bottom), "rule");
            let anchor = if at > axis.middle() { Anchor::End } else { Anchor::Start };
            drawing.text((at, top - 12.0), anchor, "ink small halo", &mark.label);
        }
        let mut y = top;
        for row in &self.rows {
            drawing.row(&axis, y + (GAP + height(row)) / 2.0 - 1.0, &row.name, "");
            y += GAP;
            for (index, value) in row.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let y = y + BAR * index as f64;
                let [zero, end] = [0.0, *value].map(|value| axis.at(value));
                drawing.rectangle((zero.min(end), y), ((end - zero).abs(), BAR - 2.0), &filled(index));
                let mut beyond = end.max(zero);
                if let Some(ends) = row.intervals.get(index) {
                    let [low, high] = ends.map(|end| axis.at(axis.clamped(end)));
                    if high - low > 3.0 {
                        drawing.line((low, y + 8.0), (high, y + 8.0), &format!("axis {}", drawn(5)));
                    }
                    beyond = beyond.max(high);
                }
                let text = self.unit.exact(*value);
                drawing.text((beyond + 6.0, y + 12.0), Anchor::Start, "ink small halo", &text);
            }
            y += BAR * row.values.len() as f64;
        }
        drawing
    }
}

/// Samples, a row for each set. A box goes from the first quartile to the third, a line in it is the median; whiskers reach to the last
/// samples within 1.5 times the box beyond it (Tukey 1977), and samples further out are points.
#[derive(Clone, Debug)]
pub struct BoxPlot {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The circumstances; may be empty.
    pub subtitle: String,
    /// The axis of the samples.
    pub axis: Axis,
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
}

/// A set of samples.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The samples, in any order.
    pub samples: Vec<f64>,
    /// The text to the right of the row; if it is empty, the median.
    pub note: String,
}

impl BoxPlot {
    /// Returns the drawing. The median of each row is to the right of it.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        let top = drawing.height + 8.0;
        let spreads: Vec<_> = self.rows.iter().map(|row| Spread::new(&row.samples, &self.axis)).collect();
        let note = |(row, spread): (&Row, &Option<Spread>)| match spread {
            None => "no samples".to_owned(),
            Some(spread) if row.note.is_empty() => self.axis.unit.exact(spread.median),
            Some(_) => row.note.clone(),
        };
        let notes: Vec<String> = self.rows.iter().zip(&spreads).map(note).collect();
        let values = self.rows.iter().flat_map(|row| row.samples.iter().copied());
        let axis = between(&self.axis, self.rows.iter().map(|row| &row.name), &notes, values);
        drawing.below(&axis, (top, top + BOX_ROW * self.rows.len() as f64));
        for (number, ((row, spread), note)) in self.rows.iter().zip(&spreads).zip(&notes).enumerate() {
            let y = top + BOX_ROW * (number as f64 + 0.5);
            drawing.row(&axis, y, &row.name, note);
            if let Some(spread) = spread {
                spread.draw(&mut drawing, &axis, y, self.axis.unit);
            }
        }
        drawing
    }
}

/// The quantiles that a row shows of its samples.
#[derive(Debug, PartialEq)]
struct Spread {
    median: f64,
    quartiles: [f64; 2],
    whiskers: [f64; 2],
    beyond: Vec<f64>,
}

impl Spread {
    /// Returns the quantiles of the samples that the axis can show, if there are any.
    fn new(samples: &[f64], axis: &Axis) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|value| axis.scale.shows(*value)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.is_empty() {
            return None;
        }
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let reach = 1.5 * (high - low);
        let (within, beyond): (Vec<f64>, Vec<f64>) =
            sorted.iter().partition(|value| (low - reach..=high + reach).contains(*value));
        let whiskers = [within.first().copied().unwrap_or(low), within.last().copied().unwrap_or(high)];
        Some(Self { median, quartiles: [low, high], whiskers, beyond })
    }

    fn draw(&self, drawing: &mut Drawing, axis: &PlacedAxis, y: f64, unit: Unit) {
        let [low, high] = self.quartiles.map(|value| axis.at(value));
        let (stroke, half, median) = (drawn(0), BOX / 2.0, axis.at(self.median));
        drawing.whisker(self.whiskers.map(|value| axis.at(value)), y, half / 2.0, &stroke);
        drawing.rectangle((low, y - half), (high - low, BOX), "paper");
        drawing.rectangle((low, y - half), (high - low, BOX), &format!("box {} {stroke}", filled(0)));
        drawing.line((median, y - half), (median, y + half), &format!("median {stroke}"));
        for value in &self.beyond {
            drawing.point((axis.at(*value), y), 1, &unit.exact(*value), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn bars_are_drawn_as_they_were_seen_to_be_right() {
        let bars = Bars {
            title: "Transfers".to_owned(),
            subtitle: String::new(),
            label: "bandwidth".to_owned(),
            unit: Unit::BANDWIDTH,
            series: vec!["to the device".to_owned(), "to the host".to_owned()],
            rows: vec![
                Bar { intervals: vec![[48e9, 53e9]], ..Bar::new("pinned", [52e9, 51.25e9]) },
                Bar::new("pageable", [9e9, f64::NAN]),
                Bar::new("a name that is much too long to have all of it beside its bar", [0.0, 3e9]),
            ],
            marks: vec![Mark::x(63e9, "peak of the bus")],
        };
        assert_snapshot!(bars.drawing().svg());
    }

    fn axis() -> Axis {
        Axis::log10("time", Unit::TIME)
    }

    /// Eight samples and one far out: their quartiles are those of R and NumPy.
    #[test]
    fn whiskers_end_at_samples_and_leave_the_others_out() {
        let spread =
            Spread::new(&[9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0], &axis()).expect("there are some");
        assert_eq!((spread.median, spread.quartiles), (5.0, [3.0, 7.0]));
        assert_eq!((spread.whiskers, spread.beyond), ([1.0, 9.0], vec![100.0]));
        assert_eq!(Spread::new(&[f64::NAN, -1.0], &axis()), None);
        let one = Spread::new(&[2.0], &axis()).expect("there is one");
        assert_eq!((one.median, one.quartiles, one.whiskers), (2.0, [2.0; 2], [2.0; 2]));
    }

    #[test]
    fn boxes_are_drawn_as_they_were_seen_to_be_right() {
        let row = |name: &str, samples: &[f64]| Row {
            name: name.to_owned(),
            samples: samples.to_vec(),
            note: String::new(),
        };
        let plot = BoxPlot {
            title: "Time of a transfer".to_owned(),
            subtitle: "128 MiB, 10 runs each".to_owned(),
            axis: axis(),
            rows: vec![
                row("memcpyDtoD", &[61e3, 62e3, 62e3, 63e3, 70e3]),
                row("pagedDtoH", &[13.1e6, 13.4e6, 13.7e6, 14.2e6, 100.5e6]),
                row("none", &[]),
            ],
        };
        assert_snapshot!(plot.drawing().svg());
    }
}
