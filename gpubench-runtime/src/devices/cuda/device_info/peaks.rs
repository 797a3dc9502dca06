//! The peaks of a GPU, from its name and the attributes that the driver reports. Of several peaks of a quantity, the one
//! that results are compared with comes first.
//!
//! Bandwidth is 2 × memory clock × bus width / 8: the clock is that of the commands, and data move on both of its
//! edges. Throughput is multiprocessors × multiply-adds per clock × 2 × clock. The driver does not report
//! multiply-adds per clock, so they are in a table here, and so are the peaks that NVIDIA states for a few cards.

use gpubench_records::{Peak, PeakSource, Quantity};
use gpubench_stats::Rate;

/// The attributes of the driver from which peaks are computed. An attribute that the driver hides is 0.
pub(crate) struct Attributes {
    /// The compute capability, such as (9, 0).
    pub capability: (u64, u64),
    /// The number of multiprocessors.
    pub multiprocessors: u64,
    /// The clock of the multiprocessors, in hertz.
    pub clock: u64,
    /// The clock of the memory, in hertz.
    pub memory_clock: u64,
    /// The width of the memory bus, in bits.
    pub bus_width: u64,
}

/// The text that the name of a MIG instance contains.
const MIG_NAME_PART: &str = " MIG ";

/// Returns the peaks of the GPU `name`, sorted by [`Peak::precedence`]: those computed from `attributes`, and
/// those of the data sheet if this exact name is in [`DATASHEETS`]. If the driver hides an attribute, as for
/// a virtual GPU, the peaks that are computed from it are left out, and so are the data sheet's peaks of the
/// same quantity. A MIG instance reports the bus of the whole card: its memory peak is left out, and its
/// compute peaks are uncertain.
pub(crate) fn peaks(name: &str, attributes: &Attributes) -> Vec<Peak> {
    let part = name.contains(MIG_NAME_PART);
    let bandwidth = if part { 0 } else { 2 * attributes.memory_clock * attributes.bus_width / 8 };
    let clocks = attributes.multiprocessors * attributes.clock;
    let mut peaks = Vec::new();
    let mut add = |quantity, value, source, method, uncertain| {
        let peak = Peak::new(quantity, Rate(value), source, method);
        peaks.push(if uncertain { peak.uncertain() } else { peak });
    };
    let (_, rates) = MULTIPLY_ADDS_PER_CLOCK
        .iter()
        .find(|(of, _)| *of == attributes.capability)
        .unwrap_or(&((0, 0), [0; DATA_TYPE_COUNT]));
    let stated = DATASHEETS.iter().find(|(card, ..)| *card == name);
    if bandwidth > 0 {
        let method = "2 × memory clock × bus width / 8".to_owned();
        add(Quantity::MemoryBandwidth, bandwidth as f64, PeakSource::Attribute, method, false);
        if let Some((_, source, gigabytes, _)) = stated {
            let value = gigabytes * 1e9;
            add(Quantity::MemoryBandwidth, value, PeakSource::Datasheet, (*source).to_owned(), false);
        }
    }
    if clocks > 0 {
        let compute = |data_type: &str| Quantity::Compute(data_type.to_owned());
        for (data_type, rate) in DATA_TYPES.iter().zip(rates).filter(|(_, rate)| **rate != 0) {
            let fma = rate.unsigned_abs();
            let what = if data_type.starts_with("int") { "multiply-adds" } else { "FMA" };
            let method = format!("multiprocessors × {fma} {what} × 2 × clock");
            let value = (2 * fma * clocks) as f64;
            add(compute(data_type), value, PeakSource::Attribute, method, *rate < 0 || part);
        }
        if let Some((_, source, _, rates)) = stated {
            for (data_type, teraflops) in DATA_TYPES.iter().zip(rates).filter(|(_, rate)| **rate > 0.0) {
                let value = teraflops * 1e12;
                add(compute(data_type), value, PeakSource::Datasheet, (*source).to_owned(), false);
            }
        }
    }
    peaks.sort_by_key(Peak::precedence);
    peaks
}

