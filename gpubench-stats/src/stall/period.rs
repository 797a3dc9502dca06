//! The period at which the memory of a device is held up, from the starts and the times of reads of memory.

use super::span::{Folded, scores};
use crate::median;
use crate::quantile::{ascending, quantile};
use crate::units::Nanoseconds;

/// The shortest and the longest period that is looked for.
const PERIODS: [f64; 2] = [25e3, 250e3];
/// A slow read takes longer than the median by so many standard deviations, and by so many steps of the timer.
const SLOW_DEVIATIONS: f64 = 2.25;
const SLOW_STEPS: f64 = 4.0;
/// The fewest slow reads, the largest part of all that they are, and the most that are looked at.
const FEWEST: usize = 16;
const MOST_OF_ALL: f64 = 0.4;
const MOST: usize = 256;
/// The chance of such a period where there is none.
const SIGNIFICANCE: f64 = 1e-6;
/// Of the reads in the span of phases, and of the slow reads, at least so many are both.
const EXPLAINED: f64 = 0.6;

crate::stored! {
    /// The memory of a device is held up for a time, again and again.
    #[derive(Copy)]
    pub struct DramStallPeriod {
        /// The time from one stall to the next.
        pub period: Nanoseconds,
        /// The most by which the period may be wrong.
        pub error: Nanoseconds,
        /// The time for which a read of memory is held up.
        pub duration: Nanoseconds,
    }
}

impl DramStallPeriod {
    /// Finds the period between 25 and 250 µs in reads of memory, with their starts and times in the order they ran; each takes a
    /// quarter of the period at most. A timer read the times in steps of `step`.
    ///
    /// Nothing if slow reads come at other times: then they gather around a phase of a period as much as here once in a million times,
    /// the search over all periods included; or if less than six in ten reads in that phase are slow, or slow reads in it.
    pub fn find(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        if times.len() < FEWEST || starts.len() != times.len() {
            return None;
        }
        let sorted = ascending(times);
        let middle = Nanoseconds(quantile(&sorted, 0.5));
        let deviation = (middle.as_f64() - quantile(&sorted, 0.16)).max(step.as_f64() / 2.0);
        let limit = middle.as_f64() + (SLOW_DEVIATIONS * deviation).max(SLOW_STEPS * step.as_f64());
        let starts: Vec<f64> = starts.iter().map(|start| start.as_f64()).collect();
        let reads = || starts.iter().copied().zip(times).map(|(start, time)| (start, *time));
        let (slow, delays): (Vec<f64>, Vec<Nanoseconds>) = reads()
            .filter(|(_, time)| time.as_f64() > limit)
            .map(|(start, time)| (start, time - middle))
            .unzip();
        if slow.len() < FEWEST || slow.len() as f64 > MOST_OF_ALL * times.len() as f64 {
            return None;
        }
        let duration = median(&delays)?;
        // A read that starts in a stall, or ends behind its begin, is slow.
        let width = (middle + duration).as_f64();
        let candidate = gathering_period(&slow[..slow.len().min(MOST)], width)?;
        let (scores, deviation) = scores(times, step)?;
        // Starts that share a phase of a period share one of each part of it, and reads that are not slow tell them apart.
        let multiples =
            (1..).map(|times| f64::from(times) * candidate).take_while(|period| *period <= PERIODS[1]);
        let spans = multiples.map(|period| {
            let part = width / period;
            let threshold = duration / deviation * (0.5 - part);
            let folded = Folded { starts: &starts, scores: &scores, threshold, widest: 1.0 };
            let apart = folded.resolution(period, part / 2.0);
            (folded.search(period, 2.0 * apart / part, apart), apart)
        });
        let (span, apart) = spans.max_by(|a, b| a.0.z.total_cmp(&b.0.z))?;
        let inside = reads().filter(|(start, _)| span.holds(*start)).count();
        let slow_inside = slow.iter().filter(|start| span.holds(**start)).count();
        let explained = slow_inside as f64 / inside.max(slow.len()) as f64;
        let error = Nanoseconds(8.0 * apart);
        (explained >= EXPLAINED).then_some(Self { period: Nanoseconds(span.period), error, duration })
    }
}

/// Returns the period by which these starts gather most around one phase, if that is no chance: the test of Rayleigh for points on a
/// circle, at frequencies so close together that the phase of the last start moves by a quarter from one to the next. Periods are four
/// times so wide as the span of phases at least.
fn gathering_period(starts: &[f64], width: f64) -> Option<f64> {
    let length = starts.last()? - starts.first()?;
    let (least, greatest) = (1.0 / PERIODS[1], 1.0 / PERIODS[0].max(4.0 * width));
    let apart = 1.0 / (4.0 * length);
    let tries = ((greatest - least) / apart).ceil();
    let gathered = |frequency: f64| {
        let angles = starts.iter().map(|start| (std::f64::consts::TAU * frequency * start).sin_cos());
        let (sine, cosine) = angles.fold((0.0, 0.0), |sum, (sine, cosine)| (sum.0 + sine, sum.1 + cosine));
        (sine * sine + cosine * cosine) / starts.len() as f64
    };
    let frequencies = (0..=tries as usize).map(|number| least + number as f64 * apart);
    let best =
        frequencies.map(|frequency| (gathered(frequency), frequency)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (tries * (-best.0).exp() < SIGNIFICANCE).then_some(1.0 / best.1)
}
