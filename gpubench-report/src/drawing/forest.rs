//! Forest plots: changes with their intervals, a row for each, around no change. In: the changes as fractions, and the band
//! within which a change does not matter; out: a [`Drawing`].

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas, Drawing, drawn, row_name, width};
use super::unit::Unit;
use super::{WIDTH, frame};

/// The height of a row.
const ROW: f64 = 24.0;

/// Changes with their intervals.
#[derive(Clone, Debug)]
pub struct Forest {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The circumstances; may be empty.
    pub subtitle: String,
    /// The name of the changes.
    pub label: String,
    /// The band around no change within which a change does not matter, as a fraction.
    pub band: f64,
    /// The rows, from top to bottom.
    pub rows: Vec<Change>,
}

/// A change with its interval, as fractions: 0.02 is 2 % more.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its name.
    pub name: String,
    /// The change.
    pub value: f64,
    /// The interval that holds it.
    pub interval: [f64; 2],
    /// The text to the right of it.
    pub note: String,
    /// The number of its colour and marker.
    pub index: usize,
}

impl Forest {
    /// The drawing.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let top = frame::title(&mut canvas, &self.title, &self.subtitle) + 12.0;
        let left = frame::EDGE + frame::names(self.rows.iter().map(|row| row.name.as_str()));
        let room = self.rows.iter().map(|row| width(&row.note)).fold(0.0, f64::max) + 16.0;
        let ends = self.rows.iter().flat_map(|row| [row.interval[0], row.value, row.interval[1]]);
        let values = ends.chain([-self.band, 0.0, self.band]);
        let axis = Axis::near(&self.label, Unit::CHANGE).over(values, left, WIDTH - frame::EDGE - room);
        let bottom = top + ROW * self.rows.len() as f64;
        let band = [-self.band, self.band].map(|end| axis.at(end));
        canvas.rectangle((band[0], top), (band[1] - band[0], bottom - top), "band f5");
        frame::below(&mut canvas, &axis, &self.label, (top, bottom));
        canvas.line((axis.at(0.0), top), (axis.at(0.0), bottom), "axis");
        for (number, row) in self.rows.iter().enumerate() {
            row.draw(&mut canvas, &axis, left, top + ROW * (number as f64 + 0.5));
        }
        canvas.finish(bottom + 52.0, &self.title, &self.subtitle)
    }
}

impl Change {
    fn draw(&self, canvas: &mut Canvas, axis: &PlacedAxis, left: f64, y: f64) {
        canvas.text((left - 8.0, y + 4.0), Anchor::End, "ink small", &row_name(&self.name, WIDTH / 3.0));
        canvas.text((axis.end + 12.0, y + 4.0), Anchor::Start, "ink small", &self.note);
        let [low, high] = self.interval.map(|end| axis.at(axis.clamped(end)));
        let stroke = format!("whisker {}", drawn(self.index));
        canvas.line((low, y), (high, y), &stroke);
        for end in [low, high] {
            canvas.line((end, y - 4.0), (end, y + 4.0), &stroke);
        }
        let title = format!("{}: {}", self.name, self.note);
        canvas.point((axis.at(axis.clamped(self.value)), y), self.index, &title, None);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn changes_are_drawn_as_they_were_seen_to_be_right() {
        let change = |name: &str, value: f64, half: f64, index| Change {
            name: name.to_owned(),
            value,
            interval: [value - half, value + half],
            note: format!("{:+.1} %", 100.0 * value),
            index,
        };
        let forest = Forest {
            title: "One case of three is slower".to_owned(),
            subtitle: "against main".to_owned(),
            label: "change of the time".to_owned(),
            band: 0.005,
            rows: vec![
                change("copy", 0.001, 0.002, 0),
                change("sum", 0.06, 0.01, 1),
                change("fill", -0.02, 0.03, 5),
            ],
        };
        assert_snapshot!(forest.drawing().svg());
    }
}
