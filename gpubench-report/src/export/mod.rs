//! The output formats of `cargo gpubench report`: those of a benchmark binary, a page, and formats of other
//! programs.

mod junit;
mod trackers;

use gpubench_table::export::Format;

/// All formats, in the order in which help texts list them, with their purposes.
pub const FORMATS: [(Format, &str); 8] = [
    (
        Format::JSON,
        "Write all results as JSON, with raw samples; commands such as `compare` can read this file",
    ),
    (Format::CSV, "Write a line per result as CSV, with all digits"),
    (Format::MARKDOWN, "Write the table as Markdown, for a pull request"),
    (HTML, "Write an HTML page with charts, as one self-contained file"),
    (BMF, "Write the Bencher Metric Format"),
    (GITHUB_BENCHMARK, "Write JSON for github-action-benchmark's tool customSmallerIsBetter"),
    (CODSPEED, "Write JSON in CodSpeed's walltime format"),
    (JUNIT, "Write JUnit XML, a test for each case"),
];

/// A page in one HTML file.
pub const HTML: Format = Format { name: "html", write: crate::html::write };
/// The Bencher Metric Format.
pub const BMF: Format = Format { name: "bmf", write: trackers::write_bmf };
/// JSON for github-action-benchmark.
pub const GITHUB_BENCHMARK: Format = Format { name: "github-benchmark", write: trackers::write_github };
/// CodSpeed's walltime results.
pub const CODSPEED: Format = Format { name: "codspeed", write: trackers::write_codspeed };
/// JUnit XML, for CI systems.
pub const JUNIT: Format = Format { name: "junit", write: junit::write };
