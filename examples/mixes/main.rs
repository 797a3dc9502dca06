//! Measures mixes of reads and writes in a kernel, and mixes of both directions over the bus. Prints two tables and draws two curves.
//!
//! ```sh
//! cargo run --example mixes -- --out target/mixes
//! ```

#![expect(clippy::print_stdout, reason = "prints its results")]

#[path = "../common/mod.rs"]
mod common;

use std::process::ExitCode;

use clap::Parser;
use common::{Flags, KERNELS, Lab, Result, hot_and_cold, measured, of_peak, peak_mark, table};
use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::record::Cache;
use gpubench::settings::{ArgValues, CacheStates};
use gpubench::units::{Bytes, BytesPerSecond};
use gpubench::{Settings, format};
use gpubench_kernels::cuda::mix::{READS, WRITES};
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries};

/// The eighths of the bytes that go to the device.
const EIGHTHS: [usize; 9] = [8, 7, 6, 5, 4, 3, 2, 1, 0];

#[derive(Debug, Parser)]
#[command(about = "Measures the bandwidth of memory and bus for mixes of reads and writes.")]
struct Args {
    /// Total size of a kernel's reads and writes
    #[arg(long, value_name = "MIB", env = "GPUBENCH_SIZE", default_value_t = 2048)]
    size: usize,

    /// Total size of the transfers in both directions
    #[arg(long, value_name = "MIB", env = "GPUBENCH_BUS_SIZE", default_value_t = 128)]
    bus_size: usize,

    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    common::experiment(
        "mixes",
        |args: &Args| &args.flags,
        |lab, info, args| {
            in_memory(lab, info, args.size << 20)?;
            over_the_bus(lab, info, args.bus_size << 20)
        },
    )
}

/// Measures mixes of reads and writes in a kernel.
fn in_memory(lab: &mut Lab<'_>, info: &DeviceInfo, bytes: usize) -> Result<()> {
    let benchmark = format!("{KERNELS}::mix::mix");
    let run = lab.measure(|settings| Settings {
        filter: vec![benchmark.clone()],
        include_ignored: true,
        arg: vec![ArgValues::new("bytes", [bytes])],
        cache: Some(CacheStates::Both),
        ..settings
    })?;
    let moved = Bytes(bytes as u64);
    println!("Reads and writes of a kernel, {} in total", format::bytes(moved));
    let mut rows = Vec::new();
    let mut points = [Vec::new(), Vec::new()];
    for (reads, writes) in READS.into_iter().zip(WRITES) {
        let name = format!("{benchmark}[reads={reads}, writes={writes}, bytes={bytes}]");
        let mut row = vec![format!("{reads} : {writes}")];
        for (measured, points) in hot_and_cold(&run, &name)?.into_iter().zip(&mut points) {
            let (counted, time) = (Bytes(measured.counts.bytes.unwrap_or_default()), measured.median());
            points.push((writes as f64 / (reads + writes) as f64, counted.per(time).as_f64()));
            let rate = counted.per(time);
            row.extend([format::gigabytes(rate), of_peak(rate, &Quantity::MemoryBandwidth, info)]);
        }
        rows.push(<[String; 5]>::try_from(row).map_err(|_| "a row has five cells")?);
    }
    println!("{}", table(["reads : writes", "GB/s, hot", "of peak", "GB/s, cold", "of peak"], &rows));
    let [hot, cold] = points;
    let curves = Panels {
        title: extremes("writes", &cold),
        subtitle: format!("{}, {} read and written by a kernel, medians", info.name, format::bytes(moved)),
        x: Axis::linear("share of writes", AxisUnit::PART),
        panels: vec![Panel {
            y: Axis::linear("bandwidth", AxisUnit::BANDWIDTH),
            series: vec![PlotSeries::new("hot", hot), PlotSeries::new("cold", cold)],
            marks: peak_mark("memory peak", &Quantity::MemoryBandwidth, info).into_iter().collect(),
        }],
        shares_legend: true,
    };
    lab.write("-memory.svg", &curves.drawing().svg())
}

/// Measures mixes of both directions over the bus, in pinned memory.
fn over_the_bus(lab: &mut Lab<'_>, info: &DeviceInfo, bytes: usize) -> Result<()> {
    let benchmark = format!("{KERNELS}::transfers::both");
    let ways = EIGHTHS.map(|up| (bytes / 8 * up, bytes / 8 * (8 - up)));
    let arg =
        vec![ArgValues::new("up", ways.map(|way| way.0)), ArgValues::new("down", ways.map(|way| way.1))];
    let run = lab.measure(|settings| Settings { filter: vec![benchmark.clone()], arg, ..settings })?;
    let moved = Bytes(bytes as u64);
    println!("Over the bus, pinned, {} in total", format::bytes(moved));
    let mut rows = Vec::new();
    let mut points = Vec::new();
    for (eighths, (up, down)) in EIGHTHS.into_iter().zip(ways) {
        let name = format!("{benchmark}[up={up}, down={down}]");
        let time = measured(&run, &name, Cache::Hot)?.median();
        let rate = Bytes((up + down) as u64).per(time);
        points.push((down as f64 / (up + down) as f64, rate.as_f64()));
        let gib = format!("{:.2}", rate.as_gibibytes());
        rows.push([format!("{eighths} : {}", 8 - eighths), format::time(time), format::gigabytes(rate), gib]);
    }
    print!("{}", table(["to the device : to the host", "time", "GB/s", "GiB/s"], &rows));
    let curves = Panels {
        title: extremes("to the host", &points),
        subtitle: format!("{}, {} of pinned memory, medians", info.name, format::bytes(moved)),
        x: Axis::linear("share to the host", AxisUnit::PART),
        panels: vec![Panel {
            y: Axis::linear("bandwidth", AxisUnit::BANDWIDTH),
            series: vec![PlotSeries::new("both directions at once", points)],
            marks: peak_mark("bus peak, one direction", &Quantity::HostToDevice, info).into_iter().collect(),
        }],
        shares_legend: true,
    };
    lab.write("-bus.svg", &curves.drawing().svg())
}

/// Describes the slowest and the fastest mix by their share of `what`.
fn extremes(what: &str, points: &[(f64, f64)]) -> String {
    let shown = |(part, rate): &(f64, f64)| {
        format!("{} with {:.0} % {what}", format::bandwidth(BytesPerSecond(*rate)), 100.0 * part)
    };
    let best = points.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(shown).unwrap_or_default();
    let worst = points.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(shown).unwrap_or_default();
    format!("From {worst} to {best}")
}
