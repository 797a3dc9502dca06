//! B4: the times to load and launch PTX without and with the driver's cache of compiled code, and to load and launch a cubin,
//! each in a new process.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use gpubench::format;
use gpubench::units::Nanoseconds;
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, median};
use crate::by_hand::{HandTiming, Loaded};
use crate::common::Result;
use crate::table::Table;

/// The number of processes for each row.
const TIMES: usize = 3;
/// The source's times in milliseconds. It does not state the matrix size.
const FORCED: f64 = 17.436;
const CACHED: f64 = 2.010;

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let n = bench.size(1024);
    let folder = std::env::temp_dir().join(format!("gpubench-pitfalls-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let read = read(bench, n, &folder);
    fs::remove_dir_all(&folder)?;
    let (forced, cached, machine_code) = read?;
    let right = bench.naive_times(&[n])?[0];
    let row = |loaded: &[Loaded]| {
        let of = |part: fn(&Loaded) -> f64| median(&loaded.iter().map(part).collect::<Vec<_>>());
        let (load, first, second) = (of(|it| it.load), of(|it| it.first), of(|it| it.second));
        [load, first, load + first, second].map(format::time)
    };
    let theirs = |ms: f64| [String::new(), String::new(), format::time(Nanoseconds(ms * 1e6))];
    let mut table = Table::new(["load", "first launch", "load + first", "second launch"])
        .row("wrong: PTX with compilation (CUDA_CACHE_DISABLE=1)", row(&forced))
        .row("PTX from the driver's cache", row(&cached));
    table = match &machine_code {
        Some(machine_code) => table.row("cubin from the driver's linker", row(machine_code)),
        None => table.row("cubin", ["the driver's linker failed"]),
    };
    table = table
        .row("right: gpubench", [String::new(), String::new(), String::new(), format::time(right)])
        .row("source: with compilation", theirs(FORCED))
        .row("source: without compilation", theirs(CACHED));
    Ok(Pitfall {
        row: "B4",
        title: "Timing the compilation",
        table,
        why: &["The driver keeps compiled code on disk. A cubin needs no compilation."],
        read: json!({
            "size": n, "forced": forced, "cached": cached, "machine_code": machine_code.as_deref(), "gpubench": right,
        }),
        drawings: Vec::new(),
    })
}

/// The readings with compilation, from the cache, and of a cubin if the driver's linker made one.
type ModuleLoads = (Vec<Loaded>, Vec<Loaded>, Option<Vec<Loaded>>);

fn read(bench: &Bench<'_>, n: usize, folder: &Path) -> Result<ModuleLoads> {
    let cache = folder.join("cache");
    let again = |machine_code: Option<&Path>, environment: &[(&str, &OsStr)]| {
        let point = HandTiming::Load { n, machine_code: machine_code.map(Into::into) };
        (0..TIMES).map(|_| bench.ask::<Loaded>(&point, environment)).collect::<Result<Vec<_>>>()
    };
    let on = OsStr::new("1");
    let forced = again(None, &[("CUDA_CACHE_DISABLE", on)])?;
    let kept: [(&str, &OsStr); 2] =
        [("CUDA_CACHE_DISABLE", OsStr::new("0")), ("CUDA_CACHE_PATH", cache.as_os_str())];
    // Fills the cache.
    _ = bench.ask::<Loaded>(&HandTiming::Load { n, machine_code: None }, &kept)?;
    let cached = again(None, &kept)?;
    let file = folder.join("matmul.cubin");
    let linked: Result<()> = bench.ask(&HandTiming::Link { to: file.clone() }, &[]);
    let machine_code = match linked {
        Ok(()) => Some(again(Some(&file), &[("CUDA_CACHE_DISABLE", on)])?),
        Err(_) => None,
    };
    Ok((forced, cached, machine_code))
}
