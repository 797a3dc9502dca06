//! The times of work on the fake's virtual clock. All constants of the model are here. They are chosen so
//! that its times come near those of one H200 (PTX 7.7, driver 580) by CUPTI: cold sums and copies of 16 MiB
//! and more within 12 %. They are plausible, not a simulation: what a test may rely on is that they do not
//! change.

use crate::config::Config;
use crate::l2::Traffic;

/// The usual resolution of the GPU's timer in nanoseconds, that of an H200.
pub(crate) const STEP: u64 = 32;
/// The reading of a pair of events with nothing between them there.
pub(crate) const EVENT: f64 = 1280.0;
/// The delay with which an event sees its work done.
pub(crate) const COMPLETION: f64 = 1200.0;
/// The time of an empty kernel of one block, less [`BLOCK`]: a pair around it reads 3.03 µs there.
pub(crate) const LAUNCH: f64 = 550.0 - BLOCK;
/// The time that each block adds.
pub(crate) const BLOCK: f64 = 0.6;
/// So many blocks are there at once: the others begin while those before them work.
pub(crate) const HELD: u64 = 2112;
/// The time until the first bytes come from memory, and from the L2.
pub(crate) const MEMORY_LATENCY: f64 = 2000.0;
pub(crate) const L2_LATENCY: f64 = 350.0;
/// The time of a load from the L2 that waits for another load.
pub(crate) const LOAD: f64 = 147.0;
/// The time of a phase of a sort of many blocks.
pub(crate) const PHASE: f64 = 200.0;
/// The bandwidth of the memory, in bytes a nanosecond: 96 % of the peak, as the largest sums.
pub(crate) const MEMORY: f64 = 4600.0;
/// The bandwidth of the L2.
pub(crate) const L2: f64 = 7000.0;
/// That of memsets. The lines that these leave dirty cost who evicts them.
pub(crate) const MEMSET: f64 = 12_000.0;
/// Between host and device.
pub(crate) const LINK: f64 = 55.0;
/// Of one link to another GPU, one way: what copies of an H200 reach of its 25.
pub(crate) const PEER_LINK: f64 = 20.0;
/// Between the start of a graph and its first node.
pub(crate) const GRAPH: f64 = 2000.0;

/// The usual size of the L2.
pub(crate) const L2_SIZE: u64 = 62_914_560;
/// The size of the memory, and what of it the driver keeps.
pub(crate) const MEMORY_SIZE: u64 = 150_109_880_320;
pub(crate) const RESERVED: u64 = 500 << 20;

/// Arithmetic that this GPU does without waiting for anything: the kernel, the operations of a thread in a step, and
/// how many of them all threads together do in a nanosecond.
pub(crate) const ARITHMETIC: [(&str, f64, f64); 8] = [
    ("gpubench_ceiling_f64", 256.0, 31_000.0),
    ("gpubench_ceiling_f32", 256.0, 62_000.0),
    ("gpubench_ceiling_f16", 512.0, 121_000.0),
    ("gpubench_ceiling_bf16", 512.0, 119_000.0),
    ("gpubench_ceiling_f64_tensor", 512.0, 60_000.0),
    ("gpubench_ceiling_tf32_tensor", 2048.0, 310_000.0),
    ("gpubench_ceiling_f16_tensor", 4096.0, 620_000.0),
    ("gpubench_ceiling_bf16_tensor", 4096.0, 630_000.0),
];

/// The time of traffic after a latency, where the L2 or the reads limit it. Reads wait for what others left dirty.
fn reading(latency: f64, traffic: &Traffic) -> f64 {
    let Traffic { hits, misses, allocated, evicted, dirtied } = *traffic;
    let from_memory = misses + evicted.saturating_sub(dirtied);
    let reads = latency + hits as f64 / L2 + from_memory as f64 / MEMORY;
    reads.max(latency.min(L2_LATENCY) + (hits + allocated) as f64 / L2)
}

/// The time of traffic by itself.
pub(crate) fn moving(traffic: &Traffic) -> f64 {
    reading(0.0, traffic).max(waiting(traffic))
}

/// The time of a memset with this traffic.
pub(crate) fn memset(traffic: &Traffic) -> f64 {
    (traffic.hits + traffic.allocated) as f64 / MEMSET + traffic.evicted as f64 / MEMORY
}

/// The time of a kernel of so many blocks.
pub(crate) fn kernel(blocks: u64, traffic: &Traffic) -> f64 {
    let latency = match traffic {
        Traffic { misses: 1.., .. } => MEMORY_LATENCY,
        Traffic { hits: 1.., .. } | Traffic { allocated: 1.., .. } => L2_LATENCY,
        _ => 0.0,
    };
    let (first, others) = (blocks.min(HELD), blocks.saturating_sub(HELD));
    let starting = BLOCK * first as f64 + (BLOCK * others as f64).max(reading(latency, traffic));
    // Memory works from the first block on.
    LAUNCH + starting.max(latency.min(L2_LATENCY) + waiting(traffic))
}

/// The time that a kernel waits for memory because of its traffic, if it waits for nothing else meanwhile.
pub(crate) fn waiting(traffic: &Traffic) -> f64 {
    traffic.of_memory() as f64 / MEMORY
}

/// The memory is held up for a time, again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stall {
    pub(crate) length: f64,
    pub(crate) period: f64,
}

/// The time at which a stall begins, whatever its period.
const FIRST_STALL: f64 = 12_345.0;

