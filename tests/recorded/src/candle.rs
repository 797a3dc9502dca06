//! Operators of candle, on a device whose stream gpubench measures.

use candle_core::cuda_backend::CudaDevice;
use candle_core::{Device, Tensor};
use gpubench::cuda::Gpu;
use gpubench::{CaseError, LaunchStream, gpu_bench};

/// A device of candle's with a stream of its own.
pub struct Candle(pub Device);

impl LaunchStream for Candle {
    type Source = Gpu;
    type Owned = Self;

    fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
        let device = CudaDevice::new_with_stream(gpu.ordinal()).map_err(CaseError::new)?;
        // SAFETY: a case uses one stream. Events between streams cannot be captured.
        unsafe { device.disable_event_tracking() };
        // SAFETY: the stream belongs to the primary context, and the device keeps it.
        unsafe { gpu.launch_on(device.cuda_stream().cu_stream().cast()) };
        Ok(Self(Device::Cuda(device)))
    }
}

/// Softmax of each row.
///
/// # Errors
/// Returns candle's error.
#[gpu_bench(
    args(n = [1 << 12, 1 << 16]),
    setup = |n| Tensor::randn(0_f32, 1.0, (n, 1024), &stream.0),
    reads = 4 * n * 1024,
    writes = 4 * n * 1024,
    cold,
    check = |out, _x, _n| {
        let sums = out.sum(1)?.to_vec1::<f32>()?;
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-3));
        Ok(())
    },
)]
pub fn softmax(x: &Tensor, _candle: &Candle) -> candle_core::Result<Tensor> {
    candle_nn::ops::softmax_last_dim(x)
}

/// c ← a·b
///
/// # Errors
/// Returns candle's error.
#[gpu_bench(
    args(n = [512, 2048, 4096]),
    setup = |n| {
        let device = &stream.0;
        Ok((Tensor::randn(0_f32, 1.0, (n, n), device)?, Tensor::eye(n, candle_core::DType::F32, device)?))
    },
    flops = 2 * n * n * n,
    cold,
    check = |out, a, _b, _n| {
        let differs = out.sub(a)?.abs()?.max_all()?.to_scalar::<f32>()?;
        assert!(differs < 1e-2, "an element differs by {differs}");
        Ok(())
    },
)]
pub fn matmul(a: &Tensor, b: &Tensor, _candle: &Candle) -> candle_core::Result<Tensor> {
    a.matmul(b)
}
