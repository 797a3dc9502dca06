//! The errors of a plan. Each message says what to do.

/// The reason that there is nothing to run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No annotated function is linked.
    #[error(
        "this program has no benchmarks. A crate whose benchmarks are to run must be named, so that it is linked: \
         gpubench::main!(my_kernels)"
    )]
    Empty,
    /// Filters, skips or devices leave nothing.
    #[error("no benchmark {selection}{}. --list shows those that are there", but_for(*ignored))]
    Nothing {
        /// The selection in words, as something that no benchmark does.
        selection: String,
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
    /// A name or an argument that cannot be used. The message names the flag or the place in the source.
    #[error("{0}")]
    Usage(String),
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
