//! The drawing room. In: plain numbers with their names; out: an SVG, as text, that is read in light and dark. It knows
//! nothing of benchmarks and records: whoever has those says what to draw.
//!
//! ```
//! use gpubench_report::drawing::{Axis, Curves, Mark, Series};
//! use gpubench_stats::format;
//! use gpubench_stats::units::{Bytes, BytesPerSecond};
//!
//! let svg = Curves {
//!     title: "Bandwidth of a copy".to_owned(),
//!     subtitle: "hot, by the size of both arrays".to_owned(),
//!     x: Axis::log2("size", |bytes| format::bytes(Bytes(bytes as u64))),
//!     y: Axis::linear("GB/s", |rate| format::gigabytes(BytesPerSecond(rate))),
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
mod frame;

pub use self::axis::{Axis, Scale};
pub use self::bars::{Bar, Bars};
pub use self::boxes::{BoxPlot, Row};
pub use self::curves::{Curves, Mark, Series};

/// The width of a drawing, in pixels where it is not scaled.
const WIDTH: f64 = 760.0;
/// The number of colours for curves that are drawn together; they come again after the last.
const COLOURS: usize = 5;
