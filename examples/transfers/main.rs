//! Measures transfers within the GPU's memory and over the bus, as a source did. Prints a table, and writes a CSV with the time of each
//! run, a box plot of the times and bars of the bandwidths.
//!
//! ```sh
//! cargo run --example transfers -- --out target/transfers
//! ```

#![expect(clippy::print_stdout, reason = "prints its results")]

#[path = "../common/mod.rs"]
mod common;
mod drawing;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Parser;
use common::{Flags, KERNELS, Lab, Result, measured, of_peak, record, table};
use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::record::{Cache, Run};
use gpubench::settings::{ArgValues, CacheStates};
use gpubench::units::{Bytes, Nanoseconds};
use gpubench::{Settings, format, gpu_bench};
use gpubench_kernels::cuda::{self, Elementwise};

/// A kind of transfer.
struct Transfer {
    /// Its name in the source, or in the source's style.
    name: &'static str,
    /// The benchmark that measures it.
    benchmark: &'static str,
    /// The part of its case's name between `[` and the size.
    args: &'static str,
    /// How often the source counts the size.
    transfers: u64,
    /// The source's median, in milliseconds.
    source: Option<f64>,
    /// The peak that limits it, if known.
    limit: Option<Quantity>,
}

const fn transfer(
    name: &'static str,
    (benchmark, args): (&'static str, &'static str),
    transfers: u64,
    source: Option<f64>,
    limit: Option<Quantity>,
) -> Transfer {
    Transfer { name, benchmark, args, transfers, source, limit }
}

const MEMORY: Option<Quantity> = Some(Quantity::MemoryBandwidth);
const UP: Option<Quantity> = Some(Quantity::HostToDevice);
const DOWN: Option<Quantity> = Some(Quantity::DeviceToHost);

/// The source's five transfers, then four others.
static TRANSFERS: [Transfer; 9] = [
    transfer("kernelCopy", ("copy", "n="), 2, Some(0.00256), MEMORY),
    transfer("memcpyDtoD", ("transfers::d2d", "bytes="), 1, Some(1.542), MEMORY),
    transfer("pagedDtoH", ("transfers::d2h", "memory=pageable, bytes="), 1, Some(13.68), DOWN),
    transfer("pinnedDtoH", ("transfers::d2h", "memory=pinned, bytes="), 1, Some(12.00), DOWN),
    transfer("unifiedMemcpy", ("transfers::unified", "bytes="), 1, Some(18.22), None),
    transfer("managedDtoH", ("transfers::d2h", "memory=managed, bytes="), 1, None, DOWN),
    transfer("pagedHtoD", ("transfers::h2d", "memory=pageable, bytes="), 1, None, UP),
    transfer("pinnedHtoD", ("transfers::h2d", "memory=pinned, bytes="), 1, None, UP),
    transfer("managedHtoD", ("transfers::h2d", "memory=managed, bytes="), 1, None, UP),
];

#[derive(Debug, Parser)]
#[command(about = "Measures transfers within the GPU's memory and over the bus.")]
struct Args {
    /// Size of each transfer
    #[arg(long, value_name = "MIB", env = "GPUBENCH_SIZE", default_value_t = 128)]
    size: usize,

    /// Time each transfer N times
    #[arg(long, value_name = "N", env = "GPUBENCH_REPEATS", default_value_t = 10)]
    repeats: usize,

    #[command(flatten)]
    flags: Flags,
}

/// A measured transfer.
struct Timed<'a> {
    transfer: &'a Transfer,
    times: Vec<Nanoseconds>,
    median: Nanoseconds,
}

fn main() -> ExitCode {
    common::experiment(
        "transfers",
        |args: &Args| &args.flags,
        |lab, info, args| {
            let run = measure(lab, args)?;
            let timed = TRANSFERS.iter().map(|transfer| timed(&run, transfer, args.size << 20));
            let timed = timed.collect::<Result<Vec<_>>>()?;
            print_table(&timed, info, args);
            both_ways(lab, args.size << 20)?;
            impossible(lab)?;
            lab.write(".csv", &csv(&timed, args))?;
            drawing::draw(lab, &timed, info, args)
        },
    )
}

fn measure(lab: &mut Lab<'_>, args: &Args) -> Result<Run> {
    let bytes = args.size << 20;
    lab.measure(|settings| Settings {
        exact: true,
        filter: TRANSFERS.iter().map(|transfer| transfer.case(bytes)).collect(),
        arg: vec![ArgValues::new("n", [bytes / 4]), ArgValues::new("bytes", [bytes])],
        cache: Some(CacheStates::Hot),
        samples: Some(args.repeats),
        ..settings
    })
}

impl Transfer {
    /// The name of the case that transfers this number of bytes.
    fn case(&self, bytes: usize) -> String {
        let size = if self.args == "n=" { bytes / 4 } else { bytes };
        format!("{KERNELS}::{}[{}{size}]", self.benchmark, self.args)
    }
}

fn timed<'a>(run: &Run, transfer: &'a Transfer, bytes: usize) -> Result<Timed<'a>> {
    let measured = measured(run, &transfer.case(bytes), Cache::Hot)?;
    Ok(Timed { transfer, times: measured.times(), median: measured.median() })
}

