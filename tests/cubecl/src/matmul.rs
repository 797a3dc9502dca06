//! A product of matrices by burn.

use burn_tensor::{DType, Device, Distribution, Graph, Tensor, capture};
use gpubench::cuda::{RawStream, Recorded};
use gpubench::{CaseError, gpu_bench};

use crate::Error;
use crate::direct::Direct;

/// Computes the product.
type Product = Box<dyn FnMut() -> Tensor<2> + Send>;

/// A captured launch, and its inputs.
pub struct Captured {
    graph: Graph<Tensor<2>, Product>,
    a: Tensor<2>,
    device: Device,
}

impl Captured {
    /// Captures a product of two matrices of n × n elements, the second of which is the identity.
    ///
    /// # Errors
    /// Fails if burn captured no graph.
    pub fn new(n: usize, data_type: &str, ordinal: usize) -> Result<Self, Error> {
        let device = Device::cuda(ordinal);
        let data_type = if data_type == "f16" { DType::F16 } else { DType::F32 };
        let a = Tensor::<2>::random([n, n], Distribution::Uniform(-1.0, 1.0), (&device, data_type));
        let b = Tensor::<2>::eye(n, &device).cast(data_type);
        let product: Product = Box::new({
            let a = a.clone();
            move || a.clone().matmul(b.clone())
        });
        let graph = capture(&device, product);
        if !graph.is_hardware() {
            return Err("burn captured no graph".into());
        }
        Ok(Self { graph, a, device })
    }

    /// Launches the graph as burn does.
    ///
    /// # Errors
    /// None.
    pub fn replay(&mut self) -> Result<(), Error> {
        // SAFETY: the graph keeps its inputs and its output, and nothing else uses them.
        unsafe { self.graph.replay() };
        Ok(())
    }

    /// Waits for burn's stream.
    ///
    /// # Errors
    /// Returns burn's error.
    pub fn wait(&self) -> Result<(), Error> {
        Ok(self.device.sync()?)
    }

    fn check(&self) -> Result<(), Error> {
        let differs = (self.graph.output().clone() - self.a.clone()).abs().max().into_scalar::<f32>();
        if differs < 1e-2 { Ok(()) } else { Err(format!("an element differs by {differs}").into()) }
    }
}

fn record(n: usize, data_type: &str, stream: &RawStream) -> Result<Recorded<Captured>, CaseError> {
    // SAFETY: the result has the graph and its buffers. cubecl never unloads a kernel.
    unsafe { Recorded::capture(|| Captured::new(n, data_type, stream.ordinal())) }
}

/// c ← a·b. Without `flops`: the data types have different peaks.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [512, 4096], data_type = ["f32", "f16"]),
    setup = record(n, data_type, stream),
    cold,
    check = |launch, _n, _data_type| launch.kept().check(),
    timeout = 240,
)]
pub fn recorded(launch: &Recorded<Captured>, stream: &RawStream) -> Result<(), CaseError> {
    launch.launch(stream)
}

/// The same kernels, launched directly.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [512, 4096], data_type = ["f32", "f16"]),
    setup = |n, data_type| Direct::new(record(n, data_type, stream)?, stream),
    cold,
    check = |launch, _n, _data_type| launch.kept().check(),
    timeout = 240,
)]
pub fn direct(launch: &Direct<Captured>, stream: &RawStream) -> Result<(), Error> {
    launch.launch(stream)
}
