//! Prints basic metrics as the sources do: effective and theoretical bandwidth and throughput, items per second, and the times of
//! three timers.
//!
//! ```sh
//! cargo run --example metrics
//! ```

#![expect(clippy::print_stdout, reason = "prints its results")]

#[path = "../common/mod.rs"]
mod common;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use common::{Flags, KERNELS, Lab, Result, hot_and_cold, measured, of_peak, table};
use cust::CudaFlags;
use cust::context::Context;
use cust::device::Device;
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination as _, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::record::{Cache, Measurement, Run};
use gpubench::settings::{ArgValues, CacheStates};
use gpubench::stats::median;
use gpubench::units::{Bytes, FlopsPerSecond, ItemsPerSecond, Nanoseconds};
use gpubench::{Settings, format};
use gpubench_kernels::cuda::{Sources, sources};
use gpubench_records::id::DeviceId;

/// The number of readings of each timer.
const READINGS: usize = 100;

#[derive(Debug, Parser)]
#[command(about = "Measures SAXPY and a sum of two arrays, and computes the sources' metrics.")]
struct Args {
    /// Elements of each array
    #[arg(long, value_name = "N", env = "GPUBENCH_ELEMENTS", default_value_t = 20 << 20)]
    elements: usize,

    #[command(flatten)]
    flags: Flags,
}

fn main() -> ExitCode {
    gpubench::program(|suite| {
        let args = Args::parse();
        let (mut lab, info) = Lab::open(suite, &args.flags, "metrics")?;
        theoretical(&info);
        saxpy(&mut lab, &info, args.elements)?;
        sums(&mut lab, &info, args.elements)?;
        // The last step, because a context of this process would count as another process on the suite's GPU.
        let device = info.device.clone();
        lab.close()?;
        timers(&device, args.elements)
    })
}

/// Prints the theoretical throughput of this GPU and of the sources' Tesla M2050.
fn theoretical(info: &DeviceInfo) {
    let throughput = |precision: &str| {
        let peak = info.peak(&Quantity::Compute(precision.to_owned()));
        peak.map_or_else(|| "unknown".to_owned(), |peak| format::throughput(peak.value.into()))
    };
    println!("theoretical: f32 {}, f64 {}", throughput("f32"), throughput("f64"));
    println!(
        "source, Tesla M2050: 148 GB/s (1546 MHz × 384 bit / 8 × 2), f32 1030 GFLOP/s, f64 515 GFLOP/s\n"
    );
}

/// Formats the time of a measurement, and its bandwidth and throughput with their shares of the peak for a data type.
fn rates(measured: &Measurement, info: &DeviceInfo, precision: &str) -> [String; 5] {
    let (counts, time) = (measured.counts, measured.median());
    let bytes = Bytes(counts.bytes.unwrap_or_default()).per(time);
    let flops = FlopsPerSecond(counts.flops.unwrap_or_default() as f64 / time.as_seconds());
    let compute = Quantity::Compute(precision.to_owned());
    [
        format::time(time),
        format::gigabytes(bytes),
        of_peak(bytes, &Quantity::MemoryBandwidth, info),
        format::gigaflops(flops),
        of_peak(flops, &compute, info),
    ]
}

const HEAD: [&str; 6] = ["", "time", "GB/s", "of peak", "GFLOP/s", "of peak"];

fn row(name: &str, cells: [String; 5]) -> [String; 6] {
    let [a, b, c, d, e] = cells;
    [name.to_owned(), a, b, c, d, e]
}

/// Returns the rows of two kernels, hot and cold. Each kernel has the name of its case and a name in the table.
fn rows(
    run: &Run,
    kernels: [(&str, &str); 2],
    info: &DeviceInfo,
    precision: &str,
) -> Result<Vec<[String; 6]>> {
    let mut rows = Vec::new();
    for (name, what) in kernels {
        for (measured, cache) in hot_and_cold(run, name)?.into_iter().zip([Cache::Hot, Cache::Cold]) {
            rows.push(row(&format!("{what}, {cache}"), rates(measured, info, precision)));
        }
    }
    Ok(rows)
}

