//! Three timers for one kernel (rows B1, B2 and B3). In: a matrix size; out: the readings of the host's clock around a
//! launch, and around a launch and a wait, and those of a pair of events.

use std::time::{Duration, Instant};

use cust::error::CudaResult;
use gpubench_kernels::cuda::matmul::naive;
use serde::{Deserialize, Serialize};

use super::events::Pair;
use super::{product_inputs, since, stream};
use crate::common::Result;

/// The number of readings without a wait.
const LAUNCHED: usize = 9;
/// The most readings of each other timer, and the time after which it takes no more.
const MOST: usize = 20;
const LONGEST: Duration = Duration::from_millis(500);
/// The fewest readings of each.
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

/// Reads them, after one launch that is not timed.
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

/// Calls `once` again and again and returns its readings.
fn again(mut once: impl FnMut() -> CudaResult<f64>) -> CudaResult<Vec<f64>> {
    let begin = Instant::now();
    let mut read = Vec::new();
    while read.len() < MOST && (read.len() < FEWEST || begin.elapsed() < LONGEST) {
        read.push(once()?);
    }
    Ok(read)
}
