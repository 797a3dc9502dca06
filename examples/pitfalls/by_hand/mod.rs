//! Times kernels without gpubench, in the wrong ways. Each [`HandTiming`] has a new process, because earlier work in a process
//! changes the readings.

mod events;
mod first_launch;
mod launches;
mod load;
mod sensors;
mod streams;
mod timers;

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use cust::CudaFlags;
use cust::context::Context;
use cust::device::Device;
use cust::error::CudaResult;
use cust::stream::{Stream, StreamFlags};
use gpubench_kernels::cuda::matmul::{F32Inputs, f32_inputs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::common::Result;

pub(crate) use self::first_launch::Before;
pub(crate) use self::launches::{LaunchTimes, Short};
pub(crate) use self::load::Loaded;
pub(crate) use self::streams::Streams;
pub(crate) use self::timers::Timers;

/// A measurement by hand.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HandTiming {
    /// Repeated launches of a product, timed by three timers: [`Timers`].
    Timers { n: usize },
    /// The first use of a module from PTX, or from a file of machine code: [`Loaded`].
    Load { n: usize, machine_code: Option<PathBuf> },
    /// Links PTX to machine code with the driver, and writes it to a file: returns nothing.
    Link { to: PathBuf },
    /// One launch of a product after some work, in nanoseconds: `f64`.
    FirstLaunch { n: usize, before: Before },
    /// Back-to-back launches, separately and in a graph: a [`LaunchTimes`] for each of `counts`.
    Launches { short: Short, counts: Vec<usize> },
    /// Two kernels at once: [`Streams`].
    Streams { n: usize },
    /// A reading of the sensors: [`Reading`](gpubench::device::Reading), or nothing without sensors.
    Sensors,
}

/// The flag that makes a process take one [`HandTiming`]. The GPU's number follows it.
pub(crate) const FLAG: &str = "--point";

impl HandTiming {
    /// Starts a process that takes these readings on GPU `ordinal`, with the variables in its environment, and returns them.
    ///
    /// # Errors
    /// The process failed, and printed the reason on standard error.
    pub(crate) fn ask<T: DeserializeOwned>(
        &self,
        ordinal: &str,
        environment: &[(&str, &OsStr)],
    ) -> Result<T> {
        let asked = serde_json::to_string(self)?;
        let output = Command::new(env::current_exe()?)
            .args([FLAG, ordinal, &asked])
            .envs(environment.iter().copied())
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("the process for {asked} ended with {}", output.status).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Takes the readings in the process that [`ask`](Self::ask) started, and prints them.
    ///
    /// # Errors
    /// The driver's error.
    pub(crate) fn answer(ordinal: &str, asked: &str) -> Result<()> {
        let point: Self = serde_json::from_str(asked)?;
        let ordinal = ordinal.parse()?;
        cust::init(CudaFlags::empty())?;
        let _context = Context::new(Device::get_device(ordinal)?)?;
        let read = match point {
            Self::Timers { n } => serde_json::to_string(&timers::read(n)?),
            Self::Load { n, machine_code } => serde_json::to_string(&load::read(n, machine_code.as_deref())?),
            Self::Link { to } => serde_json::to_string(&load::link(&to)?),
            Self::FirstLaunch { n, before } => serde_json::to_string(&first_launch::read(n, before)?),
            Self::Launches { short, counts } => serde_json::to_string(&launches::read(short, &counts)?),
            Self::Streams { n } => serde_json::to_string(&streams::read(n)?),
            Self::Sensors => serde_json::to_string(&sensors::read(ordinal as usize)?),
        };
        println!("{}", read?);
        Ok(())
    }
}

/// Creates a stream that does not synchronize with the default stream.
fn stream() -> CudaResult<Stream> {
    Stream::new(StreamFlags::NON_BLOCKING, None)
}

/// The time since `begin` by the host's clock, in nanoseconds.
fn since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}

/// Returns the kernels of matrix products, and random n × n matrices.
fn product_inputs(n: usize, stream: &Stream) -> Result<F32Inputs> {
    Ok(f32_inputs(n, stream).map_err(|error| error.to_string())?)
}
