//! Bars: one value beside the other, each a row with a bar for each series.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, filled, shortened, width};
use super::{WIDTH, frame};

/// The thickness of a bar, and the space between rows.
const BAR: f64 = 18.0;
const GAP: f64 = 12.0;

/// Values side by side.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The title.
    pub title: String,
    /// Under which circumstances; may be empty.
    pub subtitle: String,
    /// The axis of the bars. Bars begin at 0: a logarithmic axis has none.
    pub label: String,
    /// A value as it stands at the end of its bar, and at ticks.
    pub show: fn(f64) -> String,
    /// The names of the bars of a row, where there are several.
    pub series: Vec<String>,
    /// The rows, from top to bottom.
    pub rows: Vec<Bar>,
}

/// A row of bars.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// A value for each series; what is no number has no bar.
    pub values: Vec<f64>,
}

impl Bars {
    /// The drawing.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::default();
        let top = frame::title(&mut canvas, &self.title, &self.subtitle);
        let top = frame::legend(&mut canvas, top, self.series.iter().map(String::as_str)) + 8.0;
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let left = frame::EDGE + frame::names(self.rows.iter().map(|row| row.name.as_str()));
        // Room for what stands at the end of the longest.
        let room = values().map(|value| width(&(self.show)(value))).fold(0.0, f64::max) + 12.0;
        let axis = Axis::linear(&self.label, self.show).over(values(), left, WIDTH - frame::EDGE - room);
        let bottom = top + self.rows.iter().map(|row| GAP + BAR * row.values.len() as f64).sum::<f64>() + GAP;
        frame::below(&mut canvas, &axis, &self.label, (top, bottom));
        let mut y = top + GAP;
        for row in &self.rows {
            let middle = y + BAR * row.values.len() as f64 / 2.0;
            let name = shortened(&row.name, WIDTH / 3.0);
            canvas.text((left - 8.0, middle + 4.0), Anchor::End, "ink", &name);
            for (index, value) in row.values.iter().enumerate() {
                if value.is_finite() {
                    let [zero, end] = [0.0, *value].map(|value| axis.at(value));
                    canvas.rectangle((zero.min(end), y), ((end - zero).abs(), BAR - 2.0), &filled(index));
                    canvas.text(
                        (end.max(zero) + 6.0, y + 13.0),
                        Anchor::Start,
                        "ink small",
                        &(self.show)(*value),
                    );
                }
                y += BAR;
            }
            y += GAP;
        }
        canvas.line((axis.at(0.0), top), (axis.at(0.0), bottom), "grid");
        canvas.svg(bottom + 52.0, &self.title, &self.subtitle)
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn bars_are_drawn_as_they_were_seen_to_be_right() {
        let row = |name: &str, values: [f64; 2]| Bar { name: name.to_owned(), values: values.to_vec() };
        let bars = Bars {
            title: "Transfers".to_owned(),
            subtitle: String::new(),
            label: "GiB/s".to_owned(),
            show: |rate| format!("{rate:.1}"),
            series: vec!["to the device".to_owned(), "to the host".to_owned()],
            rows: vec![
                row("pinned", [52.0, 51.25]),
                row("pageable", [9.0, f64::NAN]),
                row("a name that is much too long to have all of it beside its bar", [0.0, 3.0]),
            ],
        };
        assert_snapshot!(bars.svg());
    }
}
