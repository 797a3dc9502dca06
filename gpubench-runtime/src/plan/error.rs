//! The reasons that there is no plan, in words that say what to do.

/// The reason that there is nothing to run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No annotated function is linked.
    #[error(
        "this program has no benchmarks. A crate whose benchmarks are to run must be named, so that it is linked: \
         gpubench::main!(my_kernels)"
    )]
    Empty,
    /// Two benchmarks have the same name.
    #[error(
        "two benchmarks are called `{name}`: {first} and {second}. Rename one of them, or give it another \
         name by `name = \"…\"` (functions nested in functions share their module's path)"
    )]
    Duplicate {
        /// The name.
        name: String,
        /// The place of the first.
        first: String,
        /// The place of the second.
        second: String,
    },
    /// Two instances of a benchmark have the same name.
    #[error("`{name}` is there twice ({place}): two of its `types` or `consts` are the same")]
    Twice {
        /// The name.
        name: String,
        /// Its place.
        place: String,
    },
    /// Filters, skips or devices leave nothing.
    #[error("no benchmark {selection}{}. --list shows {}", but_for(*ignored), there(*available))]
    Nothing {
        /// The selection in words, as something that no benchmark does.
        selection: String,
        /// The number of benchmarks, counted as a list shows them.
        available: usize,
        /// The number that match and are ignored.
        ignored: usize,
    },
    /// The whole selection needs a kind of device that this machine lacks.
    #[error("{why}; {}", need_one(*benchmarks))]
    NoDevice {
        /// The missing device, and the reason.
        why: String,
        /// The number of benchmarks that need one, counted as a list shows them.
        benchmarks: usize,
    },
    /// `--compare-with` names no benchmark.
    #[error("--compare-with {0}: there is no benchmark of this name. --list shows those that are there")]
    NoPartner(String),
    /// `--compare-with` names several.
    #[error("--compare-with {name}: several benchmarks are called so; give one whole name: {}", found.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The full names.
        found: Vec<String>,
    },
    /// A case has no matching case of the benchmark to compare it with.
    #[error("`{case}` cannot be compared with `{name}`: {why}")]
    Unpaired {
        /// The case.
        case: String,
        /// The benchmark as the user named it.
        name: String,
        /// The reason.
        why: Unpaired,
    },
    /// `--arg` names an axis that no selected benchmark has.
    #[error("--arg {0}=…: no selected benchmark has an argument of this name. --list shows those they have")]
    NoSuchAxis(String),
    /// `--arg` gives a value that a benchmark cannot take.
    #[error("--arg {axis}: {message} (benchmark {benchmark})")]
    BadArg {
        /// The axis.
        axis: String,
        /// The benchmark that cannot take the value.
        benchmark: String,
        /// The reason.
        message: String,
    },
}

/// The reason that two cases do not pair.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unpaired {
    /// They run on different devices.
    #[error("that runs on {}, and this on {device}; only what runs on one device is compared", runs_on.join(", "))]
    Device {
        /// The device of the case.
        device: String,
        /// The kinds of device of the other.
        runs_on: Vec<&'static str>,
    },
    /// The brackets name something that is no argument of the other.
    #[error("that has no argument `{0}`")]
    NoSuchAxis(String),
    /// The other has an argument that the case lacks.
    #[error("only that has the argument `{0}`; say which by --compare-with 'NAME[{0}=…]'")]
    OnlyPartner(String),
    /// The case has an argument that the other lacks.
    #[error("only this has the argument `{0}`")]
    OnlyJob(String),
    /// The other lacks a choice of a type or a constant.
    #[error("there is no `{0}` of that; another is chosen by --compare-with 'NAME[…]'")]
    Value(String),
    /// The other does not take one of the arguments.
    #[error("that does not take these arguments: {0}")]
    Refused(String),
}

fn there(available: usize) -> String {
    match available {
        0 => "none".to_owned(),
        1 => "the 1 benchmark that is there".to_owned(),
        number => format!("the {number} benchmarks that are there"),
    }
}

fn need_one(benchmarks: usize) -> String {
    match benchmarks {
        1 => "this benchmark needs one".to_owned(),
        number => format!("these {number} benchmarks need one"),
    }
}

fn but_for(ignored: usize) -> String {
    match ignored {
        0 => String::new(),
        number => format!(", but for {number} that are ignored (--include-ignored takes them along)"),
    }
}
