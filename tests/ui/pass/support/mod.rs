//! Goes through a benchmark as the runtime does, without a clock. In: its name and the arguments to choose; out: what
//! each step brought.

#![allow(dead_code)]

use gpubench::device::Device;
use gpubench_runtime::failure::Failure;
use gpubench_runtime::registry::{Axis, Case, Counts, Entry, Visitor, entries};

/// A benchmark after one launch.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) axes: Vec<(&'static str, Vec<String>)>,
    pub(crate) counts: Counts,
    pub(crate) checked: bool,
}

/// The benchmark `name`, which there is one of.
pub(crate) fn entry(name: &str) -> &'static Entry {
    let mut found = entries().into_iter().filter(|entry| entry.name == name);
    let entry = found.next().unwrap_or_else(|| panic!("no benchmark `{name}`"));
    assert!(found.next().is_none(), "two benchmarks `{name}`");
    entry
}

/// Launches `name` once with its first arguments.
pub(crate) fn run(name: &str) -> Seen {
    run_with(name, &[]).unwrap_or_else(|failure| panic!("{name}: {failure}"))
}

/// Launches `name` once with the arguments `chosen`, the others being the first of their list.
pub(crate) fn run_with(name: &str, chosen: &[(&str, &str)]) -> Result<Seen, Failure> {
    struct Run<'a> {
        device: Box<dyn Device>,
        chosen: &'a [(&'a str, &'a str)],
        axes: Vec<(&'static str, Vec<String>)>,
        outcome: Option<Result<(Counts, bool), Failure>>,
    }

    impl Visitor for Run<'_> {
        fn axis(&mut self, axis: &dyn Axis) {
            self.axes.push((axis.name(), axis.values()));
            if let Some((_, value)) = self.chosen.iter().find(|(name, _)| *name == axis.name()) {
                axis.select(value).unwrap();
            }
        }

        fn case(&mut self, case: &mut dyn Case) {
            let mut steps = || {
                case.open(&mut *self.device)?;
                case.setup()?;
                case.launch()?;
                // What a sample is made of.
                if case.resets() {
                    case.reset()?;
                    case.launch()?;
                }
                Ok((case.counts()?, case.check()?))
            };
            self.outcome = Some(steps());
        }
    }

    let [variant] = entry(name).variants else { panic!("{name} has one variant") };
    assert_eq!(variant.device, "host");
    let device = (variant.open)(0).unwrap();
    let mut run = Run { device, chosen, axes: Vec::new(), outcome: None };
    (variant.visit)(&mut run);
    let (counts, checked) = run.outcome.expect("a case was shown")?;
    Ok(Seen { axes: run.axes, counts, checked })
}
