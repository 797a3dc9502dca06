//! Why there is no plan, in words that say what to do.

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No annotated function is linked.
    #[error(
        "this program has no benchmarks. A crate whose benchmarks are to run must be named, so that it is linked: \
         gpubench::main!(my_kernels)"
    )]
    Empty,
    /// Two benchmarks have one name.
    #[error(
        "two benchmarks are called `{name}`: {first} and {second}. Rename one of them, or give it another \
         name by `name = \"…\"` (functions nested in functions share their module's path)"
    )]
    Duplicate {
        /// The name.
        name: String,
        /// Where one stands.
        first: String,
        /// Where the other stands.
        second: String,
    },
    /// Two instances of a benchmark have one name.
    #[error("`{name}` is there twice ({place}): two of its `types` or `consts` are the same")]
    Twice {
        /// The name.
        name: String,
        /// Where it stands.
        place: String,
    },
    /// Filters, skips or devices leave nothing.
    #[error("no benchmark matches {selection}{}. --list shows the {available} that are there", but_for(*ignored))]
    Nothing {
        /// The selection in words.
        selection: String,
        /// How many there are.
        available: usize,
        /// How many match and are ignored.
        ignored: usize,
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
        /// Why not.
        message: String,
    },
}

fn but_for(ignored: usize) -> String {
    match ignored {
        0 => String::new(),
        number => format!(", but for {number} that are ignored (--include-ignored takes them along)"),
    }
}
