//! Box plots: the spread of samples, a row for each set of them. A box goes from the first quartile to the third, a line in
//! it is the median; whiskers reach to the last samples within 1.5 times the box beyond it (Tukey 1977), and samples further
//! out are points.

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas, Drawing, drawn, filled, row_name, width};
use super::unit::Unit;
use super::{WIDTH, frame};
use gpubench_stats::quantile;

/// The height of a row, and of the box in it.
const ROW: f64 = 38.0;
const BOX: f64 = 20.0;
/// The reach of whiskers, in boxes.
const REACH: f64 = 1.5;

/// Samples, a row for each set.
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
    /// The drawing. The median of each row stands to the right of it.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let top = frame::title(&mut canvas, &self.title, &self.subtitle) + 8.0;
        let sets: Vec<Option<Spread>> =
            self.rows.iter().map(|row| Spread::of(&row.samples, &self.axis)).collect();
        let shown = |(row, spread): (&Row, &Option<Spread>)| match spread {
            None => "no samples".to_owned(),
            Some(spread) if row.note.is_empty() => self.axis.unit.exact(spread.median),
            Some(_) => row.note.clone(),
        };
        let left = frame::EDGE + frame::names(self.rows.iter().map(|row| row.name.as_str()));
        let notes: Vec<String> = self.rows.iter().zip(&sets).map(shown).collect();
        let room = notes.iter().map(|note| width(note)).fold(0.0, f64::max) + 16.0;
        let values = self.rows.iter().flat_map(|row| row.samples.iter().copied());
        let axis = self.axis.over(values, left, WIDTH - frame::EDGE - room);
        let bottom = top + ROW * self.rows.len() as f64;
        frame::below(&mut canvas, &axis, &self.axis.label, (top, bottom));
        for (index, ((row, spread), note)) in self.rows.iter().zip(&sets).zip(&notes).enumerate() {
            let middle = top + ROW * (index as f64 + 0.5);
            canvas.text((left - 8.0, middle + 4.0), Anchor::End, "ink", &row_name(&row.name, WIDTH / 3.0));
            canvas.text((axis.end + 12.0, middle + 4.0), Anchor::Start, "ink small", note);
            if let Some(spread) = spread {
                spread.draw(&mut canvas, &axis, middle, self.axis.unit);
            }
        }
        canvas.finish(bottom + 52.0, &self.title, &self.subtitle)
    }

    /// The drawing as a file.
    #[must_use]
    pub fn svg(&self) -> String {
        self.drawing().svg()
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
    /// The quantiles of the samples that the axis can show, if there are any.
    fn of(samples: &[f64], axis: &Axis) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|value| axis.scale.shows(*value)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.is_empty() {
            return None;
        }
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let reach = REACH * (high - low);
        let (within, beyond): (Vec<f64>, Vec<f64>) =
            sorted.iter().partition(|value| (low - reach..=high + reach).contains(*value));
        let whiskers = [within.first().copied().unwrap_or(low), within.last().copied().unwrap_or(high)];
        Some(Self { median, quartiles: [low, high], whiskers, beyond })
    }

    fn draw(&self, canvas: &mut Canvas, axis: &PlacedAxis, middle: f64, unit: Unit) {
        let [from, low, median, high, to] =
            [self.whiskers[0], self.quartiles[0], self.median, self.quartiles[1], self.whiskers[1]]
                .map(|value| axis.at(value));
        let (stroke, half) = (drawn(0), BOX / 2.0);
        for (end, edge) in [(from, low), (to, high)] {
            canvas.line((end, middle), (edge, middle), &stroke);
            canvas.line((end, middle - half / 2.0), (end, middle + half / 2.0), &stroke);
        }
        canvas.rectangle((low, middle - half), (high - low, BOX), &format!("box {} {stroke}", filled(0)));
        canvas.line((median, middle - half), (median, middle + half), &format!("median {stroke}"));
        for value in &self.beyond {
            canvas.dot((axis.at(*value), middle), &format!("hollow {}", drawn(1)), &unit.exact(*value));
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn axis() -> Axis {
        Axis::log10("time", Unit::TIME)
    }

    /// Eight samples and one far out: their quartiles are those of R and NumPy.
    #[test]
    fn whiskers_end_at_samples_and_leave_the_others_out() {
        let spread =
            Spread::of(&[9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0], &axis()).expect("there are some");
        assert_eq!((spread.median, spread.quartiles), (5.0, [3.0, 7.0]));
        assert_eq!((spread.whiskers, spread.beyond), ([1.0, 9.0], vec![100.0]));
        assert_eq!(Spread::of(&[f64::NAN, -1.0], &axis()), None);
        let one = Spread::of(&[2.0], &axis()).expect("there is one");
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
        assert_snapshot!(plot.svg());
    }
}
