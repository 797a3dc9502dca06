//! B11: two kernels on two streams, timed at the same time and each alone.

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
    // The kernels occupy a half and a quarter of an H200's multiprocessors.
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
        .row("wrong: host clock and wait", both(&read.host))
        .row("events on each stream, both kernels running", row(&read.together))
        .row("from the first event to the last", both(&read.span))
        .row("events, each kernel alone", row(&read.alone))
        .row("right: gpubench, each kernel alone", right.iter().copied().map(format::time));
    Ok(Pitfall {
        row: "B11",
        title: "Adding the times of overlapping streams",
        table,
        why: &["The kernels overlap, so the sum of their times is longer than the time of both."],
        read: json!({ "size": n, "by_hand": read, "gpubench": right }),
        drawings: Vec::new(),
    })
}
