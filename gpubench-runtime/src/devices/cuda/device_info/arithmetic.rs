//! The arithmetic of a multiprocessor in a clock. In: a compute capability; out: fused multiply-adds a clock, dense,
//! for each known data type. The driver does not report this, so it is a table.
//!
//! Sources: f64, f32, f16 and bf16 from "Throughput of Native Arithmetic Instructions" in the CUDA C++ Programming
//! Guide; tensor data types from NVIDIA's white papers on the architectures (named at each row), as the dense rates
//! that these give for a card, over its multiprocessors and its boost clock. Sparsity doubles the tensor rates and is
//! never counted.

/// The rate of a multiprocessor in one data type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataTypeRate {
    /// The data type, as `data_type = "…"` names it.
    pub(crate) data_type: &'static str,
    /// Fused multiply-adds in a clock; each is two operations.
    pub(crate) fma: u64,
    /// True if cards of this capability differ, or if no source was found to confirm the rate.
    pub(crate) uncertain: bool,
}

const fn known(data_type: &'static str, fma: u64) -> DataTypeRate {
    DataTypeRate { data_type, fma, uncertain: false }
}

const fn about(data_type: &'static str, fma: u64) -> DataTypeRate {
    DataTypeRate { data_type, fma, uncertain: true }
}

/// Returns the rates of a compute capability; none if it is not in the table.
pub(crate) fn rates(capability: (u64, u64)) -> &'static [DataTypeRate] {
    TABLE.iter().find(|(of, _)| *of == capability).map_or(&[], |(_, rates)| rates)
}

/// Returns the names of all data types in the table.
pub(crate) fn data_types() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|(_, rates)| rates.iter().map(|rate| rate.data_type))
}

/// The rates by compute capability.
const TABLE: [((u64, u64), &[DataTypeRate]); 9] = [
    // V100, "NVIDIA Tesla V100 GPU Architecture": 80 × 512 × 2 × 1.53 GHz = 125 TFLOP/s.
    ((7, 0), &[known("f64", 32), known("f32", 64), known("f16", 128), known("f16 tensor", 512)]),
    // "NVIDIA Turing GPU Architecture". GeForce cards do half as much where they accumulate in f32.
    ((7, 5), &[known("f64", 2), known("f32", 64), known("f16", 128), about("f16 tensor", 512)]),
    // "NVIDIA A100 Tensor Core GPU Architecture": 108 × 1024 × 2 × 1.41 GHz = 312 TFLOP/s.
    (
        (8, 0),
        &[
            known("f64", 32),
            known("f32", 64),
            known("f16", 256),
            known("bf16", 128),
            known("f64 tensor", 64),
            known("tf32 tensor", 512),
            known("f16 tensor", 1024),
            known("bf16 tensor", 1024),
        ],
    ),
    // "NVIDIA Ampere GA102 GPU Architecture". GeForce cards do half as much where they accumulate in f32.
    (
        (8, 6),
        &[
            known("f64", 2),
            known("f32", 128),
            known("f16", 128),
            about("bf16", 128),
            about("tf32 tensor", 256),
            about("f16 tensor", 512),
            about("bf16 tensor", 512),
        ],
    ),
    // "NVIDIA Ada GPU Architecture". As above: an RTX 4090 does half of what an L40S does a multiprocessor and clock.
    (
        (8, 9),
        &[
            known("f64", 2),
            known("f32", 128),
            known("f16", 128),
            about("bf16", 128),
            about("tf32 tensor", 256),
            about("f16 tensor", 512),
            about("bf16 tensor", 512),
            about("fp8 tensor", 1024),
        ],
    ),
    // "NVIDIA H100 Tensor Core GPU Architecture": 132 × 2048 × 2 × 1.83 GHz = 989 TFLOP/s. Cards made for export, such
    // as the H20, do less than their multiprocessors would.
    (
        (9, 0),
        &[
            known("f64", 64),
            known("f32", 128),
            known("f16", 256),
            known("bf16", 256),
            known("f64 tensor", 128),
            known("tf32 tensor", 1024),
            known("f16 tensor", 2048),
            known("bf16 tensor", 2048),
            known("fp8 tensor", 4096),
        ],
    ),
    // "NVIDIA Blackwell Architecture Technical Brief": 148 × 4096 × 2 × 1.85 GHz = 2243 TFLOP/s on a B200.
    (
        (10, 0),
        &[
            about("f64", 64),
            known("f32", 128),
            about("f16", 256),
            about("bf16", 256),
            about("f64 tensor", 64),
            about("tf32 tensor", 2048),
            about("f16 tensor", 4096),
            about("bf16 tensor", 4096),
            about("fp8 tensor", 8192),
        ],
    ),
    // B300, which gives up f64. The rates follow from the card's published totals, not from its multiprocessors.
    (
        (10, 3),
        &[
            about("f64", 2),
            known("f32", 128),
            about("f16", 256),
            about("bf16", 256),
            about("tf32 tensor", 2048),
            about("f16 tensor", 4096),
            about("bf16 tensor", 4096),
            about("fp8 tensor", 8192),
        ],
    ),
    // "NVIDIA RTX Blackwell GPU Architecture". GeForce cards do half as much where they accumulate in f32.
    (
        (12, 0),
        &[
            known("f64", 2),
            known("f32", 128),
            known("f16", 128),
            about("bf16", 128),
            about("tf32 tensor", 256),
            about("f16 tensor", 512),
            about("bf16 tensor", 512),
            about("fp8 tensor", 1024),
        ],
    ),
];