/// The data types of the columns of [`MULTIPLY_ADDS_PER_CLOCK`] and [`DATASHEETS`], as `data_type = "…"`
/// names them.
#[rustfmt::skip]
pub(crate) const DATA_TYPES: [&str; DATA_TYPE_COUNT] = [
    "f64", "f32", "f16", "bf16", "f64 tensor", "tf32 tensor", "f16 tensor", "bf16 tensor", "fp8 tensor", "fp6 tensor", "fp4 tensor",
    "int8 tensor", "int32",
];
/// The number of [`DATA_TYPES`].
const DATA_TYPE_COUNT: usize = 13;

/// Dense multiply-adds of a multiprocessor per clock, by compute capability and data type; each is two
/// operations. 0 means that the rate is unknown, or that the multiprocessor does not compute with this data
/// type. A negative rate is uncertain: cards of this capability differ, or no source was found to confirm it.
///
/// Sources: f64, f32, f16, bf16 and int32 from "Throughput of Native Arithmetic Instructions" in the CUDA C++
/// Best Practices Guide (before CUDA 13: Programming Guide). The rates of tensor data types are computed from
/// the dense rates of cards in NVIDIA's white papers on the architectures (named at each row), divided by the
/// number of multiprocessors and the boost clock of the card. Sparsity doubles the tensor rates and is never
/// counted. `docs/archive/evidence.md` lists what each source states. The rate of int32 is that of
/// multiply-adds. It is uncertain everywhere: logic and additions have units of their own, so that a kernel
/// that mixes them with multiply-adds does more operations.
const MULTIPLY_ADDS_PER_CLOCK: [((u64, u64), [i64; DATA_TYPE_COUNT]); 9] = [
    // V100, "NVIDIA Tesla V100 GPU Architecture": 80 × 512 × 2 × 1.53 GHz = 125 TFLOP/s.
    ((7, 0), [32, 64, 128, 0, 0, 0, 512, 0, 0, 0, 0, 0, -64]),
    // "NVIDIA Turing GPU Architecture". GeForce cards do half as much where they accumulate in f32, and all of int8:
    // 68 × 1024 × 2 × 1.545 GHz = 215 TOP/s on an RTX 2080 Ti.
    ((7, 5), [2, 64, 128, 0, 0, 0, -512, 0, 0, 0, 0, 1024, -64]),
    // "NVIDIA A100 Tensor Core GPU Architecture": 108 × 1024 × 2 × 1.41 GHz = 312 TFLOP/s.
    ((8, 0), [32, 64, 256, 128, 64, 512, 1024, 1024, 0, 0, 0, 2048, -64]),
    // "NVIDIA Ampere GA102 GPU Architecture". GeForce cards do half as much where they accumulate in f32, and all of int8:
    // 82 × 1024 × 2 × 1.695 GHz = 285 TOP/s on an RTX 3090.
    ((8, 6), [2, 128, 128, -128, 0, -256, -512, -512, 0, 0, 0, 1024, -64]),
    // "NVIDIA Ada GPU Architecture". As above: an RTX 4090 does half of what an L40S does a multiprocessor and clock.
    ((8, 9), [2, 128, 128, -128, 0, -256, -512, -512, -1024, 0, 0, 1024, -64]),
    // "NVIDIA H100 Tensor Core GPU Architecture": 132 × 2048 × 2 × 1.83 GHz = 989 TFLOP/s. Cards made for export, such
    // as the H20, do less than their multiprocessors would.
    ((9, 0), [64, 128, 256, 256, 128, 1024, 2048, 2048, 4096, 0, 0, 4096, -64]),
    // CUTLASS, "Blackwell SM100 GEMMs": twice Hopper's rates, fp4 four times its fp8. "NVIDIA Blackwell Architecture Technical
    // Brief": 148 × 4096 × 2 × 1.85 GHz = 2243 TFLOP/s on a B200; its fp4 is 9 PFLOP/s.
    ((10, 0), [64, 128, -128, -128, 64, 2048, 4096, 4096, 8192, 8192, 16384, 8192, -64]),
    // B300, which gives up f64 and the fast int8 of a B200 for half as much more of fp4. The rates follow from the card's
    // published totals, not from its multiprocessors.
    ((10, 3), [-2, 128, -128, -128, 0, -2048, -4096, -4096, -8192, -8192, -24576, 0, -64]),
    // "NVIDIA RTX Blackwell GPU Architecture". GeForce cards do half as much where they accumulate in f32, and all of int8 and
    // fp4: 170 × 2048 × 2 × 2.407 GHz = 1676 TFLOP/s on an RTX 5090. Its INT32 of 104.8 TOP/s is the rate of additions, twice that
    // of multiply-adds. It has no figure for fp6; according to CUTLASS, "Blackwell SM120 GEMMs", fp6 is as fast as fp8.
    ((12, 0), [2, 128, 128, 128, 0, -256, -512, -512, -1024, -1024, 2048, 1024, -64]),
];

