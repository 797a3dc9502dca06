//! Drawings with a row for each name: bars and box plots.

use gpubench_stats::quantile;

use super::axis::{Axis, PositionedAxis};
use super::canvas::{Drawing, EDGE, TextAnchor, drawn, filled, fitted, widest};
use super::{WIDTH, plot::ReferenceLine};

/// The thickness of a bar, and the space between rows of bars.
const BAR: f64 = 18.0;
const GAP: f64 = 12.0;
/// The height of a row of a box plot, and of the box in it.
const BOX_ROW: f64 = 38.0;
const BOX: f64 = 20.0;
/// The widest name of a row.
const NAME: f64 = WIDTH / 3.0;

/// Rows of values over one axis.
#[derive(Clone, Debug)]
pub struct RowChart {
    /// The title: the finding that the drawing shows.
    pub title: String,
    /// The circumstances; may be empty.
    pub subtitle: String,
    /// The axis of the values. Bars begin at 0: a logarithmic axis has none.
    pub axis: Axis,
    /// The look.
    pub look: RowStyle,
    /// The names of the bars of a row, if there are several.
    pub series: Vec<String>,
    /// The rows, from top to bottom.
    pub rows: Vec<ChartRow>,
    /// The values that they are compared with; vertical ones.
    pub marks: Vec<ReferenceLine>,
}

/// The look of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStyle {
    /// A bar for each value.
    Bars,
    /// A box from the first quartile of the values to the third, with a line at the median. Whiskers reach to the last values within 1.5
    /// times the box beyond it (Tukey 1977), and values further out are points.
    Boxes,
}

/// A row.
#[derive(Clone, Debug)]
pub struct ChartRow {
    /// Its name.
    pub name: String,
    /// A bar for each series, or samples in any order. Values that the axis cannot show are left out.
    pub values: Vec<f64>,
    /// The text to the right of the row; may be empty.
    pub note: String,
}

