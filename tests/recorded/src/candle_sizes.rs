//! Operators of candle at the sizes of its own benchmarks, whose names the arguments are.

use candle_core::{DType, Tensor};
use gpubench::gpu_bench;

use crate::candle::Candle;

/// Rows and columns of candle-nn's benchmark of softmax.
const SIDE: usize = 1024;

/// Shapes of candle-core's benchmark of products.
fn shapes(name: &str) -> (&'static [usize], &'static [usize]) {
    match name {
        "gemv" => (&[1, 1, 2048], &[1, 2048, 2048]),
        "attn_4d_small" => (&[484, 6, 144, 32], &[484, 6, 32, 144]),
        "attn_4d_large" => (&[121, 24, 144, 32], &[121, 24, 32, 144]),
        "square_512" => (&[512, 512], &[512, 512]),
        "square_1024" => (&[1024, 1024], &[1024, 1024]),
        "batch_1000" => (&[1000, 144, 32], &[1000, 32, 144]),
        _ => (&[17424, 768], &[768, 3072]),
    }
}

fn data_type(name: &str) -> DType {
    if name == "f16" { DType::F16 } else { DType::F32 }
}

/// Softmax of each row.
///
/// # Errors
/// Returns candle's error.
#[gpu_bench(
    args(data_type = ["f32", "f16"]),
    setup = |data_type| {
        let x = Tensor::rand(-1000_f32, 1000.0, (1, SIDE, SIDE), &stream.0)?;
        Ok(x.to_dtype(self::data_type(data_type))?)
    },
    reads = SIDE * SIDE * x.dtype().size_in_bytes(),
    writes = SIDE * SIDE * x.dtype().size_in_bytes(),
    cold,
    check = |out, _x, _data_type| {
        let sums = out.to_dtype(DType::F32)?.sum(2)?.flatten_all()?.to_vec1::<f32>()?;
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-2));
        Ok(())
    },
)]
pub fn softmax(x: &Tensor, _candle: &Candle) -> candle_core::Result<Tensor> {
    candle_nn::ops::softmax_last_dim(x)
}

/// c ← a·b, of zeros as in candle's benchmark, or of ones, whose product says more to a check.
///
/// # Errors
/// Returns candle's error.
#[gpu_bench(
    args(
        shape = ["gemv", "attn_4d_small", "attn_4d_large", "square_512", "square_1024", "batch_1000", "linear_large"],
        data_type = ["f32", "f16"],
        value = ["zeros", "ones"],
    ),
    setup = |shape, data_type, value| {
        let (a, b) = shapes(shape);
        let make = if value == "zeros" { Tensor::zeros } else { Tensor::ones };
        let [a, b] = [a, b].map(|shape| make(shape, self::data_type(data_type), &stream.0));
        Ok((a?, b?))
    },
    cold,
    check = |out, a, _b, _shape, _data_type, value| {
        let expected = if value == "zeros" { 0.0 } else { a.dim(a.rank() - 1)? as f32 };
        let differs = out.to_dtype(DType::F32)?.affine(1.0, -f64::from(expected))?.abs()?.max_all()?.to_scalar::<f32>()?;
        assert!(differs < 1e-2, "an element differs by {differs}");
        Ok(())
    },
)]
pub fn matmul(a: &Tensor, b: &Tensor, _candle: &Candle) -> candle_core::Result<Tensor> {
    a.broadcast_matmul(b)
}
