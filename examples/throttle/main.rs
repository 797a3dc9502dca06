//! Time against run number while a GPU gets hot: tensor cores kept busy for a minute, with the clock, the power and the
//! temperature beside. In: for how long; out: what a launch takes in a burst and what it takes when that goes on, and a drawing
//! of each against the number of the launch.
//!
//! ```sh
//! cargo run --example throttle -- --out target/throttle
//! ```
//!
//! The engine samples, with events around each launch, and what the device's sensors say is read beside it. Nothing of the
//! GPU is changed: what holds its clock down is what would hold it down in use.

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
#[command(
    about = "Measures what a launch takes in a burst, and what it takes when that goes on for a minute."
)]
struct Args {
    /// For how long to go on
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

/// Everything that was read.
#[derive(Debug, Serialize, Deserialize)]
struct Experiment {
    schema: String,
    size: usize,
    /// Launches with rests between them.
    burst: Vec<SampleGroup>,
    /// Launches without.
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
