//! A group made fit for comparison. In: the medians of a group; out: the same without those that were measured in another way or
//! that few GPUs have, with one roof for each case, and a gap for all that was left out.

use std::collections::BTreeMap;

use super::gap::Gap;
use super::group::{Builder, Entry, Member};

/// The number of GPUs that a host has at most.
const MOST_OF_A_HOST: usize = 64;

impl Builder {
    /// Leaves out what cannot be compared, and gives each case one roof.
    pub(super) fn settle(&mut self) -> Vec<Gap> {
        let mut gaps = self.leave_out_other_methods();
        let roofs = self.most_frequent(|entry| entry.roof);
        for entry in &mut self.entries {
            entry.roof = roofs[entry.case].unwrap_or(entry.roof);
        }
        gaps.extend(self.leave_out_rare_cases());
        gaps.extend(self.missing_cases());
        self.entries.sort_by_key(|entry| entry.gpu);
        for member in self.members.iter().filter(|member| member.hosts.len() > 1) {
            gaps.push(Gap::Moved { gpu: member.name(), hosts: member.hosts.clone() });
        }
        gaps.extend(self.crowded_hosts());
        gaps
    }

    /// The most frequent value of each case.
    fn most_frequent<T: Ord + Clone>(&self, of: impl Fn(&Entry) -> T) -> Vec<Option<T>> {
        let mut counts: Vec<BTreeMap<T, usize>> = vec![BTreeMap::new(); self.cases.len()];
        for entry in &self.entries {
            *counts[entry.case].entry(of(entry)).or_default() += 1;
        }
        let most =
            |counts: BTreeMap<T, usize>| counts.into_iter().max_by_key(|(_, count)| *count).map(|(it, _)| it);
        counts.into_iter().map(most).collect()
    }

    fn leave_out_other_methods(&mut self) -> Vec<Gap> {
        let usual = self.most_frequent(|entry| entry.measured.method.clone());
        let is_usual = |entry: &Entry| usual[entry.case].as_ref() == Some(&entry.measured.method);
        let mut others: BTreeMap<(usize, usize, String, String), Vec<usize>> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| !is_usual(entry)) {
            let [method, usual] =
                differing(&entry.measured.method, usual[entry.case].as_deref().unwrap_or_default());
            others.entry((entry.run, entry.gpu, method, usual)).or_default().push(entry.case);
        }
        self.entries.retain(is_usual);
        let told = |((_, gpu, method, usual), mut cases): ((usize, usize, String, String), Vec<usize>)| {
            cases.dedup();
            let member = &self.members[gpu];
            Gap::OtherMethod {
                file: member.runs.first().cloned().unwrap_or_default(),
                gpu: member.name(),
                case: self.cases[cases[0]].to_string(),
                cases: cases.len(),
                method,
                usual,
            }
        };
        others.into_iter().map(told).collect()
    }

    /// The cases that each GPU has.
    fn has(&self) -> Vec<Vec<bool>> {
        let mut has = vec![vec![false; self.cases.len()]; self.members.len()];
        for entry in &self.entries {
            has[entry.gpu][entry.case] = true;
        }
        has
    }

    fn leave_out_rare_cases(&mut self) -> Option<Gap> {
        let has = self.has();
        let count = |case: usize| has.iter().filter(|has| has[case]).count();
        let is_rare: Vec<bool> = (0..self.cases.len()).map(|case| 2 * count(case) < has.len()).collect();
        let mut rare = (0..self.cases.len()).filter(|case| is_rare[*case] && count(*case) > 0);
        let first = rare.next()?;
        let (case, cases) = (self.cases[first].to_string(), 1 + rare.count());
        self.entries.retain(|entry| !is_rare[entry.case]);
        Some(Gap::RareCases { model: self.model.name.clone(), case, cases })
    }

    /// Hosts with more GPUs than a machine has.
    fn crowded_hosts(&self) -> Vec<Gap> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for host in self.members.iter().filter_map(|member| member.hosts.first()) {
            *counts.entry(host).or_default() += 1;
        }
        let crowded = counts.into_iter().filter(|(_, gpus)| *gpus > MOST_OF_A_HOST);
        crowded.map(|(host, gpus)| Gap::CrowdedHost { host: host.to_owned(), gpus }).collect()
    }

    fn missing_cases(&self) -> Vec<Gap> {
        let has = self.has();
        let there: Vec<usize> =
            (0..self.cases.len()).filter(|case| has.iter().any(|has| has[*case])).collect();
        let missing = |(member, has): (&Member, &Vec<bool>)| {
            let mut missing = there.iter().filter(|case| !has[**case]);
            let case = self.cases[*missing.next()?].to_string();
            Some(Gap::MissingCases { gpu: member.name(), case, cases: 1 + missing.count() })
        };
        self.members.iter().zip(&has).filter_map(missing).collect()
    }
}

/// The parts of two methods that differ.
fn differing(one: &str, other: &str) -> [String; 2] {
    let parts = |text: &str, from: &str| {
        let from: Vec<&str> = from.split(", ").collect();
        let parts: Vec<&str> = text.split(", ").filter(|part| !from.contains(part)).collect();
        if parts.is_empty() { "nothing of it".to_owned() } else { parts.join(", ") }
    };
    [parts(one, other), parts(other, one)]
}
