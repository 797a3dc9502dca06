//! The same work by a kernel of cutile, which takes a tile of 1024 elements at a time.

use cuda_core::DeviceBuffer;
use cutile::prelude::*;
use gpubench::gpu_bench;

use crate::Stream;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    pub fn saxpy<const B: i32>(y: &mut Tensor<f32, { [B] }>, a: f32, x: &Tensor<f32, { [-1] }>) {
        let a = a.broadcast(y.shape());
        let sum = a * x.load_like(y) + y.load();
        y.store(sum);
    }
}

fn inputs(n: usize, stream: &cuda_core::Stream) -> Result<(f32, Tensor<f32>, Tensor<f32>), Error> {
    let (_, a, x, y) = crate::inputs(n, stream)?;
    let tensor = |buffer: DeviceBuffer<f32>| Tensor::from_buffer(buffer, vec![n as i32]);
    Ok((a, tensor(x), tensor(y)))
}

/// y ← a·x + y
///
/// # Errors
/// Returns cutile's error, which may be one of its compiler.
#[gpu_bench(
    args(n = [1 << 14, 1 << 18, 1 << 22, 10 << 20, 1 << 26]),
    setup = inputs(n, stream),
    reads = 8 * n,
    writes = 4 * n,
    flops = 2 * n,
    cold,
    accumulates,
    check = |a, _x, y, _n| {
        let stream = y.as_buffer()?.context().new_stream()?;
        crate::check(a, &y.dup().to_host_vec().sync_on(&stream)?)
    },
)]
pub fn saxpy(a: f32, x: &Tensor<f32>, y: &mut Tensor<f32>, stream: &Stream) -> Result<(), Error> {
    // SAFETY: the case keeps the tensors, and uses them elsewhere only when the stream is done.
    unsafe { kernels::saxpy(y.partition([1024]), a, x).async_on(stream) }?;
    Ok(())
}
