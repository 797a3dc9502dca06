//! A kernel of cubecl.

use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;
use gpubench::cuda::{RawStream, Recorded};
use gpubench::{CaseError, gpu_bench};

use crate::Error;
use crate::direct::Direct;

/// The kernel.
#[cube(launch)]
fn saxpy(a: f32, x: &[f32], y: &[f32], output: &mut [f32]) {
    if ABSOLUTE_POS < output.len() {
        output[ABSOLUTE_POS] = a * x[ABSOLUTE_POS] + y[ABSOLUTE_POS];
    }
}

const A: f32 = 2.0;

/// A captured launch, and its buffers.
pub struct Captured {
    graph: cubecl::client::Graph,
    client: Client,
    inputs: [Handle; 2],
    output: Handle,
}

impl Captured {
    /// Captures a launch on `n` elements.
    ///
    /// # Errors
    /// Returns cubecl's error.
    pub fn new(n: usize, ordinal: usize) -> Result<Self, Error> {
        let client = cubecl::Device::cuda(ordinal)?.client();
        let input = |element: fn(usize) -> f32| {
            client.create_from_slice(f32::as_bytes(&(0..n).map(element).collect::<Vec<_>>()))
        };
        let inputs = [input(x), input(y)];
        let output = client.empty(size_of::<f32>() * n);
        let launch = || {
            let count = CubeCount::Static(n.div_ceil(256) as u32, 1, 1);
            let [x, y, output] = [&inputs[0], &inputs[1], &output]
                // SAFETY: the buffers have n elements.
                .map(|buffer| unsafe { BufferArg::from_raw_parts(buffer.clone(), n) });
            saxpy::launch(&client, count, CubeDim::new_1d(256), A, x, y, output);
        };
        client.graph_prepare()?;
        launch();
        client.read_one(output.clone())?;
        client.start_capture()?;
        launch();
        let graph = client.stop_capture()?;
        Ok(Self { graph, client, inputs, output })
    }

    /// Launches the graph as cubecl does.
    ///
    /// # Errors
    /// Returns cubecl's error.
    pub fn replay(&self) -> Result<(), Error> {
        // SAFETY: the buffers are alive, and nothing else uses them.
        Ok(unsafe { self.graph.replay() }?)
    }

    /// Waits for cubecl's stream.
    ///
    /// # Errors
    /// Returns cubecl's error.
    pub fn wait(&self) -> Result<(), Error> {
        self.client.read_one(self.inputs[0].clone())?;
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        let output = self.client.read_one(self.output.clone())?;
        let wrong = f32::from_bytes(&output)
            .iter()
            .enumerate()
            .find(|(index, found)| **found != A * x(*index) + y(*index));
        wrong.map_or(Ok(()), |(index, found)| Err(format!("element {index} is {found}").into()))
    }
}

fn x(index: usize) -> f32 {
    (index % 1021) as f32
}

fn y(index: usize) -> f32 {
    (index % 509) as f32
}

fn record(n: usize, stream: &RawStream) -> Result<Recorded<Captured>, CaseError> {
    // SAFETY: the result has the graph and its buffers. cubecl never unloads a kernel.
    unsafe { Recorded::capture(|| Captured::new(n, stream.ordinal())) }
}

/// output ← a·x + y
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [1 << 14, 1 << 20, 1 << 22, 1 << 26]),
    setup = record(n, stream),
    reads = 8 * n,
    writes = 4 * n,
    flops = 2 * n,
    cold,
    check = |launch, _n| launch.kept().check(),
)]
pub fn recorded(launch: &Recorded<Captured>, stream: &RawStream) -> Result<(), CaseError> {
    launch.launch(stream)
}

/// The same kernel, launched directly.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [1 << 14, 1 << 20, 1 << 22, 1 << 26]),
    setup = |n| Direct::new(record(n, stream)?, stream),
    reads = 8 * n,
    writes = 4 * n,
    flops = 2 * n,
    cold,
    check = |launch, _n| launch.kept().check(),
)]
pub fn direct(launch: &Direct<Captured>, stream: &RawStream) -> Result<(), Error> {
    launch.launch(stream)
}
