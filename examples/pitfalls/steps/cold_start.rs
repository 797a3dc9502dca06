//! B5: events around the first launch of a process, around a launch after the same kernel, and around a launch after an empty
//! kernel.

use gpubench::units::Nanoseconds;
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, above, median, shown, stated};
use crate::by_hand::{Before, HandTiming};
use crate::common::Result;
use crate::table::Table;

/// The number of processes for each time.
const TIMES: usize = 5;
const SIZES: [usize; 4] = [512, 1024, 2048, 4096];

/// The work before a launch, and its row.
struct ColdStart {
    before: Before,
    name: &'static str,
    /// The source's row: its name, and its times in milliseconds.
    source: (&'static str, [(usize, f64); 4]),
}

const KINDS: [ColdStart; 3] = [
    ColdStart {
        before: Before::Nothing,
        name: "wrong: first launch",
        source: ("source: without warm-up", [(512, 0.363), (1024, 2.020), (2048, 15.479), (4096, 130.988)]),
    },
    ColdStart {
        before: Before::Empty,
        name: "after an empty kernel",
        source: (
            "source: after an empty kernel",
            [(512, 0.243), (1024, 1.897), (2048, 15.343), (4096, 118.828)],
        ),
    },
    ColdStart {
        before: Before::Same,
        name: "after the same kernel",
        source: (
            "source: after the same kernel",
            [(512, 0.233), (1024, 1.870), (2048, 15.212), (4096, 112.442)],
        ),
    },
];

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let sizes = bench.sizes(SIZES);
    let right = bench.naive_times(&sizes)?;
    let mut table = Table::new(sizes.iter().map(ToString::to_string));
    let mut read = Vec::new();
    for ColdStart { before, name, .. } in KINDS {
        let times = |n: &usize| -> Result<Vec<f64>> {
            (0..TIMES).map(|_| bench.ask(&HandTiming::FirstLaunch { n: *n, before }, &[])).collect()
        };
        let times = sizes.iter().map(times).collect::<Result<Vec<_>>>()?;
        let medians: Vec<Nanoseconds> = times.iter().map(|times| median(times)).collect();
        let more = medians.iter().zip(&right).map(|(time, right)| above(*time, *right));
        table = table.row(name, shown(&medians)).row("  relative to gpubench", more);
        read.push(json!({ "before": before, "times": times }));
    }
    table = table.row("right: gpubench", shown(&right));
    for ColdStart { source: (name, theirs), .. } in KINDS {
        table = table.row(name, stated(&sizes, &theirs));
    }
    Ok(Pitfall {
        row: "B5",
        title: "Timing the first launch",
        table,
        why: &["Each time by hand is the median of five processes."],
        read: json!({ "sizes": sizes, "by_hand": read, "gpubench": right }),
        drawings: Vec::new(),
    })
}
