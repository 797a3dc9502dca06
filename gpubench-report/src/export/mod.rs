//! The formats that a run is written in for other programs, a file each. In: a run, live or stored; out: bytes. A new format is
//! one file here and one line in [`Format`]: command lines and their help follow that list.

mod bmf;
pub(crate) mod csv;
mod csv_samples;
mod destination;
pub(crate) mod exporter;
#[cfg(feature = "clap")]
mod flags;
mod github;
mod json;
mod junit;
mod markdown;
mod names;
mod sections;
mod visible;

pub use self::destination::{Export, ExportTo, SamePlace, exports};
pub use self::exporter::Exporter;
#[cfg(feature = "clap")]
pub use self::flags::ExportArgs;
pub use self::sections::write_markdown;
pub use self::visible::write_visibly;

/// Defines the formats: each with its name, its exporter and its sentence in help texts.
macro_rules! formats {
    ($($format:ident: $name:literal, $exporter:expr, $does:literal;)+) => {
        /// The output formats.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Format {
            $(#[doc = concat!($does, ".")] $format,)+
        }

        impl Format {
            /// All formats, in the order in which help texts list them.
            pub const ALL: &[Self] = &[$(Self::$format,)+];

            /// Returns the name, which is that of its flag.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$format => $name,)+
                }
            }

            /// Returns what it is for, as a sentence that begins with a verb and has no full stop.
            #[must_use]
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$format => $does,)+
                }
            }

            /// Returns the exporter that writes it.
            #[must_use]
            pub fn exporter(self) -> &'static dyn Exporter {
                match self {
                    $(Self::$format => &$exporter,)+
                }
            }
        }
    };
}

formats! {
    Json: "json", json::Json, "Write everything, raw samples too, as JSON, which is read again as a stored run";
    Csv: "csv", csv::Csv, "Write a row for each case, with every number in full, as CSV";
    CsvSamples: "csv-samples", csv_samples::CsvSamples, "Write a row for each sample, with its event time and its time, as CSV";
    Markdown: "markdown", markdown::Markdown, "Write the table as Markdown, for a pull request";
    Html: "html", crate::html::Html, "Write a page with drawings, one file that needs no network, as HTML";
    Bmf: "bmf", bmf::Bmf, "Write the Bencher Metric Format";
    GithubBenchmark: "github-benchmark", github::GithubBenchmark, "Write JSON for github-action-benchmark's tool customSmallerIsBetter";
    Junit: "junit", junit::Junit, "Write JUnit XML, a test for each case";
}

impl Format {
    /// Returns the format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }
}