fn milliseconds(time: Nanoseconds) -> f64 {
    time.as_f64() / 1e6
}

/// Returns GiB/s by the source's formula: the counted bytes, divided by the time.
fn gibibytes(bytes: u64, time: Nanoseconds) -> f64 {
    Bytes(bytes).per(time).as_gibibytes()
}

fn print_table(timed: &[Timed<'_>], info: &DeviceInfo, args: &Args) {
    let bytes = (args.size << 20) as u64;
    println!("{} MiB, {} runs each, medians; source: 128 MiB, GPU not named", args.size, args.repeats);
    let head = ["", "numTransfers", "ms", "GiB/s", "of peak", "source, ms", "source, GiB/s"];
    let mut rows = Vec::new();
    for Timed { transfer, median, .. } in timed {
        let Transfer { name, transfers, source, limit, .. } = transfer;
        // A copy within the memory reads and writes each byte, whatever the source counts.
        let crosses = if *limit == MEMORY { 2 } else { 1 };
        let rate = Bytes(crosses * bytes).per(*median);
        let of_limit = limit.as_ref().map_or_else(String::new, |limit| of_peak(rate, limit, info));
        let theirs = source.map(|ms| gibibytes((128 << 20) * transfers, Nanoseconds(ms * 1e6)));
        let or_nothing = |value: Option<f64>| value.map_or_else(String::new, format::number);
        rows.push([
            (*name).to_owned(),
            transfers.to_string(),
            format::number(milliseconds(*median)),
            format::number(gibibytes(bytes * transfers, *median)),
            of_limit,
            or_nothing(*source),
            or_nothing(theirs),
        ]);
        if *name == "memcpyDtoD" {
            let twice = format::number(gibibytes(2 * bytes, *median));
            let nothing = String::new;
            let crossed = "  reads and writes".to_owned();
            rows.push([crossed, "2".to_owned(), nothing(), twice, nothing(), nothing(), nothing()]);
        }
    }
    println!("{}", table(head, &rows));
}

/// Prints the time and the total bandwidth of transfers in both directions at once, pinned.
fn both_ways(lab: &mut Lab<'_>, bytes: usize) -> Result<()> {
    let name = format!("{KERNELS}::transfers::both[up={bytes}, down={bytes}]");
    let run = lab.measure(|settings| Settings {
        exact: true,
        filter: vec![name.clone()],
        arg: ["up", "down"].map(|way| ArgValues::new(way, [bytes])).to_vec(),
        ..settings
    })?;
    let time = measured(&run, &name, Cache::Hot)?.median();
    println!(
        "both directions at once, pinned, {} MiB each: {} ms, {} GiB/s in total\n",
        bytes >> 20,
        format::number(milliseconds(time)),
        format::number(gibibytes(2 * bytes as u64, time))
    );
    Ok(())
}

/// Prints the result of [`never_ran`]. The source's first row is a copy of 2 × 128 MiB in 2.56 µs, faster than any memory. A cold
/// launch cannot find the data in the L2.
fn impossible(lab: &mut Lab<'_>) -> Result<()> {
    let name = format!("transfers::never_ran[bytes={DECLARED}]");
    let run = lab.measure(|settings| Settings {
        exact: true,
        filter: vec![name.clone()],
        cache: Some(CacheStates::Cold),
        ..settings
    })?;
    let record = record(&run, &name, Cache::Cold)?;
    println!("a kernelCopy whose kernel copies nothing, but declares 2 × {} MiB:", DECLARED >> 20);
    if let Some(measured) = &record.measurement {
        let time = measured.median();
        let rate = format::number(gibibytes(2 * DECLARED as u64, time));
        println!("  {} ms, {rate} GiB/s", format::number(milliseconds(time)));
    }
    println!("  {}", record.verdict.state);
    for reason in &record.verdict.reasons {
        println!("  {reason}");
    }
    Ok(())
}

/// The bytes that [`never_ran`] declares.
const DECLARED: usize = 128 << 20;

/// The likely cause of the source's first row: a launch that copies nothing, but declares `bytes` read and written, without `check`.
#[gpu_bench(
    args(bytes = [DECLARED]),
    setup = |_bytes| Ok((Elementwise::load()?, DeviceBuffer::zeroed(0)?, DeviceBuffer::zeroed(0)?)),
    reads = bytes,
    writes = bytes,
)]
fn never_ran(
    kernels: &Elementwise,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    cuda::copy(kernels, x, y, stream)
}

/// Returns `type,size,unit,numTransfers,run1,…` with one row per transfer and times in milliseconds. The source's MB are MiB.
fn csv(timed: &[Timed<'_>], args: &Args) -> String {
    let runs: Vec<String> = (1..=args.repeats).map(|run| format!("run{run}")).collect();
    let mut text = format!("type,size,unit,numTransfers,{}\n", runs.join(","));
    for Timed { transfer, times, .. } in timed {
        let times: Vec<String> = times.iter().map(|time| format!("{:.6}", milliseconds(*time))).collect();
        // Writing to a string cannot fail.
        _ = writeln!(text, "{},{},MiB,{},{}", transfer.name, args.size, transfer.transfers, times.join(","));
    }
    text
}