/// Measures a kernel of the sources and a kernel of this crate, hot and cold, on arrays of `n` elements. Also returns their cases.
fn measure(lab: &mut Lab<'_>, kernels: [&str; 2], n: usize) -> Result<(Run, [String; 2])> {
    let cases = kernels.map(|kernel| format!("{KERNELS}::{kernel}[n={n}]"));
    let [theirs, ours] = &cases;
    let run = lab.measure(|settings| Settings {
        exact: true,
        filter: vec![theirs.clone(), ours.clone()],
        arg: vec![ArgValues::new("n", [n])],
        cache: Some(CacheStates::Both),
        ..settings
    })?;
    Ok((run, cases))
}

/// Prints the source's SAXPY and a faster SAXPY, the maximum error, and elements per second.
fn saxpy(lab: &mut Lab<'_>, info: &DeviceInfo, n: usize) -> Result<()> {
    let (run, [theirs, ours]) = measure(lab, ["sources::saxpy", "saxpy"], n)?;
    println!("SAXPY, {n} elements: 12 bytes and 2 operations each");
    let source = row("source, Tesla M2050", ["", "110.4", "74.6 %", "", ""].map(str::to_owned));
    let kernels = [(&theirs[..], "blocks of 256"), (&ours, "one vector per thread")];
    let rows = [vec![source], rows(&run, kernels, info, "f32")?].concat();
    print!("{}", table(HEAD, &rows));
    let first = measured(&run, &theirs, Cache::Cold)?;
    let checked = if first.checked { "0, all elements checked" } else { "unknown, not checked" };
    println!("maximum error {checked}");
    let items = ItemsPerSecond(n as f64 / first.median().as_seconds());
    println!("items: {}\n", format::items(items, "elements"));
    Ok(())
}

/// Prints the source's sum of two arrays in f64, with one thread per block, and a faster sum.
fn sums(lab: &mut Lab<'_>, info: &DeviceInfo, n: usize) -> Result<()> {
    let (run, [theirs, ours]) = measure(lab, ["sources::vector_add", "vector_add"], n)?;
    println!("SUM, c = a + b in f64, {n} elements: 24 bytes and 1 operation each");
    let kernels = [(&theirs[..], "one thread per block, as in the source"), (&ours, "one vector per thread")];
    println!("{}", table(HEAD, &rows(&run, kernels, info, "f64")?));
    Ok(())
}

/// Prints the times of the source's SAXPY by three timers without gpubench.
fn timers(device: &str, n: usize) -> Result<()> {
    // The search for devices ran in another process.
    cust::init(CudaFlags::empty())?;
    let _context = Context::new(Device::get_device(DeviceId::parse(device).ordinal as u32)?)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let kernels = Sources::load()?;
    let x = DeviceBuffer::from_slice(&vec![1.0_f32; n])?;
    let mut y = DeviceBuffer::from_slice(&vec![2.0_f32; n])?;
    let (start, stop) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    let [mut unwaited, mut waited, mut events] = [const { Vec::<Nanoseconds>::new() }; 3];
    // The first launch includes lazy loading.
    sources::saxpy(&kernels, 2.0, &x, &mut y, &stream)?;
    stream.synchronize()?;
    for _ in 0..READINGS {
        let begin = Instant::now();
        sources::saxpy(&kernels, 2.0, &x, &mut y, &stream)?;
        unwaited.push(begin.elapsed().into());
        stream.synchronize()?;

        let begin = Instant::now();
        sources::saxpy(&kernels, 2.0, &x, &mut y, &stream)?;
        stream.synchronize()?;
        waited.push(begin.elapsed().into());

        start.record(&stream)?;
        sources::saxpy(&kernels, 2.0, &x, &mut y, &stream)?;
        stop.record(&stream)?;
        stop.synchronize()?;
        events.push(Nanoseconds(1e6 * f64::from(stop.elapsed_time_f32(&start)?)));
    }
    // The last element shows that all launches ran: each launch adds to it.
    let mut last = [0.0];
    y.index(n - 1..n).copy_to(&mut last)?;
    println!("Three timers around SAXPY, medians of {READINGS} readings; the last element is {}", last[0]);
    let bytes = Bytes(12 * n as u64);
    let mut rows = Vec::new();
    for (name, times) in
        [("host clock without waiting", unwaited), ("host clock and wait", waited), ("events", events)]
    {
        let time = median(&times).ok_or("there are readings")?;
        rows.push([name.to_owned(), format::time(time), format::gigabytes(bytes.per(time))]);
    }
    print!("{}", table(["", "time", "GB/s"], &rows));
    Ok(())
}
