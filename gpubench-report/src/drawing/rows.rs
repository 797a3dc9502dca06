//! Charts with a row for each name: bars and box plots.

use gpubench_stats::quantile;

use super::axis::{Axis, PositionedAxis};
use super::canvas::{Drawing, MARGIN, TextAnchor, fill_class, shortened_to, stroke_class, widest_text};
use super::{WIDTH, plot::ReferenceLine};

/// The height of a bar in pixels.
const BAR_HEIGHT: f64 = 18.0;
/// The space between rows of bars in pixels.
const ROW_GAP: f64 = 12.0;
/// The height of a row with a box plot in pixels.
const BOX_ROW_HEIGHT: f64 = 38.0;
/// The height in pixels of the box of a box plot.
const BOX_HEIGHT: f64 = 20.0;
/// The widest name of a row in pixels. Longer names are shortened.
const MAX_NAME_WIDTH: f64 = WIDTH / 3.0;

/// A chart with a row for each name, over one axis of values.
#[derive(Clone, Debug)]
pub struct RowChart {
    /// The title: the finding that the chart shows.
    pub title: String,
    /// The conditions of the measurement; may be empty.
    pub subtitle: String,
    /// The axis of the values. Bars need a linear axis, since they begin at 0.
    pub axis: Axis,
    /// Bars or boxes.
    pub look: RowStyle,
    /// The name of each bar of a row, if rows have several.
    pub series: Vec<String>,
    /// The rows, from top to bottom.
    pub rows: Vec<ChartRow>,
    /// Vertical lines with which the values are compared.
    pub marks: Vec<ReferenceLine>,
}

/// The style of the rows of a [`RowChart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStyle {
    /// A bar for each value.
    Bars,
    /// A box from the first to the third quartile of the values, with a line at the median. Whiskers reach to the
    /// last values within 1.5 times the length of the box (Tukey 1977). Values further out are points.
    Boxes,
}

/// A row of a chart.
#[derive(Clone, Debug)]
pub struct ChartRow {
    /// Its name.
    pub name: String,
    /// One value for each bar, or the samples of a box in any order. Values that the axis cannot show are left
    /// out.
    pub values: Vec<f64>,
    /// The text right of the row; may be empty.
    pub note: String,
}

impl RowChart {
    /// Draws the chart.
    pub fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(&self.title, &self.subtitle);
        drawing.legend(self.series.iter().map(|name| (&**name, None)));
        let top = drawing.height + if self.marks.is_empty() { 8.0 } else { 26.0 };
        let bottom = top + self.rows.iter().map(|row| self.row_height(row)).sum::<f64>() + ROW_GAP;
        let values = || self.rows.iter().flat_map(|row| row.values.iter().copied());
        let bars = values().filter(|_| self.look == RowStyle::Bars).map(|value| self.axis.unit.format(value));
        let notes = self.rows.iter().map(|row| row.note.clone()).chain(bars);
        let left = MARGIN + widest_text(self.rows.iter().map(|row| &row.name)).min(MAX_NAME_WIDTH) + 10.0;
        let right = WIDTH - MARGIN - widest_text(notes) - 16.0;
        let axis =
            self.axis.fit_horizontally(values().chain(self.marks.iter().map(|mark| mark.value)), left, right);
        drawing.horizontal_axis(&axis, (top, bottom));
        for mark in &self.marks {
            let at = axis.position(mark.value);
            drawing.line((at, top - 6.0), (at, bottom), "rule");
            let anchor = if at > axis.middle() { TextAnchor::End } else { TextAnchor::Start };
            drawing.text((at, top - 12.0), anchor, "ink small halo", &mark.label);
        }
        let mut y = top;
        for row in &self.rows {
            let middle = y + (ROW_GAP + self.row_height(row)) / 2.0;
            drawing.text(
                (axis.start - 8.0, middle + 4.0),
                TextAnchor::End,
                "ink",
                &shortened_to(&row.name, MAX_NAME_WIDTH),
            );
            drawing.text((axis.end + 12.0, middle + 4.0), TextAnchor::Start, "ink small", &row.note);
            match self.look {
                RowStyle::Bars => self.draw_bars(&mut drawing, &axis, y + ROW_GAP, &row.values),
                RowStyle::Boxes => self.draw_box(&mut drawing, &axis, middle, &row.values),
            }
            y += self.row_height(row);
        }
        drawing
    }

    /// Returns the height of a row in pixels.
    fn row_height(&self, row: &ChartRow) -> f64 {
        match self.look {
            RowStyle::Bars => ROW_GAP + BAR_HEIGHT * row.values.len() as f64,
            RowStyle::Boxes => BOX_ROW_HEIGHT,
        }
    }

    /// Draws the bars of a row, each with its value, below the height `top`.
    fn draw_bars(&self, drawing: &mut Drawing, axis: &PositionedAxis<'_>, top: f64, values: &[f64]) {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let y = top + BAR_HEIGHT * index as f64;
            let [zero, end] = [0.0, *value].map(|value| axis.position(value));
            drawing.rectangle((zero.min(end), y), ((end - zero).abs(), BAR_HEIGHT - 2.0), &fill_class(index));
            let text = self.axis.unit.format(*value);
            drawing.text((end.max(zero) + 6.0, y + 12.0), TextAnchor::Start, "ink small halo", &text);
        }
    }

    /// Draws the box plot of a row around the height `y`.
    fn draw_box(&self, drawing: &mut Drawing, axis: &PositionedAxis<'_>, y: f64, values: &[f64]) {
        let mut sorted: Vec<f64> =
            values.iter().copied().filter(|value| self.axis.scale.can_show(*value)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.is_empty() {
            return;
        }
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| quantile(&sorted, part));
        let reach = 1.5 * (high - low);
        let (within, beyond): (Vec<f64>, Vec<f64>) =
            sorted.iter().partition(|value| (low - reach..=high + reach).contains(*value));
        let (stroke, half) = (stroke_class(0), BOX_HEIGHT / 2.0);
        if let (Some(first), Some(last)) = (within.first(), within.last()) {
            let ends = [*first, *last].map(|value| axis.position(value));
            drawing.line((ends[0], y), (ends[1], y), &stroke);
            for end in ends {
                drawing.line((end, y - half / 2.0), (end, y + half / 2.0), &stroke);
            }
        }
        let [low, median, high] = [low, median, high].map(|value| axis.position(value));
        drawing.rectangle((low, y - half), (high - low, BOX_HEIGHT), "paper");
        drawing.rectangle(
            (low, y - half),
            (high - low, BOX_HEIGHT),
            &format!("box {} {stroke}", fill_class(0)),
        );
        drawing.line((median, y - half), (median, y + half), &format!("median {stroke}"));
        for value in beyond {
            drawing.marker((axis.position(value), y), 1, &self.axis.unit.format(value), None);
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
