//! A GPU whose memory is held up, and one whose is not.

use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Groups, Median};
use rand::RngExt;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Exp, Normal};

pub(crate) const STEP: f64 = 32.0;
pub(crate) const SAMPLES_OF_A_GROUP: usize = 32;

/// What times do beside the stall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LaunchNoise {
    /// Normal noise, and one sample in a hundred up to some microseconds late.
    Steady,
    /// The same, each sample like the one before by this much.
    Alike(f64),
    /// Two times 1.4 µs apart: every so many samples one is slow, on through all groups.
    Every(usize),
    /// Two times 1.4 µs apart, by chance; this part is slow.
    Chance(f64),
    /// Two times 1.4 µs apart, which change after as many samples as this on the average.
    Bursts(f64),
}

/// A launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedLaunch {
    /// Its time without a stall, and the part of that in which it waits for memory.
    pub(crate) time: f64,
    pub(crate) waits: f64,
    pub(crate) own: LaunchNoise,
    /// The time between the end of one sample and the start of the next.
    pub(crate) between: f64,
}

/// The period and the length of the stalls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedMemory {
    pub(crate) period: f64,
    pub(crate) length: f64,
}

impl SimulatedMemory {
    /// The delay of work that needs `active` of the memory's time from `start` on, where a stall begins at zero.
    fn delay(self, start: f64, active: f64) -> f64 {
        let Self { period, length } = self;
        let phase = start.rem_euclid(period);
        let within = (length - phase).max(0.0);
        let free = if phase < length { period - length } else { period - phase };
        if active <= free || length == 0.0 {
            return within;
        }
        within + length * (1.0 + ((active - free) / (period - length)).floor())
    }

    /// The mean of that over all starts.
    pub(crate) fn mean_delay(self, active: f64) -> f64 {
        let steps = 20_000;
        (0..steps)
            .map(|step| self.delay(self.period * f64::from(step) / f64::from(steps), active))
            .sum::<f64>()
            / f64::from(steps)
    }
}

/// Samples of a case.
pub(crate) struct SimulatedSamples {
    pub(crate) starts: Vec<Nanoseconds>,
    pub(crate) times: Vec<Nanoseconds>,
}

impl SimulatedSamples {
    pub(crate) fn median(&self, times: &[Nanoseconds], shared_error: Nanoseconds) -> Option<Median> {
        let sizes = vec![SAMPLES_OF_A_GROUP; times.len() / SAMPLES_OF_A_GROUP];
        Median::of_groups(times, Groups { sizes: &sizes, shared_error }, Nanoseconds(STEP), 0.95)
    }
}

/// The deviation of the times of launches that wait for memory: 200 to 250 ns on most H200s, in reads of 16 MiB as in those of 256 MiB.
pub(crate) const NOISE: f64 = 220.0;

/// Takes so many groups of samples.
pub(crate) fn samples(
    rng: &mut StdRng,
    launch: &SimulatedLaunch,
    memory: SimulatedMemory,
    groups: usize,
) -> SimulatedSamples {
    noisy_samples(rng, launch, memory, groups, NOISE)
}

/// The same, of launches that wait for memory with this deviation.
pub(crate) fn noisy_samples(
    rng: &mut StdRng,
    launch: &SimulatedLaunch,
    memory: SimulatedMemory,
    groups: usize,
    noise: f64,
) -> SimulatedSamples {
    let normal = Normal::new(0.0, 1.0).expect("a deviation");
    let late = Exp::new(1.0 / 1500.0).expect("a rate");
    let deviation = if launch.waits > 0.0 { noise } else { 60.0 + 0.002 * launch.time };
    let (mut at, mut taken) = (rng.random_range(0.0..memory.period), 0);
    let origin = at;
    let (mut before, mut slow): (f64, bool) = (0.0, false);
    let mut samples = SimulatedSamples { starts: Vec::new(), times: Vec::new() };
    for _ in 0..groups {
        let graph = 50.0 * normal.sample(rng);
        for _ in 0..SAMPLES_OF_A_GROUP {
            let phi = if let LaunchNoise::Alike(phi) = launch.own { phi } else { 0.0 };
            before = phi * before + (1.0 - phi * phi).sqrt() * normal.sample(rng);
            slow = match launch.own {
                LaunchNoise::Steady | LaunchNoise::Alike(_) => false,
                LaunchNoise::Every(number) => taken % number == 0,
                LaunchNoise::Chance(part) => rng.random_bool(part),
                LaunchNoise::Bursts(mean) => slow ^ rng.random_bool(1.0 / mean),
            };
            let mut time = launch.time + graph + deviation * before;
            time += if slow { 1400.0 } else { 0.0 };
            time += if rng.random_bool(0.01) { late.sample(rng) } else { 0.0 };
            // The launch begins a while behind the first event.
            let begins = at + 1000.0;
            // Three stalls in a hundred hold up half of a launch alone.
            let part = if rng.random_bool(0.03) { 0.5 } else { 1.0 };
            time += part * memory.delay(begins, launch.waits * launch.time);
            let ends = at + time;
            let stamp = |time: f64| (time / STEP).floor() * STEP;
            samples.starts.push(Nanoseconds(stamp(at) - stamp(origin)));
            samples.times.push(Nanoseconds(stamp(ends) - stamp(at)));
            at = ends + launch.between + 40.0 * normal.sample(rng);
            taken += 1;
        }
        // The next graph is captured meanwhile.
        at += 1e6 * rng.random_range(0.5..4.0);
    }
    samples
}
