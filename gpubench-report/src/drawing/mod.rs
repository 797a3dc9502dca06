//! Drawings of plain numbers with their names, as SVGs for light and dark pages. Nothing here knows benchmarks or records.
//!
//! ```
//! use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries, ReferenceLine};
//!
//! let svg = Panels {
//!     title: "Bandwidth of a copy".to_owned(),
//!     subtitle: "hot, by the size of both arrays".to_owned(),
//!     x: Axis::log2("size", AxisUnit::BYTES),
//!     panels: vec![Panel {
//!         y: Axis::linear("bandwidth", AxisUnit::BANDWIDTH),
//!         series: vec![PlotSeries::new("hot", [(1e6, 8e11), (4e6, 2.1e12), (1.6e7, 5.2e12)])],
//!         marks: vec![ReferenceLine::y(4.8e12, "the memory's peak")],
//!     }],
//!     shares_legend: true,
//! }
//! .drawing()
//! .svg();
//! assert!(svg.starts_with("<svg") && svg.contains("the memory's peak"));
//! ```

mod axis;
mod canvas;
mod plot;
mod rows;

pub use self::axis::{Axis, AxisUnit, Scale};
pub(crate) use self::canvas::{COLOUR_COUNT, COLOUR_RULES, COLOURS, SHAPE_RULES};
pub use self::canvas::{Drawing, SeriesStyle};
pub(crate) use self::plot::all_points;
pub use self::plot::{Panel, Panels, PlotPoint, PlotSeries, ReferenceLine};
pub use self::rows::{ChartRow, RowChart, RowStyle};

/// The width of a drawing in pixels.
const WIDTH: f64 = 480.0;
/// The approximate width of a letter in pixels.
const LETTER_WIDTH: f64 = 7.0;

/// Returns the approximate width of `text` in pixels. The font of the reader is not known.
fn text_width(text: &str) -> f64 {
    LETTER_WIDTH * gpubench_table::text::width(text) as f64
}
