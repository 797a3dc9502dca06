//! B11: two kernels at once. In: the bench; out: the readings of events on each stream while both run, beside each alone,
//! and of a clock around both.

use gpubench::record::Cache;
use gpubench::settings::{ArgValues, CacheStates};
use gpubench::{Settings, format};
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, median};
use crate::by_hand::{HandTiming, Streams};
use crate::common::{KERNELS, Result, measured};
use crate::table::Table;

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    // Blocks for half of an H200's multiprocessors, and for a quarter.
    let n = bench.size(16_384);
    let read: Streams = bench.ask(&HandTiming::Streams { n }, &[])?;
    let run = bench.measure(|settings| Settings {
        filter: vec!["nbody::gravity".into()],
        arg: vec![ArgValues::new("n", [n, n / 2])],
        cache: Some(CacheStates::Hot),
        ..settings
    })?;
    let time =
        |n: usize| Ok(measured(&run, &format!("{KERNELS}::nbody::gravity[n={n}]"), Cache::Hot)?.median());
    let right = [n, n / 2].map(time).into_iter().collect::<Result<Vec<_>>>()?;
    let row = |both: &[Vec<f64>; 2]| both.iter().map(|read| format::time(median(read))).collect::<Vec<_>>();
    let both = |read: &[f64]| [String::new(), String::new(), format::time(median(read))];
    let table = Table::new([format!("{n} bodies"), format!("{} bodies", n / 2), "both".to_owned()])
        .row("wrong: host clock and a wait for the device", both(&read.host))
        .row("events on its own stream, both under way", row(&read.together))
        .row("from the first event to the last", both(&read.span))
        .row("events, alone", row(&read.alone))
        .row("right: gpubench, alone", right.iter().copied().map(format::time));
    Ok(Pitfall {
        row: "B11",
        title: "Work that overlaps: a wait for the device cannot tell one from the other",
        table,
        why: [
            "The host's clock has one number for both. Events on each stream tell each, without a wait in between.".to_owned(),
            "The span of both is less than the sum of their times, so they overlap: times of different streams do not add up.".to_owned(),
        ],
        read: json!({ "size": n, "by_hand": read, "gpubench": right }),
        drawings: Vec::new(),
    })
}
