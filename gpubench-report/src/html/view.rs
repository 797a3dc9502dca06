//! A run as the page shows it: its cases, with the data that several sections need.

use std::collections::HashMap;

use gpubench_records::{Answer, BaselineFinding, Cache, Measurement, Record, Run};
use gpubench_stats::Ratio;
use gpubench_table::text::{plain, split_path};

use crate::drawing::{PlotPoint, PlotSeries, SeriesStyle};

/// A case of the page, which has a row of its table.
#[derive(Clone, Copy)]
pub(super) struct PageCase<'a> {
    /// The index of its record, by which the page refers to it.
    pub number: usize,
    pub record: &'a Record,
    /// The length in bytes of the module path that all names begin with.
    prefix: usize,
    /// The comparison of the case with the baseline, if there is one.
    finding: Option<&'a BaselineFinding>,
    /// The number of the same case in the other cache state, if the run has it.
    pub partner: Option<usize>,
}

/// A case with its usable measurement, for drawings.
pub(super) struct MeasuredCase<'a> {
    pub case: PageCase<'a>,
    pub it: &'a Measurement,
}

/// A run with its cases, from which all sections of the page are made.
pub(super) struct PageView<'a> {
    pub run: &'a Run,
    pub cases: Vec<PageCase<'a>>,
    /// The module path that all names begin with, which the page shows once; may be empty.
    pub prefix: &'a str,
    /// True if the run has cases of several devices.
    pub several_devices: bool,
}

impl<'a> PageView<'a> {
    /// Returns `name` without the module path that all names of this run begin with. A name that begins
    /// otherwise, such as that of a case in another run, is returned unchanged.
    pub(super) fn without_prefix<'n>(&self, name: &'n str) -> &'n str {
        name.strip_prefix(self.prefix).unwrap_or(name)
    }

    /// Collects the cases of a run with their comparisons.
    pub(super) fn new(run: &'a Run) -> Self {
        let prefix = shared_modules(run.records.iter().map(|record| &*record.case.benchmark));
        let lines = run.baseline_comparison.iter().flat_map(|check| &check.findings);
        let findings: HashMap<_, _> =
            lines.map(|line| ((&*line.name, &*line.device, line.cache), &line.finding)).collect();
        let case = |(number, record): (usize, &'a Record)| {
            let of_record = (&*record.case.name(), &*record.device, record.case.cache);
            let finding = findings.get(&of_record).copied();
            PageCase { number, record, prefix: prefix.len(), finding, partner: None }
        };
        let mut cases: Vec<_> = run.records.iter().enumerate().map(case).collect();
        let mut seen = HashMap::new();
        for (number, Record { case, device, .. }) in run.records.iter().enumerate() {
            if let Some(other) = seen.insert((&case.benchmark, &case.args, device), number) {
                (cases[number].partner, cases[other].partner) = (Some(other), Some(number));
            }
        }
        Self { run, cases, prefix, several_devices: gpubench_table::has_several_devices(run) }
    }

    /// Returns the cases with a usable measurement.
    pub(super) fn measured_cases(&self) -> impl Iterator<Item = MeasuredCase<'a>> {
        let cases = self.cases.iter();
        cases.filter_map(|case| Some(MeasuredCase { case: *case, it: case.record.usable_measurement()? }))
    }
}

impl MeasuredCase<'_> {
    /// Returns the cache state of the case, and a point of the case at `x` and `y`. The point links to the
    /// row of the case; its text is the name of the case, followed by `note`.
    pub(super) fn point(&self, x: f64, y: f64, note: &str) -> (Cache, PlotPoint) {
        let (name, target) = (Some(self.case.name() + note), Some(self.case.target()));
        (self.case.record.case.cache, PlotPoint { name, target, ..PlotPoint::from((x, y)) })
    }
}

/// Returns a series of the hot points and a series of the cold points, either of which may be empty.
pub(super) fn hot_and_cold(points: &[(Cache, PlotPoint)], style: SeriesStyle) -> Vec<PlotSeries> {
    let of = |cache: Cache| {
        let points = points.iter().filter(|(it, _)| *it == cache).map(|(_, point)| point.clone());
        PlotSeries::new(cache.to_string(), points).with_style(style)
    };
    [Cache::Hot, Cache::Cold].map(of).into()
}

impl PageCase<'_> {
    /// Returns the name of the case without the module path that all names begin with.
    pub(super) fn short_name(&self) -> String {
        plain(&self.record.case.name()[self.prefix..])
    }

    /// Returns the short name of the case with its cache state.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.short_name(), self.record.case.cache)
    }

    /// Returns the ratio of the time to that of the baseline, or else to that of the interleaved case, and
    /// the answer. Returns `None` if neither ratio is known.
    pub(super) fn change(&self) -> Option<(Ratio, Answer)> {
        match (self.finding, &self.record.compared) {
            (Some(BaselineFinding::Compared { ratio, answer, .. }), _) => Some((*ratio, *answer)),
            (_, Some(compared)) => Some((compared.comparison.ratio?, compared.comparison.answer)),
            _ => None,
        }
    }

    /// Returns the target of links to the row of the case.
    pub(super) fn target(&self) -> String {
        format!("#r{}", self.number)
    }
}

/// Returns the module path that all these paths begin with, such as `kernels::cuda::`; may be empty.
fn shared_modules<'a>(mut paths: impl Iterator<Item = &'a str>) -> &'a str {
    let modules = |path: &'a str| split_path(path).map_or("", |(modules, _)| &path[..modules.len() + 2]);
    let Some(first) = paths.next() else { return "" };
    paths.fold(modules(first), |mut shared, path| {
        while !path.starts_with(shared) {
            shared = modules(shared.strip_suffix("::").unwrap_or_default());
        }
        shared
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_shared(paths: &[&'static str], shared: &str) {
        assert_eq!(shared_modules(paths.iter().copied()), shared);
    }

    #[test]
    fn shared_modules_end_where_paths_part() {
        assert_shared(&["a::b::c", "a::b::d", "a::bc::e"], "a::");
        assert_shared(&["a::b::c", "a::b::c"], "a::b::");
        assert_shared(&["c"], "");
        assert_shared(&["a::b", "c::b"], "");
        assert_shared(&[], "");
    }
}
