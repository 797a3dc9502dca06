//! What programs other than a benchmark binary make of stored runs: a page, drawings, formats of other programs, and the findings
//! of many runs. Nothing here measures or prints.

pub mod drawing;
pub mod export;
pub mod fleet;
pub mod history;

pub mod join;

mod html;
