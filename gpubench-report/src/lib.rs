//! What programs other than a benchmark binary make of stored runs: a page, drawings, formats of other programs, and the findings
//! of many runs. Nothing here measures or prints.

use gpubench_table::text::plain_lines;
use maud::html;

pub mod counters;
pub mod drawing;
pub mod export;
pub mod fleet;
pub mod history;
pub mod join;
pub mod loading;
pub mod stored_runs;

mod html;
mod repetitions;

/// Returns text as XML can hold it: control characters by their codes, since XML has no way to write them.
fn xml_text(text: &str) -> String {
    plain_lines(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// Returns text of an element or an attribute of XML.
fn escaped(text: &str) -> String {
    html! { (xml_text(text)) }.into_string()
}
