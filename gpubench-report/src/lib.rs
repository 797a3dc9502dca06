//! What programs other than a benchmark binary make of stored runs: a page, drawings, formats of other programs, and the findings
//! of many runs. Nothing here measures or prints.

use gpubench_records::record::Measurement;
use gpubench_table::text::plain_lines;
use maud::html;

pub mod drawing;
pub mod export;
pub mod fleet;
pub mod history;
pub mod join;

mod html;

/// Returns text as XML can hold it: control characters by their codes, since XML has no way to write them.
fn xml_text(text: &str) -> String {
    plain_lines(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// Returns text of an element or an attribute of XML.
fn escaped(text: &str) -> String {
    html! { (xml_text(text)) }.into_string()
}

/// Returns the interval of a rate: the inverse of the time's.
fn rate_interval(measured: &Measurement, rate: f64) -> [f64; 2] {
    let (ci, median) = (measured.samples.time.median_ci, measured.median());
    [ci.high, ci.low].map(|time| rate * (median / time))
}