/// The stated dense throughput of an H100 SXM and an H200 in 10¹² operations a second for each data type, as in [`DATASHEETS`].
const HOPPER: [f64; DATA_TYPE_COUNT] =
    [34.0, 67.0, 0.0, 0.0, 67.0, 494.7, 989.4, 989.4, 1978.9, 0.0, 0.0, 1978.9, 0.0];
/// The stated dense throughput of an H100 PCIe in 10¹² operations a second for each data type, as in [`DATASHEETS`].
const H100_PCIE: [f64; DATA_TYPE_COUNT] =
    [26.0, 51.0, 0.0, 0.0, 51.0, 378.0, 756.5, 756.5, 1513.0, 0.0, 0.0, 1513.0, 0.0];
/// The stated dense throughput of all A100s in 10¹² operations a second for each data type, as in [`DATASHEETS`].
const A100: [f64; DATA_TYPE_COUNT] =
    [9.7, 19.5, 0.0, 0.0, 19.5, 156.0, 312.0, 312.0, 0.0, 0.0, 0.0, 624.0, 0.0];
/// The stated dense throughput of an L4 in 10¹² operations a second for each data type, as in [`DATASHEETS`].
const L4: [f64; DATA_TYPE_COUNT] =
    [0.0, 30.3, 0.0, 0.0, 0.0, 60.0, 121.0, 121.0, 242.5, 0.0, 0.0, 242.5, 0.0];
/// The stated dense throughput of an L40S in 10¹² operations a second for each data type, as in [`DATASHEETS`].
const L40S: [f64; DATA_TYPE_COUNT] =
    [0.0, 91.6, 0.0, 0.0, 0.0, 183.0, 362.05, 362.05, 733.0, 0.0, 0.0, 733.0, 0.0];
/// The stated dense throughput of an RTX 4090 in 10¹² operations a second for each data type, as in
/// [`DATASHEETS`]. The tensor rates of f16 and fp8 are for accumulation in f16; with accumulation in f32 they
/// are half as high.
const RTX_4090: [f64; DATA_TYPE_COUNT] =
    [0.0, 82.6, 0.0, 0.0, 0.0, 82.6, 330.3, 165.2, 660.6, 0.0, 0.0, 660.6, 0.0];

