//! Two implementations of one operation, in a group.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use gpubench::{gpu_bench, group};

gpubench::main!();

group!(MATMUL = "matmul", cold);

/// From global memory.
#[gpu_bench(
    group = MATMUL, args(n = [256, 1024]), setup = Product::new("matmul_naive", n, stream),
    reads = 8 * n * n, writes = 4 * n * n, flops = 2 * n * n * n, check = |product, _n| product.verify(),
)]
fn naive(product: &mut Product, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    product.launch(stream)
}

/// Through shared memory.
#[gpu_bench(
    group = MATMUL, args(n = [256, 1024]), setup = Product::new("matmul_shared", n, stream),
    reads = 8 * n * n, writes = 4 * n * n, flops = 2 * n * n * n, check = |product, _n| product.verify(),
)]
fn shared(product: &mut Product, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    product.launch(stream)
}

/// c ← a · b, of n × n elements.
struct Product {
    kernel: CudaFunction,
    n: usize,
    matrices: [CudaSlice<f32>; 3],
}

impl Product {
    fn new(kernel: &str, n: usize, stream: &Arc<CudaStream>) -> Result<Self, DriverError> {
        let module = stream.context().load_module(include_str!("../kernels/matmul.ptx").into())?;
        let [a, b, c] = [1.0, 2.0, 0.0].map(|element| stream.clone_htod(&vec![element; n * n]));
        Ok(Self { kernel: module.load_function(kernel)?, n, matrices: [a?, b?, c?] })
    }

    fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
        let (blocks, [a, b, c]) = (self.n.div_ceil(32) as u32, &mut self.matrices);
        let config =
            LaunchConfig { grid_dim: (blocks, blocks, 1), block_dim: (32, 32, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(&self.kernel);
        // SAFETY: both kernels take these parameters, and touch n² elements of each matrix.
        unsafe { launch.arg(a).arg(b).arg(c).arg(&self.n).launch(config) }.map(|_| ())
    }

    fn verify(&self) {
        let c = self.matrices[2].stream().clone_dtoh(&self.matrices[2]).unwrap();
        assert!(c.iter().all(|c| *c == 2.0 * self.n as f32));
    }
}
