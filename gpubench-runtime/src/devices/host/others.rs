//! The time that other programs used processors. In: `/proc/stat`, and the processors of interest; out: their busy time without this
//! process's own. Nothing if the system does not tell.

use std::fs;

use crate::system::stat::Stat;
use gpubench_stats::units::Nanoseconds;

/// The unit of these times: a hundred to the second, for programs, on all of Linux's architectures but Alpha.
const TICK: Nanoseconds = Nanoseconds(10e6);

/// Returns the time so far that these processors worked for other programs, for the system, or for another virtual machine.
pub(super) fn time(processors: &[usize]) -> Option<Nanoseconds> {
    let busy = busy(&fs::read_to_string("/proc/stat").ok()?, processors)?;
    let own = Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?.ticks()?;
    Some((busy as f64 - own as f64) * TICK)
}

/// The ticks in which these processors were busy: `cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL …`.
fn busy(stat: &str, processors: &[usize]) -> Option<u64> {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let processor: usize = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|ticks| ticks.parse().ok()).collect();
        let [user, nice, system, _idle, _waiting, rest @ ..] = &ticks[..] else { return None };
        processors.contains(&processor).then(|| user + nice + system + rest.iter().take(3).sum::<u64>())
    };
    stat.lines().filter_map(of).reduce(|sum, one| sum + one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::host::topology;
    use crate::system::machine::thread_time;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    #[test]
    fn times_read_as_linux_writes_them() {
        let stat = "cpu  9 9 9 9\ncpu0 1 20 300 7777 8888 4000 50000 600000 9 9\ncpu1 2 0 0 7 8 0 0 0\ncpu10 5 5 5 5 5 5 5 5\nintr 7\n";
        assert_eq!(busy(stat, &[0, 1]), Some(654_323));
        assert_eq!(busy(stat, &[1]), Some(2));
        assert_eq!(busy(stat, &[7]), None);
    }

    #[test]
    fn work_of_this_process_is_none_of_others() {
        let processors = topology::allowed_processors();
        let Some(before) = time(&processors) else { return };
        let (begin, ran) = (Instant::now(), thread_time());
        while thread_time() - ran < Duration::from_millis(300) {
            black_box(begin);
        }
        let others = (time(&processors).expect("it was told before") - before).as_f64();
        // Both are counted in ticks.
        let rest = begin.elapsed().as_nanos() as f64 * processors.len() as f64 - 200e6;
        assert!(others < rest, "{others} of {rest}");
    }
}
