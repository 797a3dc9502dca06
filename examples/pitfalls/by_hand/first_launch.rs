//! One launch in a fresh process, after nothing or after something (row B5). In: a matrix size and what goes before; out: what
//! a pair of events read around the launch.

use cust::stream::{Stream, StreamFlags};
use gpubench_kernels::cuda::matmul::{f32_inputs, naive};
use gpubench_kernels::cuda::{Elementwise, empty};
use serde::{Deserialize, Serialize};

use super::events::Pair;
use crate::common::Result;

/// What runs before the launch that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Before {
    /// Nothing but what makes the inputs.
    Nothing,
    /// One launch of the same kernel.
    Same,
    /// One launch of a kernel that does nothing.
    Empty,
}

/// Reads the launch, in nanoseconds.
pub(crate) fn read(n: usize, before: Before) -> Result<f64> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let (kernels, a, b, mut c) = f32_inputs(n, &stream).map_err(|error| error.to_string())?;
    let others = Elementwise::load()?;
    let pair = Pair::new()?;
    match before {
        Before::Nothing => {}
        Before::Same => naive(&kernels, &a, &b, &mut c, &stream)?,
        Before::Empty => empty(&others, &stream)?,
    }
    stream.synchronize()?;
    pair.around(&stream, || naive(&kernels, &a, &b, &mut c, &stream))?;
    Ok(pair.read()?)
}
