//! The runs of a suite over commits, and the changes of each case. In: runs, as they end; out: a small file for each below a folder, and
//! a [`HistoryReport`] of all of them.
//!
//! [`HistoryRun`] is a run without its samples, [`add`] and `folder` keep it in a file, [`History`] gathers series of one case each,
//! `joined` puts those together that were both measured on the same commits, and [`gpubench_stats::changes`] finds the changes, of which `judge` chooses those to tell.

mod case;
mod circumstances;
mod confirmation;
mod entry;
mod folder;
mod gather;
mod joined;
mod judge;
mod report;

pub use self::case::{CaseChange, CaseHistory, HistoryRules, HistorySeries};
pub use self::circumstances::Circumstances;
pub use self::confirmation::Confirmation;
pub use self::entry::{HistoryCase, HistoryRun};
pub use self::folder::{AddError, Added, add, prepare};
pub use self::gather::{CaseOfSuite, CommitOrder, History, HistoryFilter, Measured, RunLabel};
pub use self::report::{HISTORY_REPORT_SCHEMA, HistoryReport};
