//! Transfers within the GPU's memory and between it and the host's, as a source measured them: a CSV of each run's
//! time, a box plot of the times and bars of the bandwidths. In: how much and how often; out: all of these.
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
    /// The arguments before the size in the name of its case.
    args: &'static str,
    /// The number of times that the source counts the size.
    transfers: u64,
    /// The source's median, in milliseconds.
    source: Option<f64>,
    /// The quantity that limits it, where that is known.
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

/// The source's five, in its order, then those that it left out.
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
    /// The amount of each transfer
    #[arg(long, value_name = "MIB", env = "GPUBENCH_SIZE", default_value_t = 128)]
    size: usize,

    /// Time each transfer N times
    #[arg(long, value_name = "N", env = "GPUBENCH_REPEATS", default_value_t = 10)]
    repeats: usize,

    #[command(flatten)]
    flags: Flags,
}

/// A transfer, measured.
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

/// In GiB/s, by the source's formula: the bytes that it counts, over the time.
fn gibibytes(bytes: u64, time: Nanoseconds) -> f64 {
    Bytes(bytes).per(time).as_gibibytes()
}

fn print_table(timed: &[Timed<'_>], info: &DeviceInfo, args: &Args) {
    let bytes = (args.size << 20) as u64;
    println!(
        "{} MiB, {} runs each, medians; the source had 128 MiB on a GPU that it does not name",
        args.size, args.repeats
    );
    let head = ["", "numTransfers", "ms", "GiB/s", "of peak", "source, ms", "source, GiB/s"];
    let mut rows = Vec::new();
    for Timed { transfer, median, .. } in timed {
        let Transfer { name, transfers, source, limit, .. } = transfer;
        // A copy within the memory crosses it twice, however often that is counted.
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
            let crossed = "  what crosses the memory".to_owned();
            rows.push([crossed, "2".to_owned(), nothing(), twice, nothing(), nothing(), nothing()]);
        }
    }
    println!("{}", table(head, &rows));
}

/// Both directions at once, pinned: the rate of each beside the other.
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
        "both directions at once, pinned, as much in each: {} ms, {} GiB/s together\n",
        format::number(milliseconds(time)),
        format::number(gibibytes(2 * bytes as u64, time))
    );
    Ok(())
}

/// The source's first row: a copy of 2 × 128 MiB in 2.56 µs, which no memory can do. Cold, so that no L2 can have held
/// it.
fn impossible(lab: &mut Lab<'_>) -> Result<()> {
    let name = format!("transfers::never_ran[bytes={CLAIMED}]");
    let run = lab.measure(|settings| Settings {
        exact: true,
        filter: vec![name.clone()],
        cache: Some(CacheStates::Cold),
        ..settings
    })?;
    let record = record(&run, &name, Cache::Cold)?;
    println!(
        "a kernelCopy whose kernel copies nothing, which claims the source's 2 × {} MiB:",
        CLAIMED >> 20
    );
    if let Some(measured) = &record.measurement {
        let time = measured.median();
        let rate = format::number(gibibytes(2 * CLAIMED as u64, time));
        println!("  {} ms, {rate} GiB/s", format::number(milliseconds(time)));
    }
    println!("  {}", record.verdict.state);
    for reason in &record.verdict.reasons {
        println!("  {reason}");
    }
    Ok(())
}

/// The bytes that the source's kernel is told to have copied.
const CLAIMED: usize = 128 << 20;

/// The source's first row as it most likely came about: a launch that is told to have read and written `bytes`,
/// unchecked.
#[gpu_bench(
    args(bytes = [CLAIMED]),
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

/// `type,size,unit,numTransfers,run1,…`: one row a transfer, times in milliseconds. The source's MB are MiB, and so
/// called here.
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
