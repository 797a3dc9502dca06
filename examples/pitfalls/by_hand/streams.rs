//! B11: events around two kernels on two streams, each alone and at the same time, and the host's clock around both. The kernels are
//! small enough to overlap.

use std::time::Instant;

use cust::context::CurrentContext;
use cust::memory::DeviceBuffer;
use gpubench_kernels::cuda::nbody::{Bodies, gravity};
use gpubench_kernels::inputs::random;
use serde::{Deserialize, Serialize};

use super::events::{Pair, nanoseconds};
use super::{since, stream};
use crate::common::Result;

/// The number of readings.
const TIMES: usize = 11;

/// The readings of two launches in nanoseconds, in the order in which they were read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Streams {
    /// Events around each launch alone.
    pub(crate) alone: [Vec<f64>; 2],
    /// Events around each launch, on its own stream, while both run.
    pub(crate) together: [Vec<f64>; 2],
    /// From the first event to the last.
    pub(crate) span: Vec<f64>,
    /// The host's clock around both launches and a wait for the device.
    pub(crate) host: Vec<f64>,
}

/// Times both kernels: gravity between n bodies, and between n / 2 bodies.
pub(crate) fn read(n: usize) -> Result<Streams> {
    let kernels = Bodies::load()?;
    let streams = [stream()?, stream()?];
    let bodies = [n, n / 2].map(|n| random::<f32>(5, 4 * n));
    let [one, two] = bodies;
    let bodies = [DeviceBuffer::from_slice(&one?)?, DeviceBuffer::from_slice(&two?)?];
    let mut accelerations =
        [DeviceBuffer::from_slice(&vec![0.0; 4 * n])?, DeviceBuffer::from_slice(&vec![0.0; 4 * (n / 2)])?];
    let pairs = [Pair::new()?, Pair::new()?];
    let mut launch = |which: usize| {
        let stream = &streams[which];
        pairs[which].around(stream, || gravity(&kernels, &bodies[which], &mut accelerations[which], stream))
    };
    let mut read = Streams::default();
    for time in 0..=TIMES {
        let mut now = Streams::default();
        for which in [0, 1] {
            launch(which)?;
            now.alone[which].push(pairs[which].read()?);
        }
        let begin = Instant::now();
        launch(0)?;
        launch(1)?;
        CurrentContext::synchronize()?;
        now.host.push(since(begin));
        for which in [0, 1] {
            now.together[which].push(pairs[which].read()?);
        }
        // The last event may be on either stream.
        let ends =
            [nanoseconds(&pairs[0].start, &pairs[0].stop)?, nanoseconds(&pairs[0].start, &pairs[1].stop)?];
        now.span.push(ends[0].max(ends[1]));
        // The first pass is a warm-up.
        if time > 0 {
            read.add(now);
        }
    }
    Ok(read)
}

impl Streams {
    fn add(&mut self, now: Self) {
        for (all, one) in
            self.alone.iter_mut().zip(now.alone).chain(self.together.iter_mut().zip(now.together))
        {
            all.extend(one);
        }
        self.span.extend(now.span);
        self.host.extend(now.host);
    }
}