impl Stall {
    /// By how much a kernel takes longer that from `begin` on waits for memory for so long.
    pub(crate) fn delay(self, begin: f64, waiting: f64) -> f64 {
        let Self { length, period } = self;
        if waiting <= 0.0 {
            return 0.0;
        }
        let phase = (begin - FIRST_STALL).rem_euclid(period);
        let (held, free) =
            if phase < length { (length - phase, period - length) } else { (0.0, period - phase) };
        let whole = if waiting > free { 1.0 + ((waiting - free) / (period - length)).floor() } else { 0.0 };
        held + whole * length
    }
}

/// The reading of a timer with this resolution at a time.
pub(crate) fn shown(time: f64, step: u64) -> f64 {
    (time / step as f64).floor() * step as f64
}

/// Noise and drift of kernels' times, from a seed.
#[derive(Debug)]
pub(crate) struct Unrest {
    noise: f64,
    drift: f64,
    state: u64,
}

impl Unrest {
    pub(crate) fn new(config: &Config) -> Self {
        Self { noise: config.noise, drift: config.drift, state: config.seed }
    }

    /// `duration` as it is at a time. The median of the noise is 1.
    pub(crate) fn apply(&mut self, duration: f64, time: f64) -> f64 {
        let noise = if self.noise > 0.0 { self.noise * self.normal() } else { 0.0 };
        duration * (1.0 + self.drift * time * 1e-9) * (1.0 + noise).max(0.0)
    }

    /// A standard normal number, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), std::f64::consts::TAU * self.uniform());
        radius * angle.cos()
    }

    /// Uniform in (0, 1], by SplitMix64.
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Access;

    /// CUPTI's times of cold launches on the stream of an H200, in nanoseconds.
    #[test]
    fn times_come_near_those_that_were_measured() {
        const MIB: u64 = 1 << 20;
        let clean = |blocks, misses, allocated: u64| {
            let evicted = allocated.saturating_sub(L2_SIZE);
            kernel(blocks, &Traffic { misses, allocated, evicted, hits: 0, dirtied: allocated })
        };
        for (name, model, measured, within) in [
            ("sum 1 MiB", clean(128, MIB, 0), 3_674.0, 0.23),
            ("sum 16 MiB", clean(264, 16 * MIB, 0), 7_311.0, 0.14),
            ("sum 40 MiB", clean(264, 40 * MIB, 0), 12_889.0, 0.1),
            ("sum 1 GiB", clean(264, 1024 * MIB, 0), 236_367.0, 0.02),
            ("copy 16 MiB", clean(4096, 16 * MIB, 16 * MIB), 8_527.0, 0.05),
            ("copy 256 MiB", clean(65_536, 256 * MIB, 256 * MIB), 123_341.0, 0.05),
            ("fill 256 MiB", clean(65_536, 0, 256 * MIB), 57_628.0, 0.03),
            ("empty, 528 blocks", clean(528, 0, 0), 830.0, 0.05),
            ("empty, 2,112 blocks", clean(2_112, 0, 0), 1_823.0, 0.01),
        ] {
            assert!((model / measured - 1.0).abs() < within, "{name}: {model} against {measured}");
        }
    }

    /// The peak is that of the device's attributes, in bytes a nanosecond.
    #[test]
    fn cold_launches_are_no_faster_than_hot_ones_or_than_memory() {
        use Access::{Read, Update, Write};
        for accesses in [&[Read, Write][..], &[Read, Update], &[Read, Read, Write], &[Update], &[Write]] {
            for bytes in [1 << 16, 1 << 20, 16 << 20, 31 << 20, 40 << 20, 64 << 20, 256 << 20] {
                let mut l2 = crate::l2::L2::new(L2_SIZE);
                let launch = |l2: &mut crate::l2::L2| {
                    let mut traffic = Traffic::default();
                    for (start, access) in (0..).step_by(1 << 30).zip(accesses) {
                        l2.touch(start..start + bytes, *access, &mut traffic);
                    }
                    kernel((bytes / 4096).max(1), &traffic)
                };
                let hot = [(); 3].map(|()| launch(&mut l2))[2];
                l2.discard(0..u64::MAX);
                let cold = launch(&mut l2);
                let moved: u64 =
                    accesses.iter().map(|it| if *it == Update { 2 * bytes } else { bytes }).sum();
                let rate = moved as f64 / cold;
                assert!(cold >= hot && rate < 4814.0, "{accesses:?} of {bytes}: {hot}, {cold}, {rate}");
            }
        }
    }

    #[test]
    fn a_stall_delays_who_waits_for_memory_meanwhile() {
        let stall = Stall { length: 10.0, period: 100.0 };
        let delay = |phase: f64, waiting| stall.delay(FIRST_STALL + phase, waiting);
        assert_eq!([delay(0.0, 0.0), delay(50.0, 0.0)], [0.0, 0.0]);
        assert_eq!([delay(0.0, 1.0), delay(4.0, 1.0), delay(10.0, 1.0)], [10.0, 6.0, 0.0]);
        assert_eq!([delay(60.0, 40.0), delay(60.0, 41.0), delay(60.0, 131.0)], [0.0, 10.0, 20.0]);
        let all: f64 = (0..10_000).map(|phase| delay(f64::from(phase) / 100.0, 30.0)).sum();
        assert!((all / 10_000.0 - 10.0 * (30.0 + 5.0) / 100.0).abs() < 0.01, "{all}");
    }

    #[test]
    fn noise_has_the_spread_asked_for_and_leaves_the_median() {
        let mut unrest = Unrest { noise: 0.05, drift: 0.0, state: 7 };
        let mut times: Vec<f64> = (0..20_001).map(|_| unrest.apply(100.0, 0.0)).collect();
        times.sort_unstable_by(f64::total_cmp);
        assert!((times[10_000] - 100.0).abs() < 0.15, "{}", times[10_000]);
        let spread = (times[16_827] - times[3173]) / 2.0;
        assert!((spread - 5.0).abs() < 0.15, "{spread}");
    }
}
