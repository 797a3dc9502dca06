//! Measures hot and cold launches as a source did: a copy whose input is half as large as the L2, by 32 blocks of 1024 threads, with
//! the mean of 10,000 launches after 1,000 warm-up launches. Then measures sums and copies of increasing size, and draws them.
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
// Links the benchmarks.
use gpubench_kernels as _;

/// The source's times, from an RTX 3090 with 6 MB of L2.
const SOURCE: [&str; 6] = ["source, RTX 3090, L2/2", "0.0095 ms", "0.0141 ms", "1.48×", "", ""];

/// Sizes of a launch's data, in sixteenths of the L2.
const SIXTEENTHS: [usize; 14] = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64];

#[derive(Debug, Parser)]
#[command(about = "Measures a copy hot and cold, then sums and copies of increasing size.")]
struct Args {
    /// Timed launches in each cache state
    #[arg(long, value_name = "N", env = "GPUBENCH_REPEATS", default_value_t = 10_000)]
    repeats: usize,

    /// Warm-up launches in each cache state
    #[arg(long, value_name = "N", env = "GPUBENCH_WARM_UPS", default_value_t = 1_000)]
    warm_ups: usize,

    /// Use this L2 size instead of the size that the device reports
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
            let size = args.l2.map(|mib| Bytes(mib << 20)).or(info.last_level_cache);
            let l2 = size
                .filter(|l2| *l2 > Bytes::ZERO)
                .ok_or("the device does not report the size of its L2: use --l2")?;
            latencies(lab, args, l2)?;
            end_of_cache(lab, info, l2)
        },
    )
}

/// Prints the times of the source's copy and of a faster copy, with the source's input size and a smaller one, each with two
/// flushes.
fn latencies(lab: &mut Lab<'_>, args: &Args, l2: Bytes) -> Result<()> {
    let Args { repeats, warm_ups, .. } = *args;
    println!("A copy: {repeats} repeats after {warm_ups} warm-ups");
    let head = ["", "mean, hot", "mean, cold", "cold/hot", "median, hot", "median, cold"];
    let mut rows = vec![SOURCE.map(str::to_owned)];
    for (kernel, what) in [("sources::copy", "32 × 1024 threads"), ("copy", "one vector per thread")] {
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

/// Measures a sum and a copy of increasing size, hot and cold.
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
        println!("{kernel} by data size, in GB/s");
        print!("{}", table(["", "hot", "cold", "cold/hot"], &rows));
        let last =
            fits.map_or_else(|| "at no size".to_owned(), |size| format!("up to {}", format::bytes(size)));
        println!(
            "{kernel}: cold launches take more than 2 % longer {last}; the L2 has {}\n",
            format::bytes(l2)
        );
        ends.extend(fits.map(|size| format!("{} for `{kernel}`", format::bytes(size))));
        let [hot, cold] = points;
        series.extend([
            PlotSeries::new(format!("{kernel}, hot"), hot),
            PlotSeries::new(format!("{kernel}, cold"), cold),
        ]);
    }
    let mut marks = vec![ReferenceLine::x(l2.as_f64(), format!("L2, {}", format::bytes(l2)))];
    marks.extend(peak_mark("memory peak", &Quantity::MemoryBandwidth, info));
    let curves = Panels {
        title: match &ends[..] {
            [] => "Hot launches are faster at no size".to_owned(),
            ends => format!("Hot launches are faster, up to {}", ends.join(" and ")),
        },
        subtitle: format!(
            "{}, medians; hot: after a launch on the same data, cold: after a flush of the L2",
            info.name
        ),
        x: Axis::log2("data size", AxisUnit::BYTES),
        panels: vec![Panel { y: Axis::linear("bandwidth", AxisUnit::BANDWIDTH), series, marks }],
        shares_legend: true,
    };
    lab.write(".svg", &curves.drawing().svg())
}
