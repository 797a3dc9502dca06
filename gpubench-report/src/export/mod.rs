//! The output formats of `cargo gpubench report`: those of a benchmark binary, a page, and the formats of other programs.

mod csv_samples;
#[cfg(feature = "clap")]
mod flags;
mod junit;

use gpubench_table::export::Format;

#[cfg(feature = "clap")]
pub use self::flags::ExportArgs;

/// All formats, in the order in which help texts list them.
pub const FORMATS: [Format; 6] = [Format::JSON, Format::CSV, CSV_SAMPLES, Format::MARKDOWN, HTML, JUNIT];

/// CSV with a row for each sample.
pub const CSV_SAMPLES: Format = Format {
    name: "csv-samples",
    description: "Write a row for each sample, with its event time and its time, as CSV",
    write: csv_samples::write,
};
/// The page.
pub const HTML: Format = Format {
    name: "html",
    description: "Write a page with drawings, one file that needs no network, as HTML",
    write: crate::html::write,
};
/// JUnit XML.
pub const JUNIT: Format =
    Format { name: "junit", description: "Write JUnit XML, a test for each case", write: junit::write };
