//! Waits before a case until its device is cool.

use std::time::{Duration, Instant};

use crate::device::Monitor;
use gpubench_records::{CoolDown, HeatLevel};
use gpubench_stats::Nanoseconds;

/// The pause between two readings of the sensors.
pub(super) const READING_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of pauses, which take 60 s.
const MAX_PAUSES: usize = 600;
/// The maximum number of consecutive pauses without a new lowest reading, which take 10 s: the device then
/// gets no cooler.
const MAX_PAUSES_WITHOUT_FALL: usize = 100;

/// Reads the sensor until its value is at most `threshold`, and calls `pause` before each further reading.
/// Gives up after 60 s, or after 10 s without a new lowest value. Returns the first and the last value, or
/// `None` if the device has no such sensor.
pub(super) fn wait_until_cool(
    monitor: &mut dyn Monitor,
    threshold: HeatLevel,
    pause: &mut dyn FnMut(),
) -> Option<CoolDown> {
    let mut read = || threshold.read(&monitor.read());
    let before = read()?;
    let (mut after, mut lowest, mut without_fall, mut pauses) = (before, before, 0, 0);
    let begin = Instant::now();
    while after > threshold && pauses < MAX_PAUSES && without_fall < MAX_PAUSES_WITHOUT_FALL {
        pause();
        after = read()?;
        pauses += 1;
        without_fall += 1;
        if after < lowest {
            (lowest, without_fall) = (after, 0);
        }
    }
    let waited = if pauses == 0 { Nanoseconds::ZERO } else { begin.elapsed().into() };
    Some(CoolDown { threshold, before, after, waited })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::Reading;
    use gpubench_stats::Watts;

    /// A device whose temperature is given for each reading; the last one repeats. It draws 200 W.
    struct Cools(Vec<u32>);

    impl Monitor for Cools {
        fn read(&mut self) -> Reading {
            let temperature = if self.0.len() > 1 { self.0.remove(0) } else { self.0[0] };
            Reading { temperature: Some(temperature), power: Some(Watts(200.0)), ..Reading::default() }
        }
    }

    /// The last temperature and the number of pauses before it.
    fn cooled(temperatures: impl IntoIterator<Item = u32>, threshold: HeatLevel) -> (HeatLevel, usize) {
        let (mut monitor, mut pauses) = (Cools(temperatures.into_iter().collect()), 0);
        let found = wait_until_cool(&mut monitor, threshold, &mut || pauses += 1).expect("there are sensors");
        assert_eq!((found.threshold, found.waited == Nanoseconds::ZERO), (threshold, pauses == 0));
        (found.after, pauses)
    }

    #[test]
    fn a_wait_ends_at_the_threshold() {
        let [cool, at] = [59, 60].map(HeatLevel::Temperature);
        assert_eq!(cooled([59], at), (cool, 0));
        assert_eq!(cooled([60], at), (at, 0));
        assert_eq!(cooled([80, 81, 72, 59, 90], at), (cool, 3));
    }

    #[test]
    fn a_wait_ends_if_the_device_gets_no_cooler() {
        let hot = HeatLevel::Temperature(70);
        assert_eq!(cooled([72, 70], HeatLevel::Temperature(60)), (hot, 1 + MAX_PAUSES_WITHOUT_FALL));
        let power = HeatLevel::Power(Watts(100.0));
        assert_eq!(cooled([72], power), (HeatLevel::Power(Watts(200.0)), MAX_PAUSES_WITHOUT_FALL));
        // One degree in five seconds: it would take minutes.
        let slowly = (0..2000).map(|number| 100 - number / 50);
        assert_eq!(cooled(slowly, HeatLevel::Temperature(60)), (HeatLevel::Temperature(88), MAX_PAUSES));
    }

    #[test]
    fn sensors_may_lack_what_is_wanted() {
        struct Nothing;
        impl Monitor for Nothing {
            fn read(&mut self) -> Reading {
                Reading::default()
            }
        }
        assert_eq!(wait_until_cool(&mut Nothing, HeatLevel::Temperature(60), &mut || {}), None);
    }
}
