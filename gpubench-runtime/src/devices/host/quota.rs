//! The processor time that the control groups of this process leave it. In: the system's files; out: the number of processors whose
//! time it may use, if that is limited.

use std::path::Path;

use crate::devices::machine::Machine;

/// Returns the lowest limit of the groups of this process and of those that they are in, in the second version of control groups.
pub(super) fn processors(machine: &Machine) -> Option<f64> {
    let groups = machine.read("/proc/self/cgroup").unwrap_or_default();
    // A container without its own view sees another path than its files have: those of the root are its own.
    let paths = groups.lines().filter_map(|line| line.strip_prefix("0::")).chain(["/"]);
    let folders = paths.flat_map(|path| Path::new(path).ancestors()).filter_map(Path::to_str);
    let limits = folders.filter_map(|folder| {
        let both = machine.read(&format!("/sys/fs/cgroup{}/cpu.max", folder.trim_end_matches('/')))?;
        let (quota, period) = both.split_once(' ')?;
        limit(quota, period)
    });
    limits.reduce(f64::min)
}

/// Divides a quota by its period. One that is no limit is `max` or negative.
fn limit(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(files: &[(&str, &str)]) -> Option<f64> {
        let (_root, machine) = Machine::of_files(files);
        processors(&machine)
    }

    #[test]
    fn the_group_of_the_process_and_all_above_it_count() {
        let own = ("/proc/self/cgroup", "0::/user.slice/session");
        let session = ("/sys/fs/cgroup/user.slice/session/cpu.max", "200000 100000\n");
        let above = ("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
        assert_eq!(limited(&[own, session]), Some(2.0));
        assert_eq!(limited(&[own, session, above]), Some(0.5));
        // Another group's.
        assert_eq!(limited(&[("/proc/self/cgroup", "0::/elsewhere"), session]), None);
        assert_eq!(limited(&[own, ("/sys/fs/cgroup/user.slice/session/cpu.max", "max 100000\n")]), None);
    }

    /// As a container sees its files at the root, whatever the path is that it has on the machine.
    #[test]
    fn a_container_has_the_limit_of_the_root() {
        let own = ("/proc/self/cgroup", "0::/docker/17\n");
        assert_eq!(limited(&[own, ("/sys/fs/cgroup/cpu.max", "150000 100000\n")]), Some(1.5));
    }
}
