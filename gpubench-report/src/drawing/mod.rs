//! Drawings. In: plain numbers with their names; out: an SVG, as text, for light and dark pages. Nothing here knows
//! benchmarks or records: the caller says what to draw.
//!
//! ```
//! use gpubench_report::drawing::{Axis, Curves, Mark, Series, Unit};
//!
//! let svg = Curves {
//!     title: "Bandwidth of a copy".to_owned(),
//!     subtitle: "hot, by the size of both arrays".to_owned(),
//!     x: Axis::log2("size", Unit::BYTES),
//!     y: Axis::linear("bandwidth", Unit::BANDWIDTH),
//!     series: vec![Series::new("hot", [(1e6, 8e11), (4e6, 2.1e12), (1.6e7, 5.2e12)])],
//!     marks: vec![Mark::y(4.8e12, "the memory's peak")],
//! }
//! .svg();
//! assert!(svg.starts_with("<svg") && svg.contains("the memory's peak"));
//! ```

mod axis;
mod bars;
mod boxes;
mod canvas;
mod curves;
mod forest;
mod frame;
mod labels;
mod marker;
mod pixels;
mod plot;
mod series;
mod unit;

pub use self::axis::{Axis, Scale};
pub use self::bars::{Bar, Bars};
pub use self::boxes::{BoxPlot, Row};
pub use self::canvas::Drawing;
pub(crate) use self::canvas::{COLOURED, COLOURS, SHAPES};
pub use self::curves::{Curves, Panel, Panels};
pub use self::forest::{Change, Forest};
pub use self::series::{Mark, Point, Series, Style};
pub use self::unit::Unit;

/// The width of a drawing, in pixels if it is not scaled.
const WIDTH: f64 = 760.0;
