//! Plans the cases that are measured again, in new processes, before they are called regressions.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::plan::Plan;
use gpubench_records::baseline::{MOST_AGAIN, OpenBaselines};
use gpubench_records::comparison::Threshold;
use gpubench_records::record::{Record, Run};

/// The time that measuring again may always take. It may take as long as the run took before, if that is more.
const LEAST_BUDGET: Duration = Duration::from_secs(60);

/// The plans of what is measured again.
pub(super) struct MeasureAgain<'a> {
    plan: &'a Plan,
    baselines: &'a OpenBaselines,
    /// The gate; without one nothing is measured again.
    threshold: Option<Threshold>,
    began: Instant,
    /// The end of the run's own plan.
    measured: Option<Instant>,
    passes: usize,
}

impl<'a> MeasureAgain<'a> {
    /// Begins with a run of `plan`.
    pub(super) fn new(plan: &'a Plan, baselines: &'a OpenBaselines, threshold: Option<Threshold>) -> Self {
        Self { plan, baselines, threshold, began: Instant::now(), measured: None, passes: 0 }
    }

    /// Returns the plan of the next pass, if one is needed and there is time. Both cases of a job, hot and cold, are measured again:
    /// they are measured together.
    pub(super) fn next(&mut self, run: &Run) -> Option<Plan> {
        let threshold = self.threshold?;
        let now = Instant::now();
        let measured = *self.measured.get_or_insert(now);
        let budget = (measured - self.began).max(LEAST_BUDGET);
        if self.passes == MOST_AGAIN || now - measured >= budget {
            return None;
        }
        self.passes += 1;
        let slower = self.baselines.seem_regressed(run, threshold);
        let slower: HashSet<_> = slower.into_iter().map(Record::planned).collect();
        let jobs = self.plan.jobs.iter().filter(|(job, _)| {
            job.with.is_none() && job.caches.iter().any(|cache| slower.contains(&job.case(*cache)))
        });
        let plan = Plan { jobs: jobs.cloned().collect(), ..Plan::default() };
        (!plan.jobs.is_empty()).then_some(plan)
    }
}
