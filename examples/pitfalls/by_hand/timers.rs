//! B1, B2 and B3: the host's clock around a launch, the host's clock around a launch and a wait, and events.

use std::time::{Duration, Instant};

use cust::error::CudaResult;
use gpubench_kernels::cuda::matmul::naive;
use serde::{Deserialize, Serialize};

use super::events::Pair;
use super::{product_inputs, since, stream};
use crate::common::Result;

/// The number of readings without waiting.
const LAUNCHED: usize = 9;
/// The maximum number of readings of the other timers, and the time after which they stop.
const MOST: usize = 20;
const LONGEST: Duration = Duration::from_millis(500);
/// The minimum number of their readings.
const FEWEST: usize = 3;

/// The readings of the timers in nanoseconds, in the order in which they were read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Timers {
    /// The host's clock around a launch without a wait.
    pub(crate) unsynchronised: Vec<f64>,
    /// The host's clock around a launch and a wait for the device.
    pub(crate) synchronised: Vec<f64>,
    /// A pair of events.
    pub(crate) events: Vec<f64>,
}

/// Takes the readings after one untimed launch.
pub(crate) fn read(n: usize) -> Result<Timers> {
    let stream = stream()?;
    let (kernels, a, b, mut c) = product_inputs(n, &stream)?;
    let mut launch = || naive(&kernels, &a, &b, &mut c, &stream);
    launch()?;
    stream.synchronize()?;
    let mut unsynchronised = Vec::new();
    for _ in 0..LAUNCHED {
        let begin = Instant::now();
        launch()?;
        unsynchronised.push(since(begin));
    }
    stream.synchronize()?;
    let synchronised = again(|| {
        let begin = Instant::now();
        launch()?;
        stream.synchronize()?;
        Ok(since(begin))
    })?;
    let pair = Pair::new()?;
    let events = again(|| {
        pair.around(&stream, &mut launch)?;
        pair.read()
    })?;
    Ok(Timers { unsynchronised, synchronised, events })
}

/// Calls `once` repeatedly and returns its readings.
fn again(mut once: impl FnMut() -> CudaResult<f64>) -> CudaResult<Vec<f64>> {
    let begin = Instant::now();
    let mut read = Vec::new();
    while read.len() < MOST && (read.len() < FEWEST || begin.elapsed() < LONGEST) {
        read.push(once()?);
    }
    Ok(read)
}
