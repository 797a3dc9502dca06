//! B5: events around one launch in a new process, after some work.

use gpubench_kernels::cuda::matmul::naive;
use gpubench_kernels::cuda::{Elementwise, empty};
use serde::{Deserialize, Serialize};

use super::events::Pair;
use super::{product_inputs, stream};
use crate::common::Result;

/// The work before the timed launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Before {
    /// Only the kernels that fill the inputs.
    Nothing,
    /// One launch of the same kernel.
    Same,
    /// One launch of a kernel that does nothing.
    Empty,
}

/// Times the launch, in nanoseconds.
pub(crate) fn read(n: usize, before: Before) -> Result<f64> {
    let stream = stream()?;
    let (kernels, a, b, mut c) = product_inputs(n, &stream)?;
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
