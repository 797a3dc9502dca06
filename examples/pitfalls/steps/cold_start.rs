//! B5: the first launch of a process. In: the bench; out: the readings of a pair of events around one launch in a fresh
//! process: the first one, after a launch of the same kernel, and after one of an empty kernel.

use gpubench::units::Nanoseconds;
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, above, median, shown, stated};
use crate::by_hand::{Before, HandTiming};
use crate::common::Result;
use crate::table::Table;

/// Processes for each number.
const TIMES: usize = 5;
const SIZES: [usize; 4] = [512, 1024, 2048, 4096];

/// The work before a launch, and the readings after it.
struct ColdStart {
    before: Before,
    name: &'static str,
    /// The source's name for it and its readings, in milliseconds.
    source: (&'static str, [(usize, f64); 4]),
}

const KINDS: [ColdStart; 3] = [
    ColdStart {
        before: Before::Nothing,
        name: "wrong: the first launch",
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
        table = table.row(name, shown(&medians)).row("  above gpubench", more);
        read.push(json!({ "before": before, "times": times }));
    }
    table = table.row("right: gpubench", shown(&right));
    for ColdStart { source: (name, theirs), .. } in KINDS {
        table = table.row(name, stated(&sizes, &theirs));
    }
    Ok(Pitfall {
        row: "B5",
        title: "The first launch is not like the others",
        table,
        why: [
            "Code has to reach the GPU, clocks have to rise and caches to fill: what runs first pays for it."
                .to_owned(),
            "gpubench warms up with the launch itself, until the clock and groups of samples agree."
                .to_owned(),
        ],
        read: json!({ "sizes": sizes, "by_hand": read, "gpubench": right }),
        drawings: Vec::new(),
    })
}
