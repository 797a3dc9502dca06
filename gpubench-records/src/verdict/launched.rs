//! The judgement of how a launch was sampled and of its outputs afterwards. In: what was seen of it, its samples, and what the
//! benchmark declares; out: the reasons against it.

use crate::launch::LaunchFacts;
use crate::observation::Observation;
use crate::relaunch::Relaunch;
use crate::samples::Samples;
use crate::verdict::observed::state;
use crate::verdict::{Reason, State, Verdict};
use gpubench_stats::units::Bytes;

/// A device that waits for the host in less than this part of a launch's time is not called idle. On an H200, copies of 32 MiB from
/// and to pageable memory, which the driver feeds in pieces, wait for 15 and 19 %.
const IDLE: f64 = 0.25;

/// Returns the reservations about a launch that was `seen` to do this and took these `samples`.
#[must_use]
pub fn reservations(seen: &LaunchFacts, samples: &Samples, host_work: bool) -> Vec<Reason> {
    let suspect = |seen: &&Observation| state(seen, host_work) == State::Suspect;
    let mut reasons: Vec<_> =
        seen.observations.iter().filter(suspect).cloned().map(Reason::Observed).collect();
    let idle = samples.idle().filter(|(idle, _)| *idle > IDLE && !host_work);
    reasons.extend(idle.map(|(share, held)| Reason::GpuIdle { share, held }));
    reasons
}

/// Returns the verdict on a launch to which the host's part belongs: two modes of such a launch are the host's.
#[must_use]
pub fn with_host_work(mut verdict: Verdict) -> Verdict {
    verdict.reasons.retain(|reason| !matches!(reason, Reason::TwoModes(_)));
    Verdict::of(verdict.reasons)
}

/// Returns the reasons against a case whose launches after the samples did this. `accumulates` is true if the benchmark declares
/// that launches leave other outputs each time.
#[must_use]
pub fn relaunched(relaunch: &Relaunch, accumulates: bool) -> Vec<Reason> {
    if let Some(stale) = relaunch.stale() {
        return vec![Reason::StaleOutputs(stale)];
    }
    let skips = relaunch.skips().map(|(without, with)| Reason::SkipsWork { without, with });
    let differs = relaunch.differs > Bytes::ZERO && relaunch.checked.is_none() && !accumulates;
    let differs = differs.then_some(Reason::OutputsDiffer { differs: relaunch.differs });
    skips.into_iter().chain(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::units::Nanoseconds;

    #[test]
    fn two_modes_are_the_hosts_where_its_part_belongs_to_the_launch() {
        let modes = gpubench_stats::Modes { low: Nanoseconds(1.0), high: Nanoseconds(2.0), share_high: 0.5 };
        let wanted = Reason::NotConverged { reached: 0.1, wanted: 0.005 };
        let verdict = Verdict::of(vec![Reason::TwoModes(modes), wanted.clone()]);
        assert_eq!(with_host_work(verdict).reasons, [wanted]);
    }

    #[test]
    fn outputs_that_differ_need_a_check_or_a_declaration() {
        let relaunch = |checked| Relaunch { differs: Bytes(512), checked, in_place: None, rewritten: None };
        let differ = Reason::OutputsDiffer { differs: Bytes(512) };
        assert_eq!(relaunched(&relaunch(None), false), [differ]);
        assert_eq!(relaunched(&relaunch(Some(true)), false), []);
        assert_eq!(relaunched(&relaunch(None), true), []);
    }

    #[test]
    fn outputs_that_are_the_same_are_no_reason() {
        let same = Relaunch { differs: Bytes::ZERO, checked: None, in_place: None, rewritten: None };
        assert_eq!(relaunched(&same, false), []);
    }
}
