//! Bars: one value beside the other, each a row with a bar for each series. A row's interval is a whisker at the bar's end.

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas, Drawing, drawn, filled, row_name, width};
use super::frame::{LegendEntry, LegendSample};
use super::series::Mark;
use super::unit::Unit;
use super::{WIDTH, frame};

/// The thickness of a bar, and the space between rows.
const BAR: f64 = 18.0;
const GAP: f64 = 12.0;

/// Values side by side.
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
    /// The drawing.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let top = frame::title(&mut canvas, &self.title, &self.subtitle);
        let entry = |(index, name)| LegendEntry { name, index, sample: LegendSample::Bar };
        let entries: Vec<LegendEntry<'_>> =
            self.series.iter().map(String::as_str).enumerate().map(entry).collect();
        let top = frame::legend(&mut canvas, top, &entries) + if self.marks.is_empty() { 8.0 } else { 26.0 };
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let left = frame::EDGE + frame::names(self.rows.iter().map(|row| row.name.as_str()));
        // The room for the text at the end of the longest bar.
        let room = values().map(|value| width(&self.unit.exact(value))).fold(0.0, f64::max) + 12.0;
        let all = values().chain(self.marks.iter().map(|mark| mark.value));
        let axis = Axis::linear(&self.label, self.unit).tight().over(all, left, WIDTH - frame::EDGE - room);
        let bottom = top + self.rows.iter().map(|row| GAP + BAR * row.values.len() as f64).sum::<f64>() + GAP;
        frame::below(&mut canvas, &axis, &self.label, (top, bottom));
        canvas.line((axis.at(0.0), top), (axis.at(0.0), bottom), "axis");
        for mark in &self.marks {
            let at = axis.at(mark.value);
            canvas.line((at, top - 6.0), (at, bottom), "rule");
            let middle = (axis.start + axis.end) / 2.0;
            let anchor = if at > middle { Anchor::End } else { Anchor::Start };
            canvas.text((at, top - 12.0), anchor, "ink small halo", &mark.label);
        }
        let mut y = top + GAP;
        for row in &self.rows {
            let middle = y + BAR * row.values.len() as f64 / 2.0;
            let name = row_name(&row.name, WIDTH / 3.0);
            canvas.text((left - 8.0, middle + 3.0), Anchor::End, "ink", &name);
            for (index, value) in row.values.iter().enumerate() {
                self.bar(&mut canvas, &axis, y, (index, *value), row.intervals.get(index));
                y += BAR;
            }
            y += GAP;
        }
        canvas.finish(bottom + 52.0, &self.title, &self.subtitle)
    }

    fn bar(
        &self,
        canvas: &mut Canvas,
        axis: &PlacedAxis,
        y: f64,
        (index, value): (usize, f64),
        interval: Option<&[f64; 2]>,
    ) {
        if !value.is_finite() {
            return;
        }
        let [zero, end] = [0.0, value].map(|value| axis.at(value));
        canvas.rectangle((zero.min(end), y), ((end - zero).abs(), BAR - 2.0), &filled(index));
        let mut beyond = end.max(zero);
        if let Some(ends) = interval {
            let [low, high] = ends.map(|end| axis.at(axis.clamped(end)));
            if high - low > 3.0 {
                canvas.line((low, y + 8.0), (high, y + 8.0), &format!("axis {}", drawn(5)));
            }
            beyond = beyond.max(high);
        }
        canvas.text((beyond + 6.0, y + 12.0), Anchor::Start, "ink small halo", &self.unit.exact(value));
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
        assert_snapshot!(bars.svg());
    }
}