impl RowChart {
    /// Returns the drawing.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        drawing.legend(self.series.iter().map(|name| (&**name, None)));
        let top = drawing.height + if self.marks.is_empty() { 8.0 } else { 26.0 };
        let bottom = top + self.rows.iter().map(|row| self.height(row)).sum::<f64>() + GAP;
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let bars = values().filter(|_| self.look == RowStyle::Bars).map(|value| self.axis.unit.text(value));
        let notes = self.rows.iter().map(|row| row.note.clone()).chain(bars);
        let left = EDGE + widest(self.rows.iter().map(|row| &row.name)).min(NAME) + 10.0;
        let right = WIDTH - EDGE - widest(notes) - 16.0;
        let axis = self.axis.across(values().chain(self.marks.iter().map(|mark| mark.value)), left, right);
        drawing.below(&axis, (top, bottom));
        for mark in &self.marks {
            let at = axis.at(mark.value);
            drawing.line((at, top - 6.0), (at, bottom), "rule");
            let anchor = if at > axis.middle() { TextAnchor::End } else { TextAnchor::Start };
            drawing.text((at, top - 12.0), anchor, "ink small halo", &mark.label);
        }
        let mut y = top;
        for row in &self.rows {
            let middle = y + (GAP + self.height(row)) / 2.0;
            drawing.text((axis.start - 8.0, middle + 4.0), TextAnchor::End, "ink", &fitted(&row.name, NAME));
            drawing.text((axis.end + 12.0, middle + 4.0), TextAnchor::Start, "ink small", &row.note);
            match self.look {
                RowStyle::Bars => self.bars(&mut drawing, &axis, y + GAP, &row.values),
                RowStyle::Boxes => self.boxed(&mut drawing, &axis, middle, &row.values),
            }
            y += self.height(row);
        }
        drawing
    }

    fn height(&self, row: &ChartRow) -> f64 {
        match self.look {
            RowStyle::Bars => GAP + BAR * row.values.len() as f64,
            RowStyle::Boxes => BOX_ROW,
        }
    }

    fn bars(&self, drawing: &mut Drawing, axis: &PositionedAxis<'_>, top: f64, values: &[f64]) {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let y = top + BAR * index as f64;
            let [zero, end] = [0.0, *value].map(|value| axis.at(value));
            drawing.rectangle((zero.min(end), y), ((end - zero).abs(), BAR - 2.0), &filled(index));
            let text = self.axis.unit.text(*value);
            drawing.text((end.max(zero) + 6.0, y + 12.0), TextAnchor::Start, "ink small halo", &text);
        }
    }

    fn boxed(&self, drawing: &mut Drawing, axis: &PositionedAxis<'_>, y: f64, values: &[f64]) {
        let mut sorted: Vec<f64> =
            values.iter().copied().filter(|value| self.axis.scale.shows(*value)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.is_empty() {
            return;
        }
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let reach = 1.5 * (high - low);
        let (within, beyond): (Vec<f64>, Vec<f64>) =
            sorted.iter().partition(|value| (low - reach..=high + reach).contains(*value));
        let (stroke, half) = (drawn(0), BOX / 2.0);
        if let (Some(first), Some(last)) = (within.first(), within.last()) {
            let ends = [*first, *last].map(|value| axis.at(value));
            drawing.line((ends[0], y), (ends[1], y), &stroke);
            for end in ends {
                drawing.line((end, y - half / 2.0), (end, y + half / 2.0), &stroke);
            }
        }
        let [low, median, high] = [low, median, high].map(|value| axis.at(value));
        drawing.rectangle((low, y - half), (high - low, BOX), "paper");
        drawing.rectangle((low, y - half), (high - low, BOX), &format!("box {} {stroke}", filled(0)));
        drawing.line((median, y - half), (median, y + half), &format!("median {stroke}"));
        for value in beyond {
            drawing.point((axis.at(value), y), 1, &self.axis.unit.text(value), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::super::AxisUnit;
    use super::*;

    fn row(name: &str, values: &[f64]) -> ChartRow {
        ChartRow { name: name.to_owned(), values: values.to_vec(), note: String::new() }
    }

    #[test]
    fn bars_are_drawn_as_they_were_seen_to_be_right() {
        let bars = RowChart {
            title: "Transfers".to_owned(),
            subtitle: String::new(),
            axis: Axis::linear("bandwidth", AxisUnit::BANDWIDTH),
            look: RowStyle::Bars,
            series: vec!["to the device".to_owned(), "to the host".to_owned()],
            rows: vec![
                row("pinned", &[52e9, 51.25e9]),
                row("pageable", &[9e9, f64::NAN]),
                row("a name that is much too long to have all of it beside its bar", &[0.0, 3e9]),
            ],
            marks: vec![ReferenceLine::x(63e9, "peak of the bus")],
        };
        assert_snapshot!(bars.drawing().svg());
    }

    fn boxes(rows: Vec<ChartRow>) -> String {
        let plot = RowChart {
            title: "Time of a transfer".to_owned(),
            subtitle: "128 MiB, 10 runs each".to_owned(),
            axis: Axis::log10("time", AxisUnit::TIME),
            look: RowStyle::Boxes,
            series: Vec::new(),
            rows,
            marks: Vec::new(),
        };
        plot.drawing().svg()
    }

    #[test]
    fn boxes_are_drawn_as_they_were_seen_to_be_right() {
        assert_snapshot!(boxes(vec![
            row("memcpyDtoD", &[61e3, 62e3, 62e3, 63e3, 70e3]),
            row("pagedDtoH", &[13.1e6, 13.4e6, 13.7e6, 14.2e6, 100.5e6]),
            row("none", &[]),
        ]));
    }

    /// Eight samples and one far out, whose quartiles are 3 and 7 according to R and NumPy. On a linear axis from 0 to 100, 620 pixels wide.
    #[test]
    fn whiskers_end_at_samples_and_leave_the_others_out() {
        let samples = [9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0];
        let svg = boxes(vec![row("a", &samples)]);
        assert_eq!(
            (svg.matches("class=\"point").count(), svg.matches("<title>100 ns<").count()),
            (1, 1),
            "{svg}"
        );
        let none = boxes(vec![row("a", &[f64::NAN, -1.0])]);
        assert!(!none.contains("class=\"box") && !none.contains("NaN"), "{none}");
    }
}
