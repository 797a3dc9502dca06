//! The line of a series: its times from left to right, and its changes. In: a [`HistorySeries`]; out: an SVG. Of thousands of times each
//! column shows the lowest and the highest, so that a series of any length is as large as any other.

use std::fmt::Write as _;

use gpubench_records::history::HistorySeries;

/// The width and the height of a line.
const WIDTH: usize = 480;
const HEIGHT: usize = 48;
/// The space above and below the line.
const MARGIN: f64 = 4.0;
/// The least range of a line, as a part of its times: noise is not drawn as large as a change.
const LEAST_RANGE: f64 = 0.02;

/// The drawing. The name is what a reader without eyes gets.
pub(super) fn sparkline(series: &HistorySeries, name: &str) -> String {
    let times = &series.evened;
    let Some((low, high)) = range(times) else { return String::new() };
    let x = |at: usize| at as f64 * WIDTH as f64 / times.len().saturating_sub(1).max(1) as f64;
    let y = |time: f64| MARGIN + (high - time) / (high - low) * (HEIGHT as f64 - 2.0 * MARGIN);
    let mut path = String::new();
    let mut draw = |at: usize, time: f64| {
        let command = if path.is_empty() { 'M' } else { 'L' };
        // Writing to a string does not fail.
        _ = write!(path, "{command}{:.0} {:.1}", x(at), y(time));
    };
    let column = times.len().div_ceil(WIDTH).max(1);
    for (number, times) in times.chunks(column).enumerate() {
        let first = number * column;
        if column == 1 {
            draw(first, times[0]);
        } else {
            let (least, most) = times
                .iter()
                .fold((f64::MAX, f64::MIN), |(least, most), time| (least.min(*time), most.max(*time)));
            draw(first, least);
            draw(first, most);
        }
    }
    let mut marks = String::new();
    for change in &series.changes {
        let class = if change.ratio > 1.0 { "slower" } else { "faster" };
        _ = write!(marks, "<path class=\"{class}\" d=\"M{:.0} 0V{HEIGHT}\"/>", x(change.at));
    }
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\
         {marks}<path class=\"times\" d=\"{path}\"/></svg>",
        name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
    )
}

/// The lowest and the highest time that are drawn.
fn range(times: &[f64]) -> Option<(f64, f64)> {
    let low = times.iter().copied().reduce(f64::min)?;
    let high = times.iter().copied().reduce(f64::max)?;
    let missing = (LEAST_RANGE * low - (high - low)).max(0.0) / 2.0;
    Some((low - missing, high + missing))
}
