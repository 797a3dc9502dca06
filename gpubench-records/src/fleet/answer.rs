//! The answer about a fleet from its runs. In: what was kept of them; out: a [`FleetReport`], each group judged by itself.

use super::format_name::FLEET_SCHEMA;
use super::gather::FleetRuns;
use super::group::groups;
use super::judged::group;
use super::report::FleetReport;
use gpubench_stats::fleet::FleetRules;

impl FleetReport {
    /// The answer about the GPUs of `runs`.
    #[must_use]
    pub fn of(runs: FleetRuns, rules: FleetRules) -> Self {
        let FleetRuns { files, runs, gaps: mut missing } = runs;
        let count = runs.len();
        let (builders, gaps) = groups(runs);
        missing.extend(gaps);
        Self {
            schema: FLEET_SCHEMA,
            least: rules.least,
            false_discoveries: rules.false_discoveries,
            files,
            runs: count,
            groups: builders.iter().map(|builder| group(builder, rules)).collect(),
            missing,
        }
    }
}
