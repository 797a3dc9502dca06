//! The limits of a GPU. In: its name and the attributes that the driver reports; out: its peaks. For each quantity, the
//! one that counts comes first.
//!
//! Bandwidth is 2 × memory clock × bus width / 8: the clock is that of the commands, and data move on both of its
//! edges. Throughput is multiprocessors × fused multiply-adds a clock × 2 × clock.

use crate::devices::cuda::device_info::{arithmetic, datasheet};
use gpubench_records::device_info::{Peak, PeakSource, Quantity};
use gpubench_stats::units::Rate;

/// The driver's attributes that limits follow from. An attribute that the driver hides is 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) capability: (u64, u64),
    pub(crate) multiprocessors: u64,
    /// The clock of the multiprocessors, in hertz.
    pub(crate) clock: u64,
    /// The clock of the memory, in hertz.
    pub(crate) memory_clock: u64,
    /// The width of the memory bus, in bits.
    pub(crate) bus_width: u64,
}

/// The driver's addition to a card's name for a part of the card.
const PART: &str = " MIG ";

/// Returns the peaks of the GPU `name`. If an attribute is hidden, as in a part of a card or a virtual GPU, its peak is
/// unknown, even if the whole card's is stated. A part that reports the whole card's bus gets no memory peak from it.
pub(crate) fn peaks(name: &str, attributes: &Attributes) -> Vec<Peak> {
    let part = name.contains(PART);
    let bandwidth = if part { 0 } else { 2 * attributes.memory_clock * attributes.bus_width / 8 };
    let clocks = attributes.multiprocessors * attributes.clock;
    let attribute = |quantity, value: u64, method: String| {
        Peak::new(quantity, Rate(value as f64), PeakSource::Attribute, method)
    };
    let memory = (bandwidth > 0).then(|| {
        let method = "2 × memory clock × bus width / 8".to_owned();
        attribute(Quantity::MemoryBandwidth, bandwidth, method)
    });
    let rates = arithmetic::rates(attributes.capability).iter().filter(|_| clocks > 0);
    let compute = rates.map(|rate| {
        let method = format!("multiprocessors × {} FMA × 2 × clock", rate.fma);
        let quantity = Quantity::Compute(rate.data_type.to_owned());
        let peak = attribute(quantity, 2 * rate.fma * clocks, method);
        if rate.uncertain || part { peak.uncertain() } else { peak }
    });
    let hidden = |quantity: &Quantity| match quantity {
        Quantity::Compute(_) => clocks == 0,
        _ => bandwidth == 0,
    };
    let stated = datasheet::of(name).into_iter().flat_map(|datasheet| {
        datasheet.peaks().map(|(quantity, value)| {
            Peak::new(quantity, Rate(value), PeakSource::Datasheet, datasheet.source)
        })
    });
    let stated = stated.filter(|peak| !hidden(&peak.quantity));
    let mut peaks: Vec<Peak> = memory.into_iter().chain(compute).chain(stated).collect();
    peaks.sort_by_key(Peak::precedence);
    peaks
}

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
    const RTX_4090: Attributes = Attributes {
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
        let geforce = peaks("NVIDIA GeForce RTX 4090", &RTX_4090);
        assert_eq!(counts(&geforce, "f32"), Some((82.58, PeakSource::Attribute, true)));
        assert_eq!(counts(&geforce, "bf16 tensor"), Some((165.2, PeakSource::Datasheet, true)));
        // For a card without a datasheet, the table's guess is marked as one.
        let other = peaks("NVIDIA RTX 9999", &RTX_4090);
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
}
