//! The tables of variants that a program ships, held against its benchmarks. In: a plan; out: the benchmarks that have changed since
//! their variants were raced.

use crate::plan::{Fate, Plan};
use crate::registry::Entry;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::Arg;
use gpubench_records::tuning::{NotTuned, hash_of_axes};

/// Returns the hash of a benchmark's axes; `args` are those of any of its jobs.
pub(super) fn axes_of(entry: &Entry, args: &[Arg]) -> String {
    let mut generics: Vec<(&str, Vec<String>)> = Vec::new();
    for generic in entry.variants.iter().flat_map(|variant| variant.generics) {
        let value = (generic.value)();
        match generics.iter_mut().find(|(name, _)| *name == generic.name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => generics.push((generic.name, vec![value])),
        }
    }
    let is_arg = |name: &&str| !generics.iter().any(|(generic, _)| generic == name);
    let names: Vec<&str> = args.iter().map(|arg| arg.name.as_str()).filter(is_arg).collect();
    hash_of_axes(&entry.path(), entry.options.tune, &names, &generics)
}

/// Returns the benchmarks of a plan whose tables are of other axes.
fn changed(plan: &Plan, entries: &[&Entry]) -> Vec<String> {
    let has_changed = |entry: &&&Entry| {
        let path = entry.path();
        let mut jobs = plan.jobs.iter().map(|(job, _)| job);
        let job = jobs.find(|job| job.benchmark == path);
        entry.options.tuned.zip(job).is_some_and(|(axes, job)| axes != axes_of(entry, &job.args))
    };
    entries.iter().filter(has_changed).map(|entry| entry.path()).collect()
}

/// Returns a note for each benchmark of a plan whose table is of other axes. Its times are as good as ever.
pub(super) fn notes(plan: &Plan, entries: &[&Entry]) -> Vec<String> {
    let note = |benchmark| NotTuned::Changed { benchmark }.to_string();
    changed(plan, entries).into_iter().map(note).collect()
}

/// Has the jobs of benchmarks fail whose tables are of other axes.
pub(super) fn refuse(plan: &mut Plan, entries: &[&Entry]) {
    for benchmark in changed(plan, entries) {
        let failure = Failure::new(Stage::Args, NotTuned::Changed { benchmark: benchmark.clone() });
        let is_its = |(job, fate): &&mut (crate::plan::Job, Fate)| {
            job.benchmark == benchmark && *fate == Fate::Measured
        };
        plan.jobs.iter_mut().filter(is_its).for_each(|(_, fate)| *fate = Fate::Broken(failure.clone()));
    }
}
