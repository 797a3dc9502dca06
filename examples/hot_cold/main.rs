//! Hot against cold, as a source measured it: a copy whose input is half of the L2, by 32 blocks of 1024 threads, the mean
//! of 10,000 launches after 1,000 of warm-up; then the size at which the L2 ends. In: the number of launches; out: tables in
//! the sources' terms, beside their numbers, and a drawing.
//!
//! ```sh
//! cargo run --example hot_cold -- --out target/hot_cold
//! ```

#![expect(clippy::print_stdout, reason = "prints its results")]

#[path = "../common/mod.rs"]
mod common;

use std::process::ExitCode;

use clap::Parser;
use common::{Flags, KERNELS, Lab, Result, hot_and_cold, peak_mark, table};
use gpubench::device::Flush;
use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::record::Measurement;
use gpubench::settings::{ArgValues, CacheStates, FlushChoice, WarmUp};
use gpubench::units::Bytes;
use gpubench::{Settings, format};
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries, ReferenceLine};
// Links the benchmarks that are measured.
use gpubench_kernels as _;

/// The source's figures, from an RTX 3090 with 6 MB of L2.
const SOURCE: [&str; 6] = ["source, RTX 3090, L2/2", "0.0095 ms", "0.0141 ms", "1.48×", "", ""];

/// Sizes of a launch's data, in sixteenths of the L2.
const SIXTEENTHS: [usize; 14] = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64];

#[derive(Debug, Parser)]
#[command(about = "Measures a copy with its data in the L2 and with the L2 flushed, and where the L2 ends.")]
struct Args {
    /// Timed launches, hot and cold each
    #[arg(long, value_name = "N", env = "GPUBENCH_REPEATS", default_value_t = 10_000)]
    repeats: usize,

    /// Warm-up launches before them
    #[arg(long, value_name = "N", env = "GPUBENCH_WARM_UPS", default_value_t = 1_000)]
    warm_ups: usize,

    /// Take this for the size of the L2, instead of the one that the device reports
    #[arg(long, value_name = "MIB", env = "GPUBENCH_L2")]
    l2: Option<u64>,

    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    common::experiment(
        "hot_cold",
        |args: &Args| &args.flags,
        |lab, info, args| {
            let told = args.l2.map(|mib| Bytes(mib << 20)).or(info.last_level_cache);
            let l2 = told
                .filter(|l2| *l2 > Bytes::ZERO)
                .ok_or("the device does not tell the size of its L2: --l2 gives it")?;
            latencies(lab, args, l2)?;
            end_of_cache(lab, info, l2)
        },
    )
}

/// The source's table: both means of its copy, at its size of input and at one that leaves room in the L2, behind its flush
/// and behind a clean one; and those of a copy that fills the GPU.
fn latencies(lab: &mut Lab<'_>, args: &Args, l2: Bytes) -> Result<()> {
    let Args { repeats, warm_ups, .. } = *args;
    println!("A copy: {repeats} repeats after {warm_ups} warm-ups");
    let head = ["", "mean, hot", "mean, cold", "cold/hot", "median, hot", "median, cold"];
    let mut rows = vec![SOURCE.map(str::to_owned)];
    for (kernel, what) in [("sources::copy", "32 × 1024 threads"), ("copy", "a vector a thread")] {
        for part in [2, 8] {
            let n = (l2 / part / 4).as_usize();
            let name = format!("{KERNELS}::{kernel}[n={n}]");
            for choice in [FlushChoice::Write, FlushChoice::Discard] {
                let run = lab.measure(|settings| Settings {
                    exact: true,
                    filter: vec![name.clone()],
                    arg: vec![ArgValues::new("n", [n])],
                    cache: Some(CacheStates::Both),
                    flush: Some(choice),
                    samples: Some(repeats),
                    warmup: Some(WarmUp::Launches(warm_ups)),
                    ..settings
                })?;
                let [hot, cold] = hot_and_cold(&run, &name)?.map(|measured| &measured.samples.time);
                let label = format!("{what}, L2/{part}, flush `{}`", Flush::from(choice));
                let over = format::ratio(cold.mean / hot.mean);
                let [a, b, c, d] = [hot.mean, cold.mean, hot.median, cold.median].map(format::time);
                rows.push([label, a, b, over, c, d]);
            }
        }
    }
    println!("{}", table(head, &rows));
    Ok(())
}

/// A sum and a copy of growing size, hot and cold: they are faster hot as long as they fit the L2.
fn end_of_cache(lab: &mut Lab<'_>, info: &DeviceInfo, l2: Bytes) -> Result<()> {
    let mut series = Vec::new();
    let mut ends = Vec::new();
    for (kernel, arrays) in [("sum", 1), ("copy", 2)] {
        let touched = SIXTEENTHS.map(|part| (l2 / 16).as_usize() * part);
        let ns = touched.map(|bytes| bytes / arrays / 4);
        let names = ns.map(|n| format!("{KERNELS}::{kernel}[n={n}]"));
        let run = lab.measure(|settings| Settings {
            exact: true,
            filter: names.to_vec(),
            arg: vec![ArgValues::new("n", ns)],
            cache: Some(CacheStates::Both),
            ..settings
        })?;
        let mut rows = Vec::new();
        let mut points = [Vec::new(), Vec::new()];
        let mut fits = None;
        for (bytes, name) in touched.into_iter().zip(&names) {
            let [hot, cold] = hot_and_cold(&run, name)?.map(Measurement::median);
            let size = Bytes(bytes as u64);
            for (points, time) in points.iter_mut().zip([hot, cold]) {
                points.push((bytes as f64, size.per(time).as_f64()));
            }
            if cold > 1.02 * hot {
                fits = Some(size);
            }
            let rate = |time| format::gigabytes(size.per(time));
            rows.push([
                format!("{kernel} {}", format::bytes(size)),
                rate(hot),
                rate(cold),
                format::ratio(cold / hot),
            ]);
        }
        println!(
            "{kernel}, by the size of what a launch touches: GB/s with the data in the L2 as far as it fits, and with the L2 empty"
        );
        print!("{}", table(["", "hot", "cold", "cold/hot"], &rows));
        let last =
            fits.map_or_else(|| "at no size".to_owned(), |size| format!("up to {}", format::bytes(size)));
        println!("{kernel}: cold takes longer by more than 2 % {last}; the L2 has {}\n", format::bytes(l2));
        ends.extend(fits.map(|size| format!("{} for `{kernel}`", format::bytes(size))));
        let [hot, cold] = points;
        series.extend([
            PlotSeries::new(format!("{kernel}, hot"), hot),
            PlotSeries::new(format!("{kernel}, cold"), cold),
        ]);
    }
    let mut marks = vec![ReferenceLine::x(l2.as_f64(), format!("L2, {}", format::bytes(l2)))];
    marks.extend(peak_mark("peak of the memory", &Quantity::MemoryBandwidth, info));
    let curves = Panels {
        title: match &ends[..] {
            [] => "Data is nowhere faster for having been used before".to_owned(),
            ends => format!("What is still in the L2 is faster, up to {}", ends.join(" and ")),
        },
        subtitle: format!(
            "{}, medians; hot: the launch before has just run, cold: the L2 is empty",
            info.name
        ),
        x: Axis::log2("what a launch touches", AxisUnit::BYTES),
        panels: vec![Panel { y: Axis::linear("bandwidth", AxisUnit::BANDWIDTH), series, marks }],
        shares_legend: true,
    };
    lab.write(".svg", &curves.drawing().svg())
}
