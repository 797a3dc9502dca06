//! Goes through a benchmark as the runtime does, without a clock.

#![allow(dead_code)]

use std::sync::atomic::AtomicBool;

use gpubench::device::Device;
use gpubench_core::{ArgAxis, Case, CaseError, Entry, Variant};
use gpubench_records::{Counts, UserMetric};
use gpubench_runtime::devices::host::Host;
use gpubench_runtime::registry::entries;

/// A benchmark after one launch.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The types and constants that were chosen, then the axes with what they list.
    pub(crate) generics: Vec<(&'static str, String)>,
    pub(crate) axes: Vec<(&'static str, Vec<String>)>,
    /// The number of axes that go together in each sweep.
    pub(crate) sweeps: Vec<usize>,
    pub(crate) counts: Counts,
    pub(crate) metrics: Vec<UserMetric>,
    pub(crate) checked: bool,
    pub(crate) skipped: Option<&'static str>,
}

/// The benchmarks of one module and of those in it: a program registers those of all its modules.
#[derive(Clone, Copy)]
pub(crate) struct Benchmarks {
    module: &'static str,
}

impl Benchmarks {
    pub(crate) const fn of(module: &'static str) -> Self {
        Self { module }
    }

    /// Its benchmarks, in the order of the source.
    pub(crate) fn entries(self) -> impl Iterator<Item = &'static Entry> {
        let inner = format!("{}::", self.module);
        let is_ours = move |entry: &&Entry| entry.module == self.module || entry.module.starts_with(&inner);
        entries().into_iter().filter(is_ours)
    }

    /// Its only benchmark called `name`.
    pub(crate) fn entry(self, name: &str) -> &'static Entry {
        let mut found = self.entries().filter(|entry| entry.name == name);
        let entry = found.next().unwrap_or_else(|| panic!("no benchmark `{name}` in {}", self.module));
        assert!(found.next().is_none(), "two benchmarks `{name}` in {}", self.module);
        entry
    }

    /// Launches `name` once with its first arguments.
    pub(crate) fn run(self, name: &str) -> Seen {
        self.run_with(name, &[]).unwrap_or_else(|failure| panic!("{name}: {failure}"))
    }

    /// Launches `name` once with the arguments, types and constants `chosen`, the others being the first of their list.
    pub(crate) fn run_with(self, name: &str, chosen: &[(&str, &str)]) -> Result<Seen, CaseError> {
        run(self.entry(name), chosen)
    }
}

fn run(entry: &Entry, chosen: &[(&str, &str)]) -> Result<Seen, CaseError> {
    struct Run<'a> {
        device: Host,
        chosen: &'a [(&'a str, &'a str)],
        seen: Option<Result<Seen, CaseError>>,
        generics: Vec<(&'static str, String)>,
    }

    impl Run<'_> {
        fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
            let axes = || sweeps.iter().copied().flatten();
            for axis in axes() {
                if let Some((_, value)) = self.chosen.iter().find(|(name, _)| *name == axis.name()) {
                    axis.select(value).unwrap();
                }
            }
            let mut steps = || {
                let skipped = case.skipped();
                case.open(self.device.stream_source().unwrap())?;
                case.setup().map_err(at("setup"))?;
                case.keep_output(true);
                case.launch(1, &AtomicBool::new(false)).map_err(at("launch"))?;
                // What a sample is made of.
                if case.resets() {
                    case.reset().map_err(at("reset"))?;
                    case.launch(1, &AtomicBool::new(false)).map_err(at("launch"))?;
                }
                Ok(Seen {
                    generics: std::mem::take(&mut self.generics),
                    axes: axes().map(|axis| (axis.name(), axis.values())).collect(),
                    sweeps: sweeps.iter().map(|sweep| sweep.len()).collect(),
                    counts: case.counts().map_err(at("counts"))?,
                    metrics: case.metrics().map_err(at("metrics"))?,
                    checked: case.check().map_err(at("check"))?,
                    skipped,
                })
            };
            self.seen = Some(steps());
        }
    }

    let listed = |variant: &Variant| -> Vec<(&'static str, String)> {
        variant.generics.iter().map(|generic| (generic.name, (generic.value)())).collect()
    };
    let is_chosen = |variant: &&Variant| {
        let other = |(name, value): &(&str, String)| chosen.iter().any(|(n, v)| n == name && v != value);
        !listed(variant).iter().any(other)
    };
    let variant = entry.variants.iter().find(is_chosen).unwrap();
    assert_eq!(variant.device, "host");
    let device = Host::open().unwrap();
    let mut run = Run { device, chosen, seen: None, generics: listed(variant) };
    (variant.visit)(&mut |sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case| run.visit(sweeps, case));
    run.seen.expect("a case was shown")
}

/// Names the step that failed.
fn at(step: &'static str) -> impl Fn(CaseError) -> CaseError {
    move |error| CaseError::new(format_args!("{step}: {error}"))
}
