//! NVIDIA's stated peaks of a few cards. In: the driver's name for a card; out: its stated peaks. Users compare with
//! them, and they count if the attributes of a card are not enough: a GeForce and a data-centre card of the same chip
//! look the same to the driver. Tensor rates are dense: half of the figure stated "with sparsity".

use gpubench_records::device_info::Quantity;

/// The stated peaks of a card.
pub(crate) struct Datasheet {
    /// The names of the cards that the figures apply to, as the driver reports them.
    names: &'static [&'static str],
    /// The source of the figures.
    pub(crate) source: &'static str,
    /// Memory bandwidth in GB/s.
    memory: f64,
    /// Throughput in TFLOP/s, by data type.
    compute: &'static [(&'static str, f64)],
}

impl Datasheet {
    /// Returns every stated peak, in bytes or operations a second.
    pub(crate) fn peaks(&self) -> impl Iterator<Item = (Quantity, f64)> + '_ {
        let compute = self
            .compute
            .iter()
            .map(|(data_type, tera)| (Quantity::Compute((*data_type).to_owned()), tera * 1e12));
        std::iter::once((Quantity::MemoryBandwidth, self.memory * 1e9)).chain(compute)
    }
}

/// Returns the datasheet of the card of this name. The whole name must match: a part of a card is named after it.
pub(crate) fn of(name: &str) -> Option<&'static Datasheet> {
    DATASHEETS.iter().find(|datasheet| datasheet.names.contains(&name))
}

const HOPPER: &[(&str, f64)] = &[
    ("f64", 34.0),
    ("f64 tensor", 67.0),
    ("f32", 67.0),
    ("tf32 tensor", 494.7),
    ("f16 tensor", 989.4),
    ("bf16 tensor", 989.4),
    ("fp8 tensor", 1978.9),
];
const A100: &[(&str, f64)] = &[
    ("f64", 9.7),
    ("f64 tensor", 19.5),
    ("f32", 19.5),
    ("tf32 tensor", 156.0),
    ("f16 tensor", 312.0),
    ("bf16 tensor", 312.0),
];

const DATASHEETS: [Datasheet; 9] = [
    Datasheet { names: &["NVIDIA H200"], source: "H200", memory: 4800.0, compute: HOPPER },
    Datasheet { names: &["NVIDIA H100 80GB HBM3"], source: "H100 SXM", memory: 3350.0, compute: HOPPER },
    Datasheet {
        names: &["NVIDIA H100 PCIe"],
        source: "H100 PCIe",
        memory: 2000.0,
        compute: &[
            ("f64", 26.0),
            ("f64 tensor", 51.0),
            ("f32", 51.0),
            ("tf32 tensor", 378.0),
            ("f16 tensor", 756.5),
            ("bf16 tensor", 756.5),
            ("fp8 tensor", 1513.0),
        ],
    },
    Datasheet {
        names: &["NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB"],
        source: "A100 40GB",
        memory: 1555.0,
        compute: A100,
    },
    Datasheet { names: &["NVIDIA A100-SXM4-80GB"], source: "A100 80GB SXM", memory: 2039.0, compute: A100 },
    Datasheet { names: &["NVIDIA A100 80GB PCIe"], source: "A100 80GB PCIe", memory: 1935.0, compute: A100 },
    Datasheet {
        names: &["NVIDIA L4"],
        source: "L4",
        memory: 300.0,
        compute: &[
            ("f32", 30.3),
            ("tf32 tensor", 60.0),
            ("f16 tensor", 121.0),
            ("bf16 tensor", 121.0),
            ("fp8 tensor", 242.5),
        ],
    },
    Datasheet {
        names: &["NVIDIA L40S"],
        source: "L40S",
        memory: 864.0,
        compute: &[
            ("f32", 91.6),
            ("tf32 tensor", 183.0),
            ("f16 tensor", 362.05),
            ("bf16 tensor", 362.05),
            ("fp8 tensor", 733.0),
        ],
    },
    // From the white paper on Ada. The rates of f16 and fp8 are for accumulation in f16; in f32 they are half.
    Datasheet {
        names: &["NVIDIA GeForce RTX 4090"],
        source: "Ada white paper, RTX 4090",
        memory: 1008.0,
        compute: &[
            ("f32", 82.6),
            ("tf32 tensor", 82.6),
            ("f16 tensor", 330.3),
            ("bf16 tensor", 165.2),
            ("fp8 tensor", 660.6),
        ],
    },
];
