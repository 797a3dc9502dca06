//! The output formats of `cargo gpubench report`: those of a benchmark binary, a page, and formats of other
//! programs.

mod junit;
mod trackers;

use gpubench_table::export::Format;

/// All formats, in the order in which help texts list them.
pub const FORMATS: [Format; 8] =
    [Format::JSON, Format::CSV, Format::MARKDOWN, HTML, BMF, GITHUB_BENCHMARK, CODSPEED, JUNIT];

/// A page in one HTML file.
pub const HTML: Format = Format {
    name: "html",
    description: "Write a page with drawings, one file that needs no network, as HTML",
    write: crate::html::write,
};
/// The Bencher Metric Format.
pub const BMF: Format =
    Format { name: "bmf", description: "Write the Bencher Metric Format", write: trackers::write_bmf };
/// JSON for github-action-benchmark.
pub const GITHUB_BENCHMARK: Format = Format {
    name: "github-benchmark",
    description: "Write JSON for github-action-benchmark's tool customSmallerIsBetter",
    write: trackers::write_github,
};
/// CodSpeed's walltime results.
pub const CODSPEED: Format = Format {
    name: "codspeed",
    description: "Write CodSpeed's walltime results",
    write: trackers::write_codspeed,
};
/// JUnit XML, for CI systems.
pub const JUNIT: Format =
    Format { name: "junit", description: "Write JUnit XML, a test for each case", write: junit::write };
