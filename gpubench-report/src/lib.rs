//! Reads stored runs and presents them: as a page, as drawings, in formats of other programs, and as reports on
//! many runs. Nothing here measures or prints.

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

/// Returns `text` as XML can contain it: control characters other than line breaks, and the noncharacters
/// U+FFFE and U+FFFF, become visible escapes.
fn xml_text(text: &str) -> String {
    plain_lines(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// Returns `text` escaped for an element or an attribute of XML.
fn xml_escaped(text: &str) -> String {
    html! { (xml_text(text)) }.into_string()
}
