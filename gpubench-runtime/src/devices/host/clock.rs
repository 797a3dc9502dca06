//! The step of this machine's monotonic clock. In: readings with waits of many lengths between them; out: the largest step that
//! all differences are multiples of. A clock with a step of 10 ns gives differences of 20, 21, 30 and 31 ns: whole nanoseconds
//! hide its step, and 1 ns is none.

use std::hint::black_box;
use std::time::Instant;

use gpubench_stats::units::Nanoseconds;

/// The number of differences above zero that are enough, and the number of readings after which fewer have to do: a step may be
/// as long as a tick of the operating system.
const ENOUGH: usize = 4_000;
const MOST_READINGS: usize = 1 << 20;
/// The longest of the waits, in rounds of some tenths of a nanosecond: several steps of a usual clock.
const LONGEST_WAIT: usize = 256;
/// So many readings may show that a step is long. Fewer differences are enough then.
const LONG_STEP: usize = 16_000;
const ENOUGH_LONG: usize = 8;

/// Differences up to this multiple of the smallest one are looked at. Of longer ones, a small error of the step makes another
/// multiple.
const MULTIPLE: u64 = 8;
/// A difference of two readings in whole nanoseconds is off by less than one; a tenth is for the error of the step that is tried.
const ROUNDING: f64 = 1.1;
/// A step up to this is not told from 1 ns.
const SHORTEST: f64 = 3.5;
/// Steps that are tried after each other differ by this factor.
const NEXT: f64 = 0.9995;

/// Measures the step.
pub(super) fn step() -> Nanoseconds {
    let origin = Instant::now();
    step_of(&differences(|| origin.elapsed().as_nanos() as u64, wait))
}

/// Waits for so many rounds, which the compiler cannot leave out.
fn wait(rounds: usize) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// Returns differences of successive readings in nanoseconds, without those of zero.
fn differences(now: impl Fn() -> u64, wait: impl Fn(usize)) -> Vec<u64> {
    let mut differences = Vec::with_capacity(ENOUGH);
    for reading in 0..MOST_READINGS {
        let enough = if reading < LONG_STEP { ENOUGH } else { ENOUGH_LONG };
        if differences.len() >= enough {
            break;
        }
        let begin = now();
        // A stride that no wait comes back to before all others had their turn.
        wait(reading * 37 % LONGEST_WAIT);
        differences.extend(Some(now() - begin).filter(|difference| *difference > 0));
    }
    differences
}

/// Returns the largest step that these differences are multiples of, as far as whole nanoseconds can show; 1 ns without any.
fn step_of(differences: &[u64]) -> Nanoseconds {
    let Some(smallest) = differences.iter().copied().min() else { return Nanoseconds(1.0) };
    let near = || differences.iter().copied().filter(|difference| *difference <= MULTIPLE * smallest);
    let multiple = |difference: u64, step: f64| (difference as f64 / step).round();
    let fits = |step: f64| near().all(|it| (it as f64 - step * multiple(it, step)).abs() <= ROUNDING);
    let tried = std::iter::successors(Some(smallest as f64 + 1.0), |step| Some(step * NEXT));
    let found = tried.take_while(|step| *step > SHORTEST).find(|step| fits(*step));
    found.map_or(Nanoseconds(1.0), |step| {
        let (sum, multiples) = near().fold((0.0, 0.0), |(sum, multiples), difference| {
            (sum + difference as f64, multiples + multiple(difference, step))
        });
        Nanoseconds(sum / multiples)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Measures the step of a clock whose step is known. A reading takes 25 ns, a round of a wait 0.35 ns, and one reading in a
    /// thousand is interrupted.
    fn measured(step: f64) -> f64 {
        let (time, readings) = (Cell::new(0.0_f64), Cell::new(0_u64));
        let now = || {
            readings.set(readings.get() + 1);
            let interrupted = if readings.get().is_multiple_of(1_000) { 54_321.7 } else { 0.0 };
            time.set(time.get() + 25.13 + interrupted);
            ((time.get() / step).floor() * step) as u64
        };
        let wait = |rounds: usize| time.set(time.get() + 0.35 * rounds as f64);
        step_of(&differences(now, wait)).0
    }

    #[test]
    fn a_known_step_is_found() {
        // Those of ARM at 24 MHz and of a processor whose counter advances by 10.0187 ns are no whole numbers.
        for step in [4.0, 10.0, 10.0187, 16.0, 40.0, 1e3 / 24.0, 52.08, 100.0, 1_000.0, 1e6, 4e6] {
            let found = measured(step);
            assert!((found / step - 1.0).abs() < 1e-3, "{found} ns of {step} ns");
        }
    }

    #[test]
    fn a_step_of_a_nanosecond_or_less_is_one() {
        for step in [0.01, 0.3, 0.5, 1.0] {
            assert_eq!(measured(step), 1.0, "{step} ns");
        }
    }

    #[test]
    fn a_clock_that_stands_still_steps_by_one() {
        assert_eq!(step_of(&differences(|| 7, |_| ())), Nanoseconds(1.0));
    }

    #[test]
    fn this_machines_clock_has_a_step() {
        let step = step().0;
        assert!((1.0..1e8).contains(&step), "{step} ns");
    }
}
