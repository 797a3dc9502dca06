//! Measures products on tensor cores in a burst and under a minute of sustained load, with the clock, the power and the temperature.
//! Prints both times, and draws each quantity by launch number.
//!
//! ```sh
//! cargo run --example throttle -- --out target/throttle
//! ```
//!
//! gpubench's sampler times each launch by events, and a thread reads the sensors. The program does not lock clocks.

#![expect(clippy::print_stdout, reason = "prints its results")]

#[path = "../common/mod.rs"]
mod common;
mod drawing;
mod regimes;
mod sensors;
mod summary;

use std::process::ExitCode;

use clap::Parser;
use gpubench::cuda::Cuda;
use gpubench::device_info::DeviceInfo;
use serde::{Deserialize, Serialize};

use self::common::{Flags, Lab, Result};
use self::regimes::{SampleGroup, measure};

#[derive(Debug, Parser)]
#[command(about = "Measures the time of a launch in a burst and under sustained load.")]
struct Args {
    /// Duration of the sustained load
    #[arg(long, value_name = "S", env = "GPUBENCH_SECONDS", default_value_t = 60.0)]
    seconds: f64,

    /// Rows and columns of the matrices, a multiple of 256
    #[arg(long, value_name = "N", env = "GPUBENCH_SIZE", default_value_t = 8192, value_parser = size)]
    size: usize,

    #[command(flatten)]
    flags: Flags,
}

fn size(text: &str) -> std::result::Result<usize, &'static str> {
    let size = text.parse::<usize>().ok().filter(|size| *size > 0 && size.is_multiple_of(256));
    size.ok_or("give a multiple of 256")
}

/// All readings.
#[derive(Debug, Serialize, Deserialize)]
struct Experiment {
    schema: String,
    size: usize,
    /// Launches with pauses between them.
    burst: Vec<SampleGroup>,
    /// Launches without pauses.
    sustained: Vec<SampleGroup>,
}

fn main() -> ExitCode {
    common::experiment("throttle", |args: &Args| &args.flags, show)
}

fn show(lab: &mut Lab<'_>, info: &DeviceInfo, args: &Args) -> Result<()> {
    let stored = args.flags.stored("throttle", "-read.json")?;
    let measured = stored.is_none();
    let read = stored.map_or_else(|| read(info, args), Ok)?;
    print!("{}", summary::text(&read, info));
    lab.write(".svg", &drawing::of(&read, &info.name).drawing().svg())?;
    if measured {
        lab.write("-read.json", &(serde_json::to_string(&read)? + "\n"))?;
    }
    Ok(())
}

fn read(info: &DeviceInfo, args: &Args) -> Result<Experiment> {
    let ordinal = info.device.rsplit(':').next().unwrap_or_default().parse()?;
    let (burst, sustained) = measure(&mut Cuda::open(ordinal)?, args.size, args.seconds)?;
    Ok(Experiment { schema: "gpubench-throttle/1".to_owned(), size: args.size, burst, sustained })
}