/// NVIDIA's stated peaks of a few cards. Each entry has the name as the driver reports it, the source, the
/// memory bandwidth in GB/s, and the throughput by data type in 10¹² operations a second, 0 if it is not
/// stated. Tensor rates are dense: half of the figure stated "with sparsity".
///
/// The whole name must match: the name of a MIG instance begins with that of its card. Users compare results
/// with these peaks. They also replace uncertain peaks from attributes: a GeForce and a data-centre card of
/// the same chip look the same to the driver.
const DATASHEETS: [(&str, &str, f64, [f64; DATA_TYPE_COUNT]); 10] = [
    ("NVIDIA H200", "H200", 4800.0, HOPPER),
    ("NVIDIA H100 80GB HBM3", "H100 SXM", 3350.0, HOPPER),
    ("NVIDIA H100 PCIe", "H100 PCIe", 2000.0, H100_PCIE),
    ("NVIDIA A100-SXM4-40GB", "A100 40GB", 1555.0, A100),
    ("NVIDIA A100-PCIE-40GB", "A100 40GB", 1555.0, A100),
    ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM", 2039.0, A100),
    ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe", 1935.0, A100),
    ("NVIDIA L4", "L4", 300.0, L4),
    ("NVIDIA L40S", "L40S", 864.0, L40S),
    ("NVIDIA GeForce RTX 4090", "Ada white paper, RTX 4090", 1008.0, RTX_4090),
];

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Attributes = Attributes {
        capability: (9, 0),
        multiprocessors: 132,
        clock: 1_980_000_000,
        memory_clock: 3_201_000_000,
        bus_width: 6016,
    };
    const CARD_4090: Attributes = Attributes {
        capability: (8, 9),
        multiprocessors: 128,
        clock: 2_520_000_000,
        memory_clock: 10_501_000_000,
        bus_width: 384,
    };

    /// Returns the peak that counts for `data_type`: its value in units of 10¹² a second, its source, and true if it is
    /// certain.
    fn counts(peaks: &[Peak], data_type: &str) -> Option<(f64, PeakSource, bool)> {
        let wanted = match data_type {
            "memory" => Quantity::MemoryBandwidth,
            data_type => Quantity::Compute(data_type.to_owned()),
        };
        let peak = peaks.iter().find(|peak| peak.quantity == wanted)?;
        Some(((peak.value.0 / 1e10).round() / 100.0, peak.source, !peak.uncertain))
    }

    #[test]
    fn attributes_of_a_known_card_come_before_its_datasheet() {
        let peaks = peaks("NVIDIA H200", &H200);
        for (data_type, value) in [
            ("memory", 4.81),
            ("f64", 33.45),
            ("f32", 66.91),
            ("f64 tensor", 66.91),
            ("tf32 tensor", 535.27),
            ("bf16 tensor", 1070.53),
            ("fp8 tensor", 2141.06),
            ("int8 tensor", 2141.06),
        ] {
            let expected = Some((value, PeakSource::Attribute, true));
            assert_eq!(counts(&peaks, data_type), expected, "{data_type}");
        }
        // Stated figures are there for comparison: 989.4 at a lower clock than the card may run at.
        let stated = peaks.iter().filter(|peak| peak.source == PeakSource::Datasheet);
        let stated: Vec<_> = stated.map(|peak| (peak.quantity.clone(), peak.value.0)).collect();
        assert!(stated.contains(&(Quantity::MemoryBandwidth, 4.8e12)), "{stated:?}");
        assert!(stated.contains(&(Quantity::Compute("bf16 tensor".to_owned()), 989.4e12)), "{stated:?}");
    }

    #[test]
    fn where_attributes_mislead_the_datasheet_counts() {
        let geforce = peaks("NVIDIA GeForce RTX 4090", &CARD_4090);
        assert_eq!(counts(&geforce, "f32"), Some((82.58, PeakSource::Attribute, true)));
        assert_eq!(counts(&geforce, "bf16 tensor"), Some((165.2, PeakSource::Datasheet, true)));
        // For a card without a datasheet, the table's guess is marked as one.
        let other = peaks("NVIDIA RTX 9999", &CARD_4090);
        assert_eq!(counts(&other, "bf16 tensor"), Some((330.3, PeakSource::Attribute, false)));
    }

    #[test]
    fn what_the_driver_hides_is_not_known_even_of_a_card_with_a_name() {
        let hidden = Attributes { clock: 0, memory_clock: 0, ..H200 };
        assert_eq!(peaks("NVIDIA H200", &hidden), []);
        let no_clock = peaks("NVIDIA H200", &Attributes { clock: 0, ..H200 });
        assert!(no_clock.iter().all(|peak| peak.quantity == Quantity::MemoryBandwidth), "{no_clock:?}");
        let unknown = peaks("NVIDIA H200", &Attributes { capability: (99, 0), ..H200 });
        assert_eq!(counts(&unknown, "f16"), None);
        // A part of a card reports another name, and the whole card's bus.
        let part = peaks("NVIDIA H200 MIG 1g.18gb", &H200);
        assert_eq!(counts(&part, "memory"), None);
        assert_eq!(counts(&part, "f32"), Some((66.91, PeakSource::Attribute, false)));
        assert!(part.iter().all(|peak| peak.source == PeakSource::Attribute), "{part:?}");
    }

    /// Checks the typed tables: the rates, at the clock that a card's datasheet assumes, must give the figures of that
    /// datasheet.
    #[test]
    fn rates_give_what_datasheets_state() {
        for (name, capability, multiprocessors, clock, data_type) in [
            ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1_410_000_000, "bf16 tensor"),
            ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1_410_000_000, "f64"),
            ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1_410_000_000, "tf32 tensor"),
            ("NVIDIA H100 80GB HBM3", (9, 0), 132, 1_830_000_000, "bf16 tensor"),
            ("NVIDIA H100 80GB HBM3", (9, 0), 132, 1_980_000_000, "f64 tensor"),
            ("NVIDIA H100 PCIe", (9, 0), 114, 1_620_000_000, "f16 tensor"),
            ("NVIDIA L4", (8, 9), 58, 2_040_000_000, "f16 tensor"),
            ("NVIDIA L40S", (8, 9), 142, 2_520_000_000, "f32"),
            ("NVIDIA L40S", (8, 9), 142, 2_520_000_000, "fp8 tensor"),
            ("NVIDIA GeForce RTX 4090", (8, 9), 128, 2_520_000_000, "f16 tensor"),
            ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1_410_000_000, "int8 tensor"),
            ("NVIDIA H100 80GB HBM3", (9, 0), 132, 1_830_000_000, "int8 tensor"),
            ("NVIDIA H100 PCIe", (9, 0), 114, 1_620_000_000, "int8 tensor"),
            ("NVIDIA L4", (8, 9), 58, 2_040_000_000, "int8 tensor"),
            ("NVIDIA L40S", (8, 9), 142, 2_520_000_000, "int8 tensor"),
            ("NVIDIA GeForce RTX 4090", (8, 9), 128, 2_520_000_000, "int8 tensor"),
        ] {
            let attributes = Attributes { capability, multiprocessors, clock, ..H200 };
            let all = peaks(name, &attributes);
            let of = |source| {
                let found = all.iter().find(|peak| {
                    peak.source == source && peak.quantity == Quantity::Compute(data_type.to_owned())
                });
                found.map(|peak| peak.value.0).unwrap_or_else(|| panic!("{name}: no {data_type}"))
            };
            let ratio = of(PeakSource::Attribute) / of(PeakSource::Datasheet);
            assert!((ratio - 1.0).abs() < 0.02, "{name}, {data_type}: {ratio}");
        }
    }

    /// Checks rates of cards without a datasheet here, with the figures of the sources in `docs/archive/evidence.md`, in units of
    /// 10¹² a second.
    #[test]
    fn rates_give_what_other_sources_state() {
        for (card, capability, multiprocessors, clock, data_type, stated, is_certain) in [
            ("T4", (7, 5), 40, 1_590_000_000, "int8 tensor", 130.0, true),
            ("RTX 2080 Ti", (7, 5), 68, 1_545_000_000, "int8 tensor", 215.2, true),
            ("RTX 3090", (8, 6), 82, 1_695_000_000, "int8 tensor", 284.0, true),
            ("A10", (8, 6), 72, 1_695_000_000, "int8 tensor", 250.0, true),
            ("A100", (8, 0), 108, 1_410_000_000, "int32", 19.5, false),
            ("H100", (9, 0), 132, 1_980_000_000, "int32", 33.5, false),
            ("RTX 4090", (8, 9), 128, 2_520_000_000, "int32", 41.3, false),
            ("V100", (7, 0), 80, 1_530_000_000, "int32", 15.7, false),
            ("B300", (10, 3), 148, 2_032_000_000, "int32", 38.4, false),
            ("RTX 5090", (12, 0), 170, 2_407_000_000, "int32", 52.4, false),
            ("RTX 5090", (12, 0), 170, 2_407_000_000, "int8 tensor", 838.0, true),
            ("RTX 5090", (12, 0), 170, 2_407_000_000, "fp4 tensor", 1676.0, true),
            ("RTX PRO 6000", (12, 0), 188, 2_617_000_000, "fp4 tensor", 2015.0, true),
            ("B200", (10, 0), 148, 1_965_000_000, "f64 tensor", 37.0, true),
            ("B200", (10, 0), 148, 1_850_000_000, "fp6 tensor", 4500.0, true),
            ("B200", (10, 0), 148, 1_850_000_000, "fp4 tensor", 9000.0, true),
            ("B200", (10, 0), 148, 1_850_000_000, "int8 tensor", 4500.0, true),
            ("B300", (10, 3), 148, 1_850_000_000, "fp4 tensor", 13_500.0, false),
        ] {
            let attributes = Attributes { capability, multiprocessors, clock, ..H200 };
            let (value, source, certain) = counts(&peaks(card, &attributes), data_type).expect(data_type);
            assert!((value / stated - 1.0).abs() < 0.02, "{card}, {data_type}: {value}");
            assert_eq!((source, certain), (PeakSource::Attribute, is_certain), "{card}, {data_type}");
        }
        let none = Attributes { capability: (10, 3), ..H200 };
        assert_eq!(counts(&peaks("B300", &none), "int8 tensor"), None, "no rate is published for the card");
    }
}
