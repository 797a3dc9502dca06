//! The bandwidth between a CPU's cores and their nearest caches, which no launch exceeds.

use std::fs;

use gpubench_stats::units::{BytesPerSecond, Hertz};

/// The bytes that a core loads and stores in a cycle: two accesses of 64 bytes.
const BYTES_PER_CYCLE: f64 = 128.0;
/// The clock of a CPU whose system does not state the highest. No CPU has a higher one. The clock in `/proc/cpuinfo` is the present
/// one, or in a virtual machine the one without boost, and cores may run at twice that.
const FASTEST_CLOCK: Hertz = Hertz(6_000_000_000);

/// Returns the bandwidth of `threads` cores among these `processors`.
pub(super) fn core_bandwidth(threads: usize, processors: &[usize]) -> BytesPerSecond {
    let stated = |processor| format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/cpuinfo_max_freq");
    of_clocks(threads, processors.iter().filter_map(|processor| fs::read_to_string(stated(processor)).ok()))
}

/// Returns the bandwidth of `threads` cores, the fastest of which has the highest of the `stated` clocks, in kHz as Linux writes them.
fn of_clocks(threads: usize, stated: impl Iterator<Item = String>) -> BytesPerSecond {
    let highest = stated.filter_map(|text| text.trim().parse::<u64>().ok()).max().filter(|khz| *khz > 0);
    let clock = highest.map_or(FASTEST_CLOCK, |khz| Hertz(1_000 * khz));
    BytesPerSecond(BYTES_PER_CYCLE * threads as f64 * clock.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_the_stated_one_or_a_generous_one() {
        for (stated, gigahertz) in
            [(&["2500000\n", "3500000\n"][..], 3.5), (&[], 6.0), (&["0\n"], 6.0), (&["<unknown>\n"], 6.0)]
        {
            let found = of_clocks(2, stated.iter().map(|text| (*text).to_owned()));
            assert_eq!(found, BytesPerSecond(256e9 * gigahertz), "{stated:?}");
        }
    }
}
